package demo

import "syscall"

// attributes makes the kernel kill the child when the demo ends, however it ends, and
// keeps the terminal's interrupt from the child, which the demo shuts down itself.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
