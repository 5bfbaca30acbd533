//go:build !linux

package mariadb

import "syscall"

// endWithParent keeps the terminal's interrupts away from the server. Only
// Linux can tie its life to its parent's.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
