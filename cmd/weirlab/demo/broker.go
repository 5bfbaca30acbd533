package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"weir/cmd/weirlab/machine"
)

// broker is the process that the demo shows.
type broker struct {
	program string
	folder  string // with its database and its log
	addr    string
	env     []string
	system  []string // the part of it that is not Weir's
	api     *api

	cmd   *exec.Cmd       // nil: no process runs
	ended <-chan struct{} // closed when the process has ended
}

// Limits of the broker's processes.
const (
	readyLimit = 20 * time.Second
	stopLimit  = 10 * time.Second
)

// newBroker prepares a broker with a folder of its own. Nothing runs yet.
func newBroker(ctx context.Context, o Options) (*broker, error) {
	addr, err := machine.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	to, err := newAPI("http://" + addr)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "weir-demo-")
	if err != nil {
		return nil, err
	}
	b := &broker{program: o.Program, folder: folder, addr: addr, api: to}
	p := pace{o.Speed}
	minutes := func(d time.Duration) string { return strconv.FormatFloat(d.Minutes(), 'f', 6, 64) }
	b.env = []string{
		"DATABASE_URL=sqlite://" + filepath.Join(folder, "weir.db"),
		"LISTEN_ADDR=" + addr,
		"WEIR_API_TOKENS=" + b.api.token,
		// In production these are minutes, too long for a demo.
		"CHNL_BKR_GC_IDLE_MINUTES=" + minutes(p.atLeast(time.Second, 3*time.Second)),
		"CHNL_BKR_GC_INTERVAL_MINUTES=" + minutes(p.atLeast(250*time.Millisecond, time.Second)),
		"LOST_AFTER_MINUTES=" + minutes(p.atLeast(3*time.Second, 8*time.Second)),
		"WEIR_SETTLE_AFTER=" + p.atLeast(500*time.Millisecond, time.Second).String(),
		"LOG_LEVEL=info", "LOG_FORMAT=text",
	}
	for _, name := range []string{"TMPDIR", "SystemRoot"} {
		if value := os.Getenv(name); value != "" {
			b.system = append(b.system, name+"="+value)
		}
	}
	b.env = append(b.env, b.system...)
	return b, nil
}

// log returns the path of the broker's log.
func (b *broker) log() string { return filepath.Join(b.folder, "weir.log") }

// logged reports whether the broker has written anything to its log. One that was never
// started has not.
func (b *broker) logged() bool {
	info, err := os.Stat(b.log())
	return err == nil && info.Size() > 0
}

// start starts the process and waits until it is ready. took is how long that
// took.
func (b *broker) start(ctx context.Context) (took time.Duration, err error) {
	began := time.Now()
	if err := b.spawn(); err != nil {
		return 0, err
	}
	limit, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for !b.api.ready(limit) {
		select {
		case <-b.ended:
			return 0, b.endedBy()
		case <-limit.Done():
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			return 0, fmt.Errorf("the broker is not ready after %s", readyLimit)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return time.Since(began), nil
}

// spawn starts the process.
func (b *broker) spawn() error {
	log, err := os.OpenFile(b.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()      // the child has it
	cmd := exec.Command(b.program, "serve") //nolint:gosec,noctx // our own program; it is killed and stopped below
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = b.env, b.folder, log, log
	ended, err := machine.Spawn(cmd)
	if err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	b.cmd, b.ended = cmd, ended
	return nil
}

// endedBy returns the error of a process that has ended without being asked to.
func (b *broker) endedBy() error {
	return fmt.Errorf("the broker has ended by itself: %s", b.cmd.ProcessState)
}

// kill ends the process like kill -9, and waits until it has ended.
func (b *broker) kill() {
	if b.cmd != nil {
		_ = b.cmd.Process.Kill() // it may have ended already
		<-b.ended
		b.cmd = nil
		b.api.Close()
	}
}

// stop asks the process to shut down, and kills it if it does not.
func (b *broker) stop() {
	if b.cmd == nil {
		return
	}
	if b.cmd.Process.Signal(syscall.SIGTERM) == nil {
		select {
		case <-b.ended:
		case <-time.After(stopLimit):
		}
	}
	b.kill()
}

// remove deletes everything that the broker has written.
func (b *broker) remove() error { return os.RemoveAll(b.folder) }
