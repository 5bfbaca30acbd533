//go:build unix

package plainhttp

import "syscall"

// canCheck says that connections can be looked at before they are used again.
const canCheck = true

// silent tells whether a connection has neither data nor an end to read.
func silent(fd uintptr) bool {
	var one [1]byte
	_, err := syscall.Read(int(fd), one[:])
	return err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
}
