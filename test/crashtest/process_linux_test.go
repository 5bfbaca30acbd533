package crashtest_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// endWithTest makes the kernel end the program when the test's process ends
// in any way.
func endWithTest() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// cpuOf returns the processor time that a process has used.
func cpuOf(pid int) time.Duration {
	const ticks = 100 // a second, on every Linux that Go runs on
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, fields, _ := strings.Cut(string(text), ") ")
	var user, system int64
	if all := strings.Fields(fields); len(all) > 12 {
		_, _ = fmt.Sscan(all[11]+" "+all[12], &user, &system)
	}
	return time.Duration(user+system) * time.Second / ticks
}
