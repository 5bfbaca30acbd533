// Package operators holds what operators see and do, beside the store interfaces for
// it: the figures of channels and their history by minute, why something waits,
// dead letters, tokens and sessions, the audit log; and what processes of one
// installation need of each other: roles and the poll for each other's work.
package operators
