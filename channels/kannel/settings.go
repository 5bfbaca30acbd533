package kannel

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// Type returns this channel type for the table of types.
func Type() channels.Type {
	return channels.Type{
		Name: "kannel", Content: channels.Text,
		Summary: "SMS through Kannel",
		Settings: []channels.Setting{
			{Key: "sendsms_url", Kind: channels.URL, Place: true, Required: true, Help: "where smsbox takes messages, such as http://kannel.example:13013/cgi-bin/sendsms"},
			{Key: "username", Kind: channels.String, Place: true, Required: true, Help: "username of the sendsms-user group"},
			{Key: "password", Kind: channels.String, Secret: true, Required: true, Help: "password of the sendsms-user group"},
			{Key: "from", Kind: channels.String, Help: "sender's number or name; without it the one that Kannel is configured with"},
			{Key: "smsc", Kind: channels.String, Help: "smsc-id of the link to use; without it Kannel chooses"},
			{Key: "final_state", Kind: channels.String, Help: "state that ends a message and frees its slot: sent (the SMSC has it, default) or delivered (the handset has it)"},
			{Key: "admin_url", Kind: channels.URL, Place: true, Help: "admin port of bearerbox, such as http://kannel.example:13000, for the state of the links"},
			{Key: "status_password", Kind: channels.String, Secret: true, Help: "status-password of the core group, if it has one"},
		},
		Check: check,
		New:   newDriver,
	}
}

// check finds mistakes that involve several settings, or need this package's rules.
func check(s weir.Settings) []weir.FieldError {
	var errs []weir.FieldError
	add := func(key, code, detail string) {
		errs = append(errs, weir.FieldError{Pointer: "/" + key, Code: code, Detail: detail})
	}
	for _, key := range []string{"sendsms_url", "admin_url"} {
		if raw := text(s, key); raw != "" || key == "sendsms_url" {
			if _, err := provider.BaseURL(raw); err != nil {
				add(key, "format", "must be http or https with a host and no more than a path")
			}
		}
	}
	switch finalState(text(s, "final_state")) {
	case "", finalSent, finalDelivered:
	default:
		add("final_state", "value", "must be sent or delivered")
	}
	for _, key := range []string{"username", "password", "from", "smsc", "status_password"} {
		if !fitsHeader(text(s, key)) {
			add(key, "format", "must be printable ASCII without blanks at its ends")
		}
	}
	if text(s, "status_password") != "" && text(s, "admin_url") == "" {
		add("admin_url", "required", "status_password is sent there")
	}
	return errs
}

// fitsHeader reports whether Kannel reads a value from a header as it is: it strips
// blanks at the ends.
func fitsHeader(s string) bool {
	for _, r := range s {
		if r < ' ' || r > '~' {
			return false
		}
	}
	return strings.Trim(s, " ") == s
}

func text(s weir.Settings, key string) string {
	v, _ := s[key].(string)
	return v
}

func newDriver(c channels.Config) (channels.Driver, error) {
	if errs := check(c.Settings); len(errs) > 0 {
		return nil, fmt.Errorf("%s: %s", errs[0].Pointer, errs[0].Detail)
	}
	if c.HTTP == nil {
		return nil, errors.New("no HTTP client")
	}
	d := &driver{
		callbackURL: strings.ReplaceAll(c.CallbackURL, "%", "%%"), http: c.HTTP, header: http.Header{},
		smsc: text(c.Settings, "smsc"), statusPassword: text(c.Settings, "status_password"),
		final: finalState(text(c.Settings, "final_state")),
	}
	if d.final == "" {
		d.final = finalSent
	}
	d.sendsms, _ = provider.BaseURL(text(c.Settings, "sendsms_url")) // checked above
	if admin := text(c.Settings, "admin_url"); admin != "" {
		d.admin, _ = provider.BaseURL(admin) // checked above
	}
	d.header.Set("Content-Type", bodyType)
	d.header.Set("X-Kannel-Username", text(c.Settings, "username"))
	d.header.Set("X-Kannel-Password", text(c.Settings, "password"))
	if from := text(c.Settings, "from"); from != "" {
		d.header.Set("X-Kannel-From", from)
	}
	if d.smsc != "" {
		d.header.Set("X-Kannel-Smsc", d.smsc)
	}
	return d, nil
}

// driver talks to one smsbox. It has no state.
type driver struct {
	sendsms        *url.URL
	admin          *url.URL // nil: not configured
	smsc           string
	statusPassword string
	final          finalState
	callbackURL    string // as Kannel takes it, which reads percent signs as escapes
	http           *http.Client
	header         http.Header // of every request to sendsms; never changed
}
