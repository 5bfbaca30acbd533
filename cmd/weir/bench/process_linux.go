package bench

import "syscall"

// attributes keep the terminal's interrupts to this program, which ends its
// parts in order, and have the system end them if it dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
