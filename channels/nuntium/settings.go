package nuntium

import (
	"net/http"
	"net/url"
	"strings"

	"weir"
	"weir/channels/provider"
)

// application identifies the application of a channel: its callback addresses are
// shared by all channels that use it.
func application(s weir.Settings) string {
	name := text(s, "application")
	if name == "" {
		name = "token " + text(s, "token") // which identifies an application
	}
	return strings.Join([]string{strings.TrimRight(text(s, "base_url"), "/"), text(s, "account"), name}, "\x00")
}

// settings holds a channel's parsed settings.
type settings struct {
	account     string
	application string
	password    string
	token       string
	channel     string
	from        string
	final       finalState
}

func readSettings(s weir.Settings) settings {
	out := settings{
		account:     text(s, "account"),
		application: text(s, "application"), password: text(s, "password"), token: text(s, "token"),
		channel: text(s, "channel"), from: text(s, "from"), final: finalState(text(s, "final_state")),
	}
	if out.final == "" {
		// confirmed needs receipts of handsets, which not every channel of Nuntium gets.
		out.final = finalDelivered
	}
	return out
}

func text(s weir.Settings, key string) string {
	v, _ := s[key].(string)
	return v
}

// driver talks to one application of a Nuntium account. It has no state.
type driver struct {
	settings
	base        *url.URL
	callbackURL string
	http        *http.Client
	send        *provider.Target // for every dispatch
}
