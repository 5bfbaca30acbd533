package kannel

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

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
			{Key: "from", Kind: channels.String, Help: "sender's number or name; without it the sender that Kannel's configuration names"},
			{Key: "smsc", Kind: channels.String, Help: "smsc-id of the link to use, whose group has it as allowed-smsc-id; without it Kannel chooses"},
			{Key: "final_state", Kind: channels.String, Help: "state that ends a message and frees its slot: sent (the SMSC has it, default) or delivered (the handset has it)"},
			{Key: "admin_url", Kind: channels.URL, Place: true, Help: "admin port of bearerbox, such as http://kannel.example:13000, for the state of the links"},
			{Key: "status_password", Kind: channels.String, Secret: true, Help: "status-password of the core group, if it has one"},
		},
		Check: check,
		New:   newDriver,
	}
}

// newDriver builds the headers that every message has, once. Kannel takes the parameters of a
// POST from X-Kannel-* headers; in the URL of a GET the password would get into access logs.
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
		// Many operators send no receipt; with delivered, their messages would hold slots until
		// they are lost.
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
