//go:build !unix

package httponce

import (
	"errors"
	"syscall"
)

// readNow always fails: without it, a connection is not known to work, and not used again.
func readNow(syscall.RawConn, []byte) (int, error) { return 0, errors.ErrUnsupported }
