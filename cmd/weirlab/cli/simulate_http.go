package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"weir/channels/httpgateway/simulator"
)

func (a *app) simulateHTTP() *cobra.Command {
	var o simulator.Options
	c := &cobra.Command{
		Use: "http", Short: "Run a simulated HTTP gateway of a vendor (SMS, chat)",
		Long: "Runs a simulated HTTP gateway as the vendor documents it, for channels of type\nhttp with the template of that name: its credentials, answers, reports and questions.\n" + ruleHelp + `
Operations that a fault may name: send and ask for requests; report for callbacks.

Outcomes: delivered (the default), failed, silent, refused.
GET /_simulator/messages lists what it accepted.

Vendors: ` + strings.Join(simulator.Vendors(), ", ") + ".",
		Example: "  weirlab simulate http --vendor vonage\n  weirlab simulate http --vendor infobip --outcome failed:0.1 --fault cut@send:/10",
	}
	f := c.Flags()
	f.StringVar(&o.Vendor, "vendor", "", "the vendor")
	f.StringVar(&o.Secret, "secret", "", "key, password or token that the vendor demands (default secret)")
	f.DurationVar(&o.SendTime, "send-time", 0, "from the request to the first report")
	f.DurationVar(&o.DeliverTime, "deliver-time", 0, "from there to the last report")
	f.DurationVar(&o.RetryDelay, "retry-delay", 0, "before a report is repeated that was not answered 2xx (default 5s)")
	_ = c.RegisterFlagCompletionFunc("vendor", cobra.FixedCompletions(simulator.Vendors(), cobra.ShellCompDirectiveNoFileComp))
	return a.simulator(c, common{
		listen: "127.0.0.1:8093", outcome: "rule for what becomes of messages", outcomes: &o.Outcomes, faults: &o.Faults, seed: &o.Seed,
	}, func() (string, simulated, error) {
		s, err := simulator.New(o)
		return o.Vendor, s, err
	})
}
