//go:build unix

package httponce

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// readNow reads what has arrived. [os.ErrDeadlineExceeded] means that nothing has.
func readNow(raw syscall.RawConn, b []byte) (n int, err error) {
	closed := raw.Read(func(fd uintptr) bool {
		n, err = syscall.Read(int(fd), b)
		for errors.Is(err, syscall.EINTR) {
			n, err = syscall.Read(int(fd), b)
		}
		return true
	})
	switch {
	case closed != nil:
		return 0, closed
	case errors.Is(err, syscall.EAGAIN):
		return 0, os.ErrDeadlineExceeded
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
