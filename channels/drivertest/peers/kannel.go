package peers

import (
	"time"

	"weir"
	"weir/channels"
	"weir/channels/drivertest"
	"weir/channels/kannel"
	"weir/channels/kannel/simulator"
)

// Kannel returns the provider of messages over Kannel.
func Kannel() drivertest.Provider {
	const password = "p4ss w0rd%&"
	return drivertest.Provider{
		Name: "kannel", Type: kannel.Type(), Host: "kannel.test",
		Settings: weir.Settings{"sendsms_url": "http://kannel.test/cgi-bin/sendsms", "username": "weir", "password": password, "final_state": "delivered"},
		Secrets:  []string{password}, Unauthorized: weir.Settings{"password": "wrong"},
		Start: func(o drivertest.Options) (drivertest.Simulator, error) {
			return simulator.New(simulator.Options{
				Password: password, Client: o.Client, Outcomes: o.Outcomes, Faults: o.Faults, Seed: o.Seed, SendTime: o.Queue, Retries: 100, RetryDelay: time.Second,
			})
		},
		Line: "SMSC", Send: "send", Report: "dlr", Completed: simulator.Delivered, Failed: simulator.Failed,
		Refusal: drivertest.Raw{Status: 403, Body: "Not routable. Do not try again."}, RefusalReason: channels.NumberNotUsable,
		Blank: channels.Unclear, Unavailable: channels.NotSent, Asks: drivertest.Never, Repeats: true,
	}
}
