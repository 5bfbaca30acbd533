package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"weir/channels/verboice/simulator"
)

func (a *app) simulateVerboice() *cobra.Command {
	var o simulator.Options
	var accounts, lines []string
	c := &cobra.Command{
		Use: "verboice", Short: "Run a simulated Verboice (phone calls)",
		Long: "Runs a simulated Verboice: it takes calls, \"dials\" them and reports how they end.\n" + ruleHelp + "\n" + simulator.OperationHelp + "\nOutcomes:\n" + simulator.OutcomeHelp,
	}
	f := c.Flags()
	f.StringArrayVar(&accounts, "account", nil, "USERNAME[,password=…][,token=…]…; without any, everybody may call")
	f.StringArrayVar(&lines, "channel", nil, "NAME[,id=N][,limit=N][,pause=D][,disabled][,problem=TEXT]…; default: main,id=1,limit=1")
	f.Int64SliceVar(&o.CallFlows, "call-flow", nil, "numbers of the call flows that exist (default: all of them)")
	f.DurationVar(&o.Ring, "ring", 0, "from ringing to what comes then (default 2s)")
	f.DurationVar(&o.Talk, "talk", 0, "how long an answered call is held at least (default 5s)")
	f.BoolVar(&o.SkipFlows, "skip-flows", false, "hold answered calls without reading what they should say")
	f.StringVar(&o.Digits, "digits", "", "what the person keys in when asked")
	f.DurationVar(&o.RetryDelay, "retry-delay", 0, "before a call is dialed again (default 1m)")
	f.DurationVar(&o.MaxActive, "max-active", 0, "after that a stuck call fails (default 2h)")
	f.DurationVar(&o.PurgeAfter, "purge-after", 0, "after that a finished call is forgotten (default: never)")
	return a.simulator(c, common{
		listen: "127.0.0.1:8091", outcome: "rule for how calls end", outcomes: &o.Outcomes, faults: &o.Faults, seed: &o.Seed,
	}, func() (string, simulated, error) {
		var err, errLines error
		o.Accounts, err = parseEntries(accounts, verboiceAccount)
		o.Channels, errLines = parseEntries(lines, verboiceChannel)
		number(o.Channels)
		if err := errors.Join(err, errLines); err != nil {
			return "", nil, err
		}
		s, err := simulator.New(o)
		return "Verboice", s, err
	})
}

func verboiceAccount(e *entry) simulator.Account {
	return simulator.Account{Username: e.name, Password: e.one("password"), Tokens: e.all("token")}
}

func verboiceChannel(e *entry) simulator.Channel {
	return simulator.Channel{
		Name: e.name, ID: int64(e.number("id")), Limit: e.number("limit"), Pause: e.duration("pause"),
		Disabled: e.has("disabled"), Problems: e.all("problem"),
	}
}

// number assigns the next numbers to channels without one.
func number(channels []simulator.Channel) {
	last := int64(0)
	for i := range channels {
		if channels[i].ID == 0 {
			channels[i].ID = last + 1
		}
		last = max(last, channels[i].ID)
	}
}
