package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"weir/channels/httpgateway/simulator"
	"weir/cmd/internal/command"
)

func (a *app) simulateHTTP() *cobra.Command {
	var o simulator.Options
	var listen string
	c := &cobra.Command{
		Use: "http", Short: "Run a simulated HTTP gateway of a vendor (SMS, chat)", Args: command.NoArgs,
		Long: "Runs a simulated HTTP gateway as the vendor documents it, for channels of type\nhttp with the template of that name: its credentials, answers, reports and questions.\n" + ruleHelp + `
Operations that a fault may name: send and ask for requests; report for callbacks.

Outcomes: delivered (the default), failed, silent, refused.
GET /_simulator/messages lists what it accepted.

Vendors: ` + strings.Join(simulator.Vendors(), ", ") + ".",
		Example: "  weirlab simulate http --vendor vonage\n  weirlab simulate http --vendor infobip --outcome failed:0.1 --fault cut@send:/10",
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := simulator.New(o)
			if err != nil {
				return command.UsageError(c, err.Error())
			}
			return a.runSimulator(c.Context(), o.Vendor, listen, s)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Vendor, "vendor", "", "the vendor")
	f.StringVar(&listen, "listen", "127.0.0.1:8093", "where to listen")
	f.StringVar(&o.Secret, "secret", "", "key, password or token that the vendor demands (default secret)")
	f.StringArrayVar(&o.Outcomes, "outcome", nil, "rule for what becomes of messages")
	f.StringArrayVar(&o.Faults, "fault", nil, "rule for faults of requests and of callbacks")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of what happens by chance")
	f.DurationVar(&o.SendTime, "send-time", 0, "from the request to the first report")
	f.DurationVar(&o.DeliverTime, "deliver-time", 0, "from there to the last report")
	f.DurationVar(&o.RetryDelay, "retry-delay", 0, "before a report is repeated that was not answered 2xx (default 5s)")
	_ = c.RegisterFlagCompletionFunc("vendor", cobra.FixedCompletions(simulator.Vendors(), cobra.ShellCompDirectiveNoFileComp))
	return c
}
