package peers

import (
	"weir"
	"weir/channels"
	"weir/channels/drivertest"
	"weir/channels/nuntium"
	"weir/channels/nuntium/simulator"
)

// Nuntium returns the provider of messages over Nuntium.
func Nuntium() drivertest.Provider {
	const password = "appl1cation"
	return drivertest.Provider{
		Name: "nuntium", Type: nuntium.Type(), Host: "nuntium.test",
		Settings: weir.Settings{
			"base_url": "http://nuntium.test", "account": "demo", "application": "weir", "password": password, "channel": "sms", "final_state": "confirmed",
		},
		Secrets: []string{password}, Unauthorized: weir.Settings{"password": "wrong"},
		Start: func(o drivertest.Options) (drivertest.Simulator, error) {
			return simulator.New(simulator.Options{
				Applications: []simulator.Application{{Name: "weir", Password: password}},
				Client:       o.Client, Outcomes: o.Outcomes, Faults: o.Faults, Seed: o.Seed, QueueTime: o.Queue, TimeScale: 0.01,
			})
		},
		Line: "sms", Send: "send", Report: "ack", Completed: simulator.Confirmed, Failed: simulator.Failed,
		Refusal: drivertest.Raw{Status: 413, Body: "too large"}, RefusalReason: "request refused",
		Blank: channels.Accepted, Unavailable: channels.NotSent, Asks: drivertest.ByContact, Nothing: "[]", Repeats: true,
	}
}
