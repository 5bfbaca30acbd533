package peers

import (
	_ "embed"
	"strings"

	"weir"
	"weir/channels"
	"weir/channels/drivertest"
	"weir/channels/httpgateway"
	vendors "weir/channels/httpgateway/simulator"
	"weir/channels/twilio/simulator"
)

// HTTPKannel returns the provider of messages over Kannel by the template that Weir ships:
// unsigned, without references, with the message in the address of its reports.
func HTTPKannel() drivertest.Provider {
	p := Kannel()
	p.Name, p.Type = "http kannel", httpgateway.Type()
	secret := p.Secrets[0]
	p.Settings = weir.Settings{
		"template": template(httpgateway.Template("kannel"), "http://kannel.example:13013", "http://kannel.test"),
		"secrets":  map[string]any{"password": secret}, "values": map[string]any{"username": "weir"},
	}
	p.Unauthorized = weir.Settings{"secrets": map[string]any{"password": "wrong"}}
	return p
}

// HTTPTwilio returns the provider of messages over Twilio by a template: signed, with a
// reference in the answer.
func HTTPTwilio() drivertest.Provider {
	p := Twilio()
	p.Name, p.Type = "http twilio", httpgateway.Type()
	p.Settings = weir.Settings{
		"template": template(twilioTemplate, "ACCOUNT", simulator.AccountSID),
		"secrets":  map[string]any{"token": twilioToken}, "values": map[string]any{"from": "+15559990000"},
	}
	p.Unauthorized = weir.Settings{"secrets": map[string]any{"token": "wrong"}}
	p.Asks, p.Cancels = drivertest.ByReference, false
	p.RefusalReason = channels.OptedOut
	return p
}

const gatewaySecret = "k3yofgateway"

// HTTPVonage returns the provider of messages over Vonage by the template that Weir ships.
// It cannot be asked.
func HTTPVonage() drivertest.Provider {
	p := gateway("vonage", "https://rest.nexmo.com", "api_secret", map[string]any{"api_key": "weir", "from": "4000"})
	p.Refusal = drivertest.Raw{Status: 200, Body: `{"message-count": "1", "messages": [{"status": "7", "to": "15550001234"}]}`}
	return p
}

// HTTPInfobip returns the provider of messages over Infobip by the template that Weir
// ships. It can be asked by the id that Weir gave a message.
func HTTPInfobip() drivertest.Provider {
	p := gateway("infobip", "https://ACCOUNT.api.infobip.com", "api_key", map[string]any{"from": "4000"})
	p.Refusal = drivertest.Raw{Status: 200, Body: `{"messages": [{"status": {"groupId": 5, "id": 52}, "to": "15550001234"}]}`}
	p.Asks, p.Nothing = drivertest.ByContact, `{"results":[]}`
	return p
}

// HTTPAfricasTalking returns the provider of messages over Africa's Talking by the template that
// Weir ships.
func HTTPAfricasTalking() drivertest.Provider {
	return gateway("africastalking", "https://api.africastalking.com", "api_key", map[string]any{"username": "weir", "from": "HEALTH"})
}

// HTTPTelegram returns the provider of messages over Telegram by the template that Weir ships.
func HTTPTelegram() drivertest.Provider {
	p := gateway("telegram", "https://api.telegram.org", "token", map[string]any{})
	p.Settings["secrets"] = map[string]any{"token": gatewaySecret, "webhook": "w"}
	return p
}

func gateway(vendor, place, secret string, values map[string]any) drivertest.Provider {
	host := vendor + ".test"
	return drivertest.Provider{
		Name: "http " + vendor, Type: httpgateway.Type(), Host: host,
		Settings: weir.Settings{
			"template": template(httpgateway.Template(vendor), place, "http://"+host), "values": values, "secrets": map[string]any{secret: gatewaySecret},
		},
		Secrets: []string{gatewaySecret}, Unauthorized: weir.Settings{"secrets": map[string]any{secret: "wrong"}},
		Start: func(o drivertest.Options) (drivertest.Simulator, error) {
			return vendors.New(vendors.Options{Vendor: vendor, Secret: gatewaySecret, Client: o.Client, Outcomes: o.Outcomes, Faults: o.Faults, Seed: o.Seed, DeliverTime: o.Queue})
		},
		Line: vendors.Line, Send: "send", Report: "report", Completed: vendors.Delivered, Failed: vendors.Failed,
		RefusalReason: channels.NumberNotUsable, Blank: channels.Unclear, Unavailable: channels.NotSent, Repeats: true,
	}
}

//go:embed testdata/twilio.json
var twilioTemplate []byte

// template returns a template as a channel's setting has it, with a text replaced.
func template(raw []byte, old, with string) string { return strings.ReplaceAll(string(raw), old, with) }
