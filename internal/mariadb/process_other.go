//go:build !linux

package mariadb

import "syscall"

// endWithParent keeps the terminal's interrupts away from the server. Only
// Linux can end the server with its parent.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
