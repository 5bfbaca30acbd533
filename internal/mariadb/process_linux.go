package mariadb

import "syscall"

// endWithParent makes the kernel end the server when the process that started
// it ends in any way, and keeps the terminal's interrupts away from it.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
