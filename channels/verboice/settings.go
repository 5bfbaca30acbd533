package verboice

import (
	"errors"
	"math"
	"net/url"
	"strconv"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// Name is the name of the channel type.
const Name = "verboice"

// Type returns the channel type, for the table of types.
func Type() channels.Type {
	return channels.Type{
		Name:    Name,
		Content: channels.Voice,
		Summary: "calls through a Verboice IVR server",
		Settings: []channels.Setting{
			{Key: "base_url", Kind: channels.URL, Place: true, Required: true, Help: "address of the Verboice server, such as https://verboice.example.org"},
			{Key: "username", Kind: channels.String, Place: true, Help: "e-mail of the Verboice account; goes with password"},
			{Key: "password", Kind: channels.String, Secret: true, Help: "password of the Verboice account"},
			{Key: "token", Kind: channels.String, Secret: true, Help: "OAuth bearer token, in the place of username and password"},
			{Key: "channel", Kind: channels.String, Help: "name of the channel at Verboice"},
			{Key: "channel_id", Kind: channels.Integer, Help: "number of the channel at Verboice, in the place of its name"},
		},
		Check: check,
		New:   func(c channels.Config) (channels.Driver, error) { return New(c) },
	}
}

// check finds mistakes that involve several settings; their kinds were checked.
func check(s weir.Settings) []weir.FieldError {
	var errs []weir.FieldError
	wrong := func(key, code, detail string) {
		errs = append(errs, weir.FieldError{Pointer: "/" + key, Code: code, Detail: detail})
	}
	has := func(key string) bool { _, ok := s[key]; return ok }
	if _, err := provider.BaseURL(text(s, "base_url")); err != nil {
		wrong("base_url", "format", err.Error())
	}
	switch {
	case has("token") && (has("username") || has("password")):
		wrong("token", "conflict", "give either token or username and password")
	case has("token"):
	case !has("username") && !has("password"):
		wrong("token", "required", "give token, or username and password")
	case !has("username"):
		wrong("username", "required", "goes with password")
	case !has("password"):
		wrong("password", "required", "goes with username")
	}
	// Verboice prefers the name if it gets both, without a word; so both are refused here.
	id, isNumber := number(s, "channel_id")
	switch {
	case has("channel") && has("channel_id"):
		wrong("channel_id", "conflict", "give either channel or channel_id")
	case !has("channel") && !has("channel_id"):
		wrong("channel", "required", "give channel or channel_id")
	case has("channel_id") && (!isNumber || id < 1):
		wrong("channel_id", "range", "must be 1 or more")
	}
	return errs
}

// New returns the driver of one channel.
func New(c channels.Config) (*Driver, error) {
	base, err := provider.BaseURL(text(c.Settings, "base_url"))
	if err != nil {
		return nil, err
	}
	d := &Driver{
		base: base, callbacks: c.CallbackURL, client: c.HTTP,
		credentials: provider.Credentials{
			Token: text(c.Settings, "token"), Username: text(c.Settings, "username"), Password: text(c.Settings, "password"),
		},
	}
	// Verboice has the status of a channel by name and by number at different paths.
	if name := text(c.Settings, "channel"); name != "" {
		d.line = url.Values{"channel": {name}}
		d.linePath = []string{"api", "channels", name}
		return d, nil
	}
	id, ok := number(c.Settings, "channel_id")
	if !ok {
		return nil, errors.New("neither channel nor channel_id is set")
	}
	d.line = url.Values{"channel_id": {strconv.FormatInt(id, 10)}}
	d.linePath = []string{"api", "channels", "all", strconv.FormatInt(id, 10)}
	return d, nil
}

func text(s weir.Settings, key string) string {
	v, _ := s[key].(string)
	return v
}

// number returns a whole number as decoded from JSON.
func number(s weir.Settings, key string) (int64, bool) {
	// Settings are decoded from JSON, whose numbers are floats: above 2^53 they no longer hold
	// every whole number.
	v, ok := s[key].(float64)
	if !ok || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return 0, false
	}
	return int64(v), true
}
