//go:build !linux

package scaletest_test

import "syscall"

// endWithTest can tie the program's life to the test's on Linux only.
func endWithTest() *syscall.SysProcAttr { return nil }
