package peers

import (
	"time"

	"weir"
	"weir/channels"
	"weir/channels/drivertest"
	"weir/channels/twilio"
	"weir/channels/twilio/simulator"
)

const twilioToken = "t0k3nofaccount"

func startTwilio(o drivertest.Options) (drivertest.Simulator, error) {
	return simulator.New(simulator.Options{
		AuthToken: twilioToken, Client: o.Client, Outcomes: o.Outcomes, Faults: o.Faults, Seed: o.Seed, QueueTime: o.Queue,
	})
}

// Twilio returns the provider of messages.
func Twilio() drivertest.Provider {
	return drivertest.Provider{
		Name: "twilio", Type: twilio.Type(), Host: "twilio.test",
		Settings: weir.Settings{
			"base_url": "http://twilio.test", "account_sid": simulator.AccountSID, "auth_token": twilioToken, "from": "+15559990000", "final_state": "delivered",
		},
		Secrets: []string{twilioToken}, Unauthorized: weir.Settings{"auth_token": "wrong"},
		Start: startTwilio, Line: "+15559990000", Send: "send", Report: "status",
		Completed: simulator.Delivered, Failed: simulator.FailedState,
		Refusal: drivertest.Raw{Status: 400, Body: `{"code": 21610, "message": "to +15550001234", "status": 400}`}, RefusalReason: channels.OptedOut,
		Blank: channels.Unclear, Unavailable: channels.Unclear,
		Asks: drivertest.ByContact, Settles: 2 * time.Minute, Cancels: true, Signed: true, Repeats: true,
	}
}

// TwilioVoice returns the provider of calls.
func TwilioVoice() drivertest.Provider {
	p := Twilio()
	p.Name, p.Type, p.Completed = "twilio_voice", twilio.VoiceType(), simulator.Completed
	p.Settings = weir.Settings{"base_url": "http://twilio.test", "account_sid": simulator.AccountSID, "auth_token": twilioToken, "from": "+15559990000"}
	p.Refusal, p.RefusalReason = drivertest.Raw{Status: 400, Body: `{"code": 21217, "message": "to +15550001234", "status": 400}`}, channels.NumberNotUsable
	return p
}
