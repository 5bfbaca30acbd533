package nuntium

import (
	"cmp"
	"strings"

	"weir"
	"weir/channels/provider"
)

// application identifies the application of a channel: its callback addresses are
// shared by all channels that use it.
func application(s weir.Settings) string {
	name := provider.Text(s, "application")
	if name == "" {
		name = "token " + provider.Text(s, "token") // which identifies an application
	}
	return strings.Join([]string{strings.TrimRight(provider.Text(s, "base_url"), "/"), provider.Text(s, "account"), name}, "\x00")
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
	text := func(key string) string { return provider.Text(s, key) }
	return settings{
		account: text("account"), application: text("application"), password: text("password"), token: text("token"),
		channel: text("channel"), from: text("from"),
		// confirmed needs receipts of handsets, which not every channel of Nuntium gets.
		final: finalState(cmp.Or(text("final_state"), string(finalDelivered))),
	}
}

// driver talks to one application of a Nuntium account. It has no state.
type driver struct {
	provider.NoCancel // Nuntium's API cannot cancel a message
	settings
	api         provider.API
	send        *provider.Target // for every dispatch
	callbackURL string
}
