// Package machine starts processes, and measures what they and others use of the
// machine.
package machine

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Usage holds the resources that a process has used.
type Usage struct {
	CPU     time.Duration
	Peak    int64 // memory, in bytes
	Written int64 // bytes, to disks
}

// Spawn starts a process and returns a channel that is closed when it has ended.
// The process is watched on a separate thread because Linux can kill a child when the
// thread that started it ends, so that the child never outlives this program.
func Spawn(cmd *exec.Cmd) (ended chan struct{}, err error) {
	cmd.SysProcAttr = attributes()
	begun, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		begun <- err
		if err == nil {
			_ = cmd.Wait() // the state is in cmd
			close(ended)
		}
	}()
	return ended, <-begun
}

// EndLimit is the max time in which a process must end after it was asked to.
const EndLimit = 30 * time.Second

// End asks a process to end, waits for it, and kills it after EndLimit.
func End(cmd *exec.Cmd, ended <-chan struct{}) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(EndLimit):
		_ = cmd.Process.Kill()
		<-ended
	}
}
