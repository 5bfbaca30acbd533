package peers

import (
	"weir"
	"weir/channels"
	"weir/channels/drivertest"
	"weir/channels/verboice"
	"weir/channels/verboice/simulator"
)

// Verboice returns the provider of calls over Verboice.
func Verboice() drivertest.Provider {
	const password = "pw0fverboice" //nolint:gosec // of the simulated Verboice
	return drivertest.Provider{
		Name: "verboice", Type: verboice.Type(), Host: "verboice.test",
		Settings: weir.Settings{"base_url": "http://verboice.test", "username": "u@example.org", "password": password, "channel": "main"},
		Secrets:  []string{password}, Unauthorized: weir.Settings{"password": "wrong"},
		Start: func(o drivertest.Options) (drivertest.Simulator, error) {
			return simulator.New(simulator.Options{
				Accounts: []simulator.Account{{Username: "u@example.org", Password: password}},
				Channels: []simulator.Channel{{ID: 1, Name: "main", Limit: 100}}, SkipFlows: true, Ring: o.Queue, Talk: o.Queue,
				Client: o.Client, Outcomes: o.Outcomes, Faults: o.Faults, Seed: o.Seed,
			})
		},
		Line: "main", Send: "send", Completed: "completed", Failed: "dial-failed",
		Refusal: drivertest.Raw{Status: 400, Body: `{"error":"Call address cannot be empty"}`}, RefusalReason: channels.NumberNotUsable,
		Blank: channels.Unclear, Unavailable: channels.NotSent, Asks: drivertest.ByReference, Cancels: true,
	}
}
