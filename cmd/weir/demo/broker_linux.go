package demo

import "syscall"

// attributes make the child end with the demo, however that ends, and keep
// the terminal's interrupt from it: the demo ends it in order.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
