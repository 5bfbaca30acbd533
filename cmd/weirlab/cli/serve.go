package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"weir/channels/simulation"
	"weir/cmd/internal/command"
)

// ruleHelp explains the rules of --outcome and --fault.
const ruleHelp = "\n" + simulation.RuleHelp + "\n\n" + simulation.FaultHelp + "\n"

// simulated is the interface of both simulated providers.
type simulated interface {
	http.Handler
	Run(ctx context.Context)
}

// common holds the flags that the commands of all simulated providers have.
type common struct {
	listen  string // the default
	outcome string // help for --outcome
	// Options of the simulator.
	outcomes, faults *[]string
	seed             *uint64
}

// simulator completes the command of a simulated provider, which start makes from all its flags.
func (a *app) simulator(c *cobra.Command, flags common, start func() (name string, s simulated, err error)) *cobra.Command {
	c.Args = command.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error {
		name, s, err := start()
		if err != nil {
			return command.UsageError(c, err.Error())
		}
		return a.runSimulator(c.Context(), name, flags.listen, s)
	}
	f := c.Flags()
	f.StringVar(&flags.listen, "listen", flags.listen, "where to listen")
	f.StringArrayVar(flags.outcomes, "outcome", nil, flags.outcome)
	f.StringArrayVar(flags.faults, "fault", nil, "rule for faults of requests and of callbacks")
	f.Uint64Var(flags.seed, "seed", 0, "seed of what happens by chance")
	return c
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
