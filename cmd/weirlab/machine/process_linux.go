package machine

import "syscall"

// attributes keeps the terminal's interrupts from child processes, which this program
// stops itself, and makes the kernel kill them if it dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
