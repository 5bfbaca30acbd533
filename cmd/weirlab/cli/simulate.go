package cli

import (
	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
)

func (a *app) simulate() *cobra.Command {
	return command.Group("simulate", "Run a simulated provider, to try Weir or another client with",
		`Runs a simulated provider: a real HTTP server that behaves like the real one,
quirks included, and keeps its own record of all requests. It makes no real calls.`,
		a.simulateVerboice(), a.simulateNuntium(), a.simulateKannel(), a.simulateTwilio(), a.simulateHTTP(), a.simulateACD())
}
