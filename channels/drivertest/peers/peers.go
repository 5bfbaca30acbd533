// Package peers lists the channel types with their simulated providers, for the
// contract suite and for tests of the whole Weir. A new type is a file and a line here.
package peers

import "weir/channels/drivertest"

// All returns a provider for each channel type that reaches one over HTTP, and further
// ones of type http that differ in how they sign, ask and report.
func All() []drivertest.Provider {
	return []drivertest.Provider{Verboice(), Nuntium(), Kannel(), Twilio(), TwilioVoice(), HTTPKannel(), HTTPTwilio()}
}

// Gateways returns further providers of type http: vendors by the templates that Weir
// ships. They keep the same contract; nothing in them is new to the broker.
func Gateways() []drivertest.Provider { return []drivertest.Provider{HTTPVonage(), HTTPInfobip()} }

// Acceptors returns further providers of type http, by the templates that Weir ships, whose
// messages end as soon as they are accepted, so that the suite of reports is not theirs.
func Acceptors() []drivertest.Provider {
	return []drivertest.Provider{HTTPAfricasTalking(), HTTPTelegram()}
}
