package nuntium

import (
	"errors"
	"fmt"
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
		Settings: []channels.Setting{
			{Key: "base_url", Kind: channels.URL, Place: true, Required: true, Help: "where Nuntium answers, without /api"},
			{Key: "account", Kind: channels.String, Place: true, Required: true, Help: "name of the account"},
			{Key: "application", Kind: channels.String, Place: true, Help: "name of the application, needed with a password; its callback addresses become Weir's"},
			{Key: "password", Kind: channels.String, Secret: true, Help: "of the application; this or token"},
			{Key: "token", Kind: channels.String, Secret: true, Help: "OAuth2 bearer token; this or password"},
			{Key: "channel", Kind: channels.String, Required: true, Help: "name of the channel in Nuntium that carries the messages"},
			{Key: "from", Kind: channels.String, Help: "sender's number, where the channel lets us choose"},
			{Key: "final_state", Kind: channels.String, Help: "state that ends a message and frees its slot: delivered (default) or confirmed"},
		},
		Check: check,
		// Nuntium has one callback address for each application, so that a report about one
		// channel arrives at whichever channel of the application was prepared last.
		Account: application,
		Line:    func(s weir.Settings) string { return text(s, "channel") },
		New:     newDriver,
	}
}

// check finds mistakes that involve several settings, or need this package's rules.
func check(s weir.Settings) []weir.FieldError {
	var errs []weir.FieldError
	add := func(pointer, code, detail string) {
		errs = append(errs, weir.FieldError{Pointer: pointer, Code: code, Detail: detail})
	}
	password, token := text(s, "password"), text(s, "token")
	switch {
	case password == "" && token == "":
		add("/password", "required", "give the application's password, or a token")
	case password != "" && token != "":
		add("/token", "conflict", "give a password or a token, not both")
	case password != "" && text(s, "application") == "":
		add("/application", "required", "a password belongs to an application; name it")
	}
	switch finalState(text(s, "final_state")) {
	case "", finalDelivered, finalConfirmed:
	default:
		add("/final_state", "value", "must be delivered or confirmed")
	}
	if from := text(s, "from"); from != "" {
		if _, err := address(from); err != nil {
			add("/from", "format", "must be a phone number")
		}
	}
	if strings.ContainsAny(text(s, "token"), " \r\n\t") {
		add("/token", "format", "must not contain white space")
	}
	if _, err := provider.BaseURL(text(s, "base_url")); err != nil {
		add("/base_url", "format", "must be http or https with a host and no more than a path")
	}
	for _, key := range []string{"account", "application"} {
		// Nuntium builds user names from the two.
		if strings.ContainsAny(text(s, key), "/@:") {
			add("/"+key, "format", "must not contain a slash, an at sign or a colon")
		}
	}
	return errs
}

func newDriver(c channels.Config) (channels.Driver, error) {
	if errs := check(c.Settings); len(errs) > 0 {
		return nil, fmt.Errorf("%s: %s", errs[0].Pointer, errs[0].Detail)
	}
	base, err := provider.BaseURL(text(c.Settings, "base_url"))
	if err != nil {
		return nil, err
	}
	if c.HTTP == nil {
		return nil, errors.New("no HTTP client")
	}
	d := &driver{settings: readSettings(c.Settings), base: base, callbackURL: c.CallbackURL, http: c.HTTP}
	path, query := d.sendPath()
	if d.send, err = provider.NewTarget(c.HTTP, target(base, path, query), jsonType, d.credentials()); err != nil {
		return nil, err
	}
	return d, nil
}
