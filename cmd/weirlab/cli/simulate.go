package cli

import (
	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
)

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

func (a *app) simulate() *cobra.Command {
	return command.Group("simulate", "Run a simulated provider, to try Weir or another client with",
		`Runs a simulated provider: a real HTTP server that behaves like the real one,
quirks included, and keeps its own record of all requests. It makes no real calls.`,
		a.simulateVerboice(), a.simulateNuntium(), a.simulateKannel(), a.simulateTwilio(), a.simulateHTTP(), a.simulateACD())
}
