package nuntium

import (
	"strings"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// Type returns this channel type for the table of types.
func Type() channels.Type {
	return channels.Type{
		Name: "nuntium", Content: channels.Text,
		Summary: "SMS through Nuntium",
		SetUp: []string{
			"In Nuntium, create an application for this channel alone, with a password: its callback addresses become those of Weir.",
			"Create a channel in Nuntium that carries the messages, and enable it.",
			"Weir sets the addresses for reports and for messages from people by itself.",
		},
		Callbacks: []channels.CallbackPath{{Path: ackPath}, {Path: incomingPath}},
		Settings: []channels.Setting{
			{Key: "base_url", Kind: channels.URL, Place: true, Required: true, Help: "where Nuntium answers, without /api"},
			{Key: "account", Kind: channels.String, Place: true, Required: true, Help: "name of the account"},
			{Key: "application", Kind: channels.String, Place: true, Help: "name of the application, needed with a password; its callback addresses become Weir's"},
			{Key: "password", Kind: channels.String, Secret: true, Help: "of the application; this or token"},
			{Key: "token", Kind: channels.String, Secret: true, Help: "OAuth2 bearer token; this or password"},
			{Key: "channel", Kind: channels.String, Required: true, Help: "name of the channel in Nuntium that carries the messages"},
			{Key: "from", Kind: channels.String, Help: "sender's number, where the channel lets us choose"},
			{Key: "final_state", Kind: channels.String, Help: "state that ends a message and frees its slot: delivered (the gateway has it) or confirmed (the handset has it)", Default: string(finalDelivered), Values: finalStates()},
		},
		Check: provider.Check(check),
		// Nuntium has one callback address for each application, so that a report about one
		// channel arrives at whichever channel of the application was prepared last.
		Account: application,
		Line:    func(s weir.Settings) string { return provider.Text(s, "channel") },
		New:     provider.New(check, newDriver),
	}
}

func finalStates() []string { return []string{string(finalDelivered), string(finalConfirmed)} }

// check finds mistakes that involve several settings, or need this package's rules.
func check(s *provider.Settings) {
	switch {
	case !s.Has("password") && !s.Has("token"):
		s.Wrong("password", "required", "give the application's password, or a token")
	case s.Has("password") && s.Has("token"):
		s.Wrong("token", "conflict", "give a password or a token, not both")
	case s.Has("password") && !s.Has("application"):
		s.Wrong("application", "required", "a password belongs to an application; name it")
	}
	s.OneOf("final_state", finalStates()...)
	if s.Has("from") {
		if _, err := address(s.Text("from")); err != nil {
			s.Wrong("from", "format", "must be a phone number")
		}
	}
	if strings.ContainsAny(s.Text("token"), " \r\n\t") {
		s.Wrong("token", "format", "must not contain white space")
	}
	s.BaseURL("base_url")
	for _, key := range []string{"account", "application"} {
		// Nuntium builds user names from the two.
		if strings.ContainsAny(s.Text(key), "/@:") {
			s.Wrong(key, "format", "must not contain a slash, an at sign or a colon")
		}
	}
}

func newDriver(c channels.Config) (*driver, error) {
	base, err := provider.BaseURL(provider.Text(c.Settings, "base_url"))
	if err != nil {
		return nil, err
	}
	s := readSettings(c.Settings)
	d := &driver{settings: s, callbackURL: c.CallbackURL, api: provider.API{HTTP: c.HTTP, Base: base, MaxBody: maxList, Credentials: provider.Credentials{
		Token: s.token, Username: s.account + "/" + s.application, Password: s.password,
	}}}
	d.send, err = provider.NewTarget(c.HTTP, d.api.URL(d.sendPath()), jsonType, d.api.Credentials)
	return d, err
}
