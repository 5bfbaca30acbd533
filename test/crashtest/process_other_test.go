//go:build !linux

package crashtest_test

import (
	"syscall"
	"time"
)

// endWithTest can tie the program's life to the test's on Linux only.
func endWithTest() *syscall.SysProcAttr { return nil }

// cpuOf can tell the processor time of a process on Linux only.
func cpuOf(int) time.Duration { return 0 }
