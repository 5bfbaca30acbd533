package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"weir/cmd/weirlab/machine"
)

// child runs a task in a separate process.
func (s *session) child(ctx context.Context, t Task) (f Figures, err error) {
	in, err := json.Marshal(t)
	if err != nil {
		return f, err
	}
	var out bytes.Buffer
	cmd := exec.Command(s.o.Program, "bench", "child") //nolint:gosec,noctx // our own program; it is ended below
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, s.o.Err
	ended, err := machine.Spawn(cmd)
	if err != nil {
		return f, err
	}
	select {
	case <-ended:
	case <-ctx.Done():
		machine.End(cmd, ended)
		return f, ctx.Err()
	}
	if !cmd.ProcessState.Success() {
		return f, fmt.Errorf("the run's process ended with %s", cmd.ProcessState)
	}
	return f, json.Unmarshal(out.Bytes(), &f)
}

// providerProcess is the provider, a separate process.
type providerProcess struct {
	url   string
	pid   int
	cmd   *exec.Cmd
	ended <-chan struct{}
}

// startProvider starts the stub.
func startProvider(o Options) (*providerProcess, error) {
	args := []string{"bench", "provider"}
	if o.Provider != "" {
		args = append(args, "--listen", o.Provider)
	}
	cmd := exec.Command(o.Program, args...) //nolint:gosec,noctx // our own program; it is ended by end
	cmd.Stderr = o.Err
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	ended, err := machine.Spawn(cmd)
	if err != nil {
		return nil, err
	}
	p := &providerProcess{pid: cmd.Process.Pid, cmd: cmd, ended: ended}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.end()
		return nil, fmt.Errorf("the provider did not start: %w", err)
	}
	p.url = strings.TrimSpace(line)
	return p, nil
}

// end kills the provider, which stores nothing.
func (p *providerProcess) end() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}
