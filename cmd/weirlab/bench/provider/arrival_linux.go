package provider

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// stamped reads from a connection, with the kernel's timestamp of the data: on a busy
// machine, requests are read in another order than they arrived in.
type stamped struct {
	raw     syscall.RawConn
	receive func(fd uintptr) bool // into the fields below, one read at a time

	into   []byte
	beside [64]byte // ancillary data
	n, m   int
	err    error
}

// stampArrivals enables kernel timestamps of received data on the connections of a
// listener, including connections that wait to be accepted. If the kernel refuses, the
// time of reading is used.
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

// read works like Read of a connection; at is zero if there is no timestamp.
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

// stampOf returns the timestamp in ancillary data: a header of 16 bytes (length, level
// and type), then seconds and nanoseconds of 64 bits. Only this option is enabled, so
// it comes first; on machines of 32 bits there is none.
func stampOf(beside []byte) time.Time {
	const head, length = 16, 32
	if len(beside) < length || binary.NativeEndian.Uint64(beside) != length ||
		binary.NativeEndian.Uint32(beside[8:]) != syscall.SOL_SOCKET || binary.NativeEndian.Uint32(beside[12:]) != syscall.SO_TIMESTAMPNS {
		return time.Time{}
	}
	return time.Unix(int64(binary.NativeEndian.Uint64(beside[head:])), int64(binary.NativeEndian.Uint64(beside[head+8:])))
}
