package cli

import (
	"github.com/spf13/cobra"

	"weir/channels/twilio/simulator"
)

func (a *app) simulateTwilio() *cobra.Command {
	var o simulator.Options
	c := &cobra.Command{
		Use: "twilio", Short: "Run a simulated Twilio (SMS, WhatsApp, calls)",
		Long: "Runs a simulated Twilio: messages, calls and the account of its REST API, and\n" +
			"signed callbacks.\n" + ruleHelp + "\n" + simulator.OperationHelp + `
Outcomes of messages: delivered (the default), sent, undelivered=CODE,
failed=CODE, read, reversed, silent; of calls: completed (the default), busy,
no-answer, failed, machine, silent; of both: error=CODE, which refuses the
request. POST /_simulator/incoming (JSON: from, to, body, sid) is a message from
a person.`,
	}
	f := c.Flags()
	f.StringVar(&o.AccountSID, "account-sid", "", "SID of the account (default "+simulator.AccountSID+")")
	f.StringVar(&o.AuthToken, "auth-token", "", "auth token of the account (default "+simulator.AuthToken+")")
	f.StringVar(&o.APIKey, "api-key", "", "SID of an API key that is accepted as well")
	f.StringVar(&o.APISecret, "api-secret", "", "secret of the API key")
	f.DurationVar(&o.QueueTime, "queue-time", 0, "in Twilio's queue")
	f.DurationVar(&o.DeliverTime, "deliver-time", 0, "of a message, from the carrier to the handset")
	f.DurationVar(&o.RingTime, "ring-time", 0, "of a call, until it is answered or not")
	f.DurationVar(&o.TalkTime, "talk-time", 0, "of a call that was answered")
	f.DurationVar(&o.ListDelay, "list-delay", 0, "before a list or a query shows what was requested")
	f.DurationVar(&o.RetryDelay, "retry-delay", 0, "before a callback is repeated (default 1s)")
	f.StringVar(&o.IncomingURL, "incoming-url", "", "webhook of the numbers, for messages from people")
	f.IntVar(&o.Callbacks, "callbacks", 0, "callbacks under way at once (0: as many as the simulators usually have)")
	return a.simulator(c, common{
		listen: "127.0.0.1:4010", outcome: "rule for what becomes of messages and calls", outcomes: &o.Outcomes, faults: &o.Faults, seed: &o.Seed,
	}, func() (string, simulated, error) {
		s, err := simulator.New(o)
		return "Twilio", s, err
	})
}
