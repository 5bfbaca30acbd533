// Package operators holds what operators see and do, beside the store interfaces for
// it: the figures of channels and their history by minute, why something waits,
// dead letters, tokens and sessions, and the audit log.
package operators
