package cli

import (
	"github.com/spf13/cobra"

	"weir/channels/kannel/simulator"
	"weir/cmd/internal/command"
)

func (a *app) simulateKannel() *cobra.Command {
	var o simulator.Options
	var listen string
	var links []string
	c := &cobra.Command{
		Use: "kannel", Short: "Run a simulated Kannel (SMS)", Args: command.NoArgs,
		Long: "Runs a simulated Kannel: it takes messages at " + simulator.SendPath + ", shows its links at\n" +
			"/status.xml, and requests the addresses of delivery reports.\n" + ruleHelp + "\n" + simulator.OperationHelp + `
Outcomes: delivered (the default), sent, failed, expired, buffered, refused,
reversed, silent. POST /_simulator/links (id, state) changes the state of a
link: online, re-connecting (messages wait) or dead (they are not routable).
POST /_simulator/incoming (JSON: from, to, text, coding, id) is a message from a
person.`,
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if o.Links, err = parseEntries(links, kannelLink); err != nil {
				return command.UsageError(c, err.Error())
			}
			s, err := simulator.New(o)
			if err != nil {
				return command.UsageError(c, err.Error())
			}
			return a.runSimulator(c.Context(), "Kannel", listen, s)
		},
	}
	f := c.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:13013", "where to listen")
	f.StringVar(&o.Username, "username", "", "username of the sendsms-user (default weir)")
	f.StringVar(&o.Password, "password", "", "password of the sendsms-user (default secret)")
	f.StringVar(&o.StatusPassword, "status-password", "", "password of status.xml (default: none is needed)")
	f.StringVar(&o.GlobalSender, "global-sender", "", "sender of messages that name none (default 100)")
	f.StringArrayVar(&links, "link", nil, "ID[,prefix=…]…[,state=online|re-connecting|dead][,named-only]; default: SMSC, for all numbers")
	f.StringArrayVar(&o.Outcomes, "outcome", nil, "rule for what becomes of messages")
	f.StringArrayVar(&o.Faults, "fault", nil, "rule for faults of requests and of callbacks")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of what happens by chance")
	f.DurationVar(&o.SendTime, "send-time", 0, "from the request to the SMSC")
	f.DurationVar(&o.DeliverTime, "deliver-time", 0, "from the SMSC to the receipt")
	f.IntVar(&o.Retries, "retries", 0, "http-request-retry: how often a report is repeated that was not answered 200 or 202")
	f.DurationVar(&o.RetryDelay, "retry-delay", 0, "http-queue-delay: before it is repeated (default 10s)")
	f.StringVar(&o.IncomingURL, "incoming-url", "", "get-url of the service for messages from people, with Kannel's escapes")
	f.IntVar(&o.Callbacks, "callbacks", 0, "reports under way at once (0: as many as the simulators usually have)")
	return c
}

func kannelLink(e *entry) simulator.Link {
	return simulator.Link{ID: e.name, Prefixes: e.all("prefix"), State: e.one("state"), NamedOnly: e.has("named-only")}
}
