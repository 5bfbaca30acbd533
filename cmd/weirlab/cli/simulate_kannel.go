package cli

import (
	"github.com/spf13/cobra"

	"weir/channels/kannel/simulator"
)

func (a *app) simulateKannel() *cobra.Command {
	var o simulator.Options
	var links []string
	c := &cobra.Command{
		Use: "kannel", Short: "Run a simulated Kannel (SMS)",
		Long: "Runs a simulated Kannel: it takes messages at " + simulator.SendPath + ", shows its links at\n" +
			"/status.xml, and requests the addresses of delivery reports.\n" + ruleHelp + "\n" + simulator.OperationHelp + `
Outcomes: delivered (the default), sent, failed, expired, buffered, refused,
reversed, silent. POST /_simulator/links (id, state) changes the state of a
link: online, re-connecting (messages wait) or dead (they are not routable).
POST /_simulator/incoming (JSON: from, to, text, coding, id) is a message from a
person.`,
	}
	f := c.Flags()
	f.StringVar(&o.Username, "username", "", "username of the sendsms-user (default weir)")
	f.StringVar(&o.Password, "password", "", "password of the sendsms-user (default secret)")
	f.StringVar(&o.StatusPassword, "status-password", "", "password of status.xml (default: none is needed)")
	f.StringVar(&o.GlobalSender, "global-sender", "", "sender of messages that name none (default 100)")
	f.StringArrayVar(&links, "link", nil, "ID[,prefix=…]…[,state=online|re-connecting|dead][,named-only]; default: SMSC, for all numbers")
	f.DurationVar(&o.SendTime, "send-time", 0, "from the request to the SMSC")
	f.DurationVar(&o.DeliverTime, "deliver-time", 0, "from the SMSC to the receipt")
	f.IntVar(&o.Retries, "retries", 0, "http-request-retry: how often a report is repeated that was not answered 200 or 202")
	f.DurationVar(&o.RetryDelay, "retry-delay", 0, "http-queue-delay: before it is repeated (default 10s)")
	f.StringVar(&o.IncomingURL, "incoming-url", "", "get-url of the service for messages from people, with Kannel's escapes")
	f.IntVar(&o.Callbacks, "callbacks", 0, "reports under way at once (0: as many as the simulators usually have)")
	return a.simulator(c, common{
		listen: "127.0.0.1:13013", outcome: "rule for what becomes of messages", outcomes: &o.Outcomes, faults: &o.Faults, seed: &o.Seed,
	}, func() (string, simulated, error) {
		var err error
		if o.Links, err = parseEntries(links, kannelLink); err != nil {
			return "", nil, err
		}
		s, err := simulator.New(o)
		return "Kannel", s, err
	})
}

func kannelLink(e *entry) simulator.Link {
	return simulator.Link{ID: e.name, Prefixes: e.all("prefix"), State: e.one("state"), NamedOnly: e.has("named-only")}
}
