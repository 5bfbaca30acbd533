package verboice

import (
	"net/http"
	"net/url"
	"strconv"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// Type returns the channel type, for the table of types.
func Type() channels.Type {
	return channels.Type{
		Name:    "verboice",
		Content: channels.Voice,
		Summary: "calls through a Verboice IVR server",
		SetUp: []string{
			"In Verboice, create a channel and a project with the call flow that calls play. The project should have no schedule with retries: Weir decides when a person is called again.",
			"The capacity must not be larger than the channel's limit of calls at Verboice, or calls wait there.",
			"Each call carries its own report address, so nothing else has to be set in Verboice.",
		},
		Callbacks: []channels.CallbackPath{{Path: statusPath + "{attempt}"}},
		Settings: []channels.Setting{
			{Key: "base_url", Kind: channels.URL, Place: true, Required: true, Help: "address of the Verboice server, such as https://verboice.example.org"},
			{Key: "username", Kind: channels.String, Place: true, Help: "e-mail of the Verboice account; goes with password"},
			{Key: "password", Kind: channels.String, Secret: true, Help: "password of the Verboice account"},
			{Key: "token", Kind: channels.String, Secret: true, Help: "OAuth bearer token, in the place of username and password"},
			{Key: "channel", Kind: channels.String, Help: "name of the channel at Verboice"},
			{Key: "channel_id", Kind: channels.Integer, Help: "number of the channel at Verboice, in the place of its name"},
		},
		Check: provider.Check(check),
		New:   provider.New(check, newDriver),
	}
}

// check finds mistakes that involve several settings; their kinds were checked.
func check(s *provider.Settings) {
	s.BaseURL("base_url")
	switch {
	case s.Has("token") && (s.Has("username") || s.Has("password")):
		s.Wrong("token", "conflict", "give either token or username and password")
	case s.Has("token"):
	case !s.Has("username") && !s.Has("password"):
		s.Wrong("token", "required", "give token, or username and password")
	case !s.Has("username"):
		s.Wrong("username", "required", "goes with password")
	case !s.Has("password"):
		s.Wrong("password", "required", "goes with username")
	}
	// Verboice prefers the name if it gets both, without a word; so both are refused here.
	id, numbered := weir.Number(s.Settings["channel_id"])
	switch {
	case s.Has("channel") && numbered:
		s.Wrong("channel_id", "conflict", "give either channel or channel_id")
	case !s.Has("channel") && !numbered:
		s.Wrong("channel", "required", "give channel or channel_id")
	case numbered && id < 1:
		s.Wrong("channel_id", "range", "must be 1 or more")
	}
}

func newDriver(c channels.Config) (*driver, error) {
	text := func(key string) string { return provider.Text(c.Settings, key) }
	base, err := provider.BaseURL(text("base_url"))
	if err != nil {
		return nil, err
	}
	d := &driver{callbacks: c.CallbackURL, api: provider.API{
		HTTP: c.HTTP, Base: base, Header: http.Header{"Accept": {"application/json"}},
		Credentials: provider.Credentials{Token: text("token"), Username: text("username"), Password: text("password")},
	}}
	// Verboice has the status of a channel by name and by number at different paths.
	if name := text("channel"); name != "" {
		d.line, d.linePath = url.Values{"channel": {name}}, []string{"api", "channels", name}
		return d, nil
	}
	id, _ := weir.Number(c.Settings["channel_id"])
	number := strconv.FormatInt(int64(id), 10)
	d.line, d.linePath = url.Values{"channel_id": {number}}, []string{"api", "channels", "all", number}
	return d, nil
}
