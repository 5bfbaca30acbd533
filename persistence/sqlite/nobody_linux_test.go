package sqlite_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// asNobody runs a function with the rights to files of an account that is not root's: root may
// do everything.
func asNobody(t *testing.T, run func()) {
	t.Helper()
	const nobody = 65534
	if os.Geteuid() == 0 {
		// Of this thread alone, which ends with its goroutine.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			runtime.LockOSThread()
			if _, _, errno := syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0); errno != 0 {
				t.Error(errno)
			}
			run()
		}()
		<-ended
		return
	}
	run()
}
