// Package operators keeps what operators work with: tokens and sessions, the audit log, the
// hold of all channels, and how many contacts each minute had.
package operators
