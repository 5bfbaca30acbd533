package bench

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"

	"weir/cmd/weirlab/machine"
)

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
