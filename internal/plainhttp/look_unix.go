//go:build unix

package plainhttp

import "syscall"

// canCheck reports whether connections can be checked before they are reused.
const canCheck = true

// silent reports whether a connection has neither data nor EOF to read.
func silent(fd uintptr) bool {
	var one [1]byte
	_, err := syscall.Read(int(fd), one[:])
	return err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
}
