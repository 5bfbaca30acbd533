package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"weir/channels/nuntium/simulator"
)

func (a *app) simulateNuntium() *cobra.Command {
	var o simulator.Options
	var applications, ways []string
	c := &cobra.Command{
		Use: "nuntium", Short: "Run a simulated Nuntium (SMS)",
		Long: "Runs a simulated Nuntium: it takes messages, \"delivers\" them and sends acks.\n" + ruleHelp + "\n" + simulator.OperationHelp + `
Outcomes: confirmed (the default), delivered, confirmed_only, reversed, twice,
failed, failover, delayed, canceled, cancelled, null, stuck, crash.

POST /_simulator/incoming (JSON: from, body, and if need be to, channel, application,
guid, fields) is a message from a person. It goes to the interface-url of its
application.`,
	}
	f := c.Flags()
	f.StringVar(&o.Account, "account", "", "name of the account (default demo)")
	f.StringVar(&o.Password, "password", "", "password of the account (default: none: the account cannot log in)")
	f.StringArrayVar(&applications, "application", nil, "NAME[,password=…][,token=…]…[,ack-url=…][,ack-method=get|post|none][,ack-user=…][,ack-password=…]\n[,interface-url=…][,interface-type=…][,interface-user=…][,interface-password=…]; default: weir,password=secret,token=token")
	f.StringArrayVar(&ways, "channel", nil, "NAME[,disabled][,connected][,priority=N][,kind=…][,protocol=…][,address=…][,direction=…][,application=…]; default: sms")
	f.DurationVar(&o.QueueTime, "queue-time", 0, "from pending to queued")
	f.DurationVar(&o.DeliverTime, "deliver-time", 0, "from queued to the next state")
	f.DurationVar(&o.ConfirmTime, "confirm-time", 0, "from delivered to confirmed")
	f.Float64Var(&o.TimeScale, "time-scale", 0, "shortens the minutes between repeated acks: 0.001 makes a minute 60 ms (default 1)")
	f.IntVar(&o.Callbacks, "callbacks", 0, "acks under way at once (0: as many as the simulators usually have)")
	return a.simulator(c, common{
		listen: "127.0.0.1:8092", outcome: "rule for what becomes of messages", outcomes: &o.Outcomes, faults: &o.Faults, seed: &o.Seed,
	}, func() (string, simulated, error) {
		var err, errWays error
		o.Applications, err = parseEntries(applications, nuntiumApplication)
		o.Channels, errWays = parseEntries(ways, nuntiumChannel)
		if err := errors.Join(err, errWays); err != nil {
			return "", nil, err
		}
		s, err := simulator.New(o)
		return "Nuntium", s, err
	})
}

func nuntiumApplication(e *entry) simulator.Application {
	return simulator.Application{
		Name: e.name, Password: e.one("password"), Tokens: e.all("token"),
		Interface: simulator.Interface{
			Type: e.one("interface-type"), URL: e.one("interface-url"), User: e.one("interface-user"), Password: e.one("interface-password"),
		},
		Ack: simulator.Ack{Method: e.one("ack-method"), URL: e.one("ack-url"), User: e.one("ack-user"), Password: e.one("ack-password")},
	}
}

func nuntiumChannel(e *entry) simulator.Channel {
	return simulator.Channel{
		Name: e.name, Enabled: !e.has("disabled"), Connected: e.has("connected"), Priority: e.number("priority"), Kind: e.one("kind"),
		Protocol: e.one("protocol"), Address: e.one("address"), Direction: e.one("direction"), Application: e.one("application"),
	}
}
