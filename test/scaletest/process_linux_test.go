package scaletest_test

import "syscall"

// endWithTest makes the kernel end the program when the test's process ends
// in any way.
func endWithTest() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
