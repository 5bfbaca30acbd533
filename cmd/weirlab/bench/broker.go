package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/machine"
)

const readyWithin = 60 * time.Second

// broker is a Weir in a separate process, set up as in production: with a token,
// metrics and the log level info.
type broker struct {
	program, folder string
	env             []string
	url             string
	cmd             *exec.Cmd
	ended           <-chan struct{}
}

// newBroker prepares a broker; nothing runs yet. Its rate limit is enforced but not
// reached: one token makes all requests.
func newBroker(ctx context.Context, program, database, folder, mode string) (*broker, error) {
	addr, err := machine.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	b := &broker{program: program, folder: folder, url: "http://" + addr, env: []string{
		"DATABASE_URL=" + database, "LISTEN_ADDR=" + addr, "WEIR_API_TOKENS=" + token, "WEIR_RATE_LIMIT=1000000", "LOG_FORMAT=json", "LOG_LEVEL=info",
	}}
	if mode == load.Crash { // otherwise it would take minutes until the provider is asked
		b.env = append(b.env, "CHNL_BKR_GC_IDLE_MINUTES=0.05", "CHNL_BKR_GC_INTERVAL_MINUTES=0.02")
	}
	return b, nil
}

// start starts the process and waits until it accepts requests.
func (b *broker) start(ctx context.Context) error {
	if err := b.spawn(); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for !ready(limit, b.url) {
		select {
		case <-b.ended:
			return fmt.Errorf("the broker has ended by itself: %s%s", b.cmd.ProcessState, b.logTail())
		default:
		}
		if !machine.Sleep(limit, 5*time.Millisecond) {
			return errors.Join(ctx.Err(), fmt.Errorf("the broker is not ready after %s", readyWithin))
		}
	}
	return nil
}

func (b *broker) spawn() (err error) {
	log, err := os.OpenFile(b.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()       // the child has it
	b.cmd = exec.Command(b.program, "serve") //nolint:gosec,noctx // our own program; it is killed or stopped below
	b.cmd.Env, b.cmd.Stdout, b.cmd.Stderr, b.cmd.Dir = b.env, log, log, b.folder
	b.ended, err = machine.Spawn(b.cmd)
	if err != nil {
		b.cmd = nil
	}
	return err
}

func (b *broker) log() string { return filepath.Join(b.folder, "weir.log") }

// logTail returns the end of the log.
func (b *broker) logTail() string {
	const most = 1000
	raw, err := os.ReadFile(b.log())
	if err != nil || len(raw) == 0 {
		return ""
	}
	return "\n" + string(raw[max(0, len(raw)-most):])
}

// kill ends the process like kill -9.
func (b *broker) kill() {
	_ = b.cmd.Process.Kill()
	<-b.ended
}

// stop asks the process to end and waits for it.
func (b *broker) stop() {
	if b.cmd != nil {
		machine.End(b.cmd, b.ended)
	}
}

// used returns the resources that the process has used.
func (b *broker) used() (cost, error) { return usageOf(b.cmd.Process.Pid) }

func ready(ctx context.Context, url string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
