package bench

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// stamped reads from a connection, and when the system received what is read.
type stamped struct {
	raw     syscall.RawConn
	receive func(fd uintptr) bool // into the fields below, for one read at a time

	into   []byte
	beside [64]byte // what comes beside data
	n, m   int
	err    error
}

// stampArrivals has the system note when data comes to the connections of a
// listener, those that wait to be accepted among them. Where it refuses, the
// instant of reading serves.
func stampArrivals(l net.Listener) {
	s, ok := l.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	})
}

func newStamped(c net.Conn) *stamped {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	r := &stamped{raw: raw}
	r.receive = func(fd uintptr) bool {
		for {
			r.n, r.m, _, _, r.err = syscall.Recvmsg(int(fd), r.into, r.beside[:], 0)
			if !errors.Is(r.err, syscall.EINTR) {
				return !errors.Is(r.err, syscall.EAGAIN)
			}
		}
	}
	return r
}

// read is what Read of a connection is; at is zero if the system did not tell.
func (r *stamped) read(p []byte) (n int, at time.Time, err error) {
	r.into = p
	err = r.raw.Read(r.receive)
	r.into = nil
	switch {
	case err != nil:
		return 0, at, err
	case r.err != nil:
		return 0, at, os.NewSyscallError("recvmsg", r.err)
	case r.n == 0 && len(p) > 0:
		return 0, at, io.EOF
	}
	return r.n, stampOf(r.beside[:r.m]), nil
}

// stampOf finds the instant in what came beside data.
func stampOf(beside []byte) time.Time {
	list, err := syscall.ParseSocketControlMessage(beside)
	if err != nil {
		return time.Time{}
	}
	for _, m := range list { // 16 bytes: seconds and nanoseconds of 64 bits
		if m.Header.Level == syscall.SOL_SOCKET && m.Header.Type == syscall.SO_TIMESTAMPNS && len(m.Data) == 16 {
			return time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:])))
		}
	}
	return time.Time{}
}
