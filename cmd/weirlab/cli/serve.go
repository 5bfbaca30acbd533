package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"weir/channels/simulation"
)

// ruleHelp explains the rules of --outcome and --fault.
const ruleHelp = "\n" + simulation.RuleHelp + "\n\n" + simulation.FaultHelp + "\n"

// simulated is the interface of both simulated providers.
type simulated interface {
	http.Handler
	Run(ctx context.Context)
}

// runSimulator serves a simulator until ctx ends.
func (a *app) runSimulator(ctx context.Context, name, addr string, s simulated) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	_, _ = fmt.Fprintf(a.Stdout, "simulated %s on http://%s (its record: http://%[2]s%srecords)\n", name, l.Addr(), simulation.ControlPath)
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err = server.Serve(l)
	if ctx.Err() == nil {
		return err
	}
	running.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
