package kannel

import (
	"cmp"
	"net/http"
	"strings"

	"weir/channels"
	"weir/channels/provider"
)

// Type returns this channel type for the table of types.
func Type() channels.Type {
	return channels.Type{
		Name: "kannel", Content: channels.Text,
		Summary: "SMS through Kannel",
		SetUp: []string{
			"In Kannel's configuration, add a group sendsms-user for Weir: username, password, max-messages = 10, concatenation = true.",
			"Give the core group a store (store-type, store-location), and smsbox http-request-retry = 100: otherwise a crash or a restart loses messages and reports.",
			"For messages from people, add a sms-service whose get-url begins with the callback address of the channel and /incoming.",
		},
		Callbacks: []channels.CallbackPath{{Path: incomingPath, ByHand: "Messages from people"}, {Path: reportPath + "/{attempt}/{part}"}},
		Settings: []channels.Setting{
			{Key: "sendsms_url", Kind: channels.URL, Place: true, Required: true, Help: "where smsbox takes messages, such as http://kannel.example:13013/cgi-bin/sendsms"},
			{Key: "username", Kind: channels.String, Place: true, Required: true, Help: "username of the sendsms-user group"},
			{Key: "password", Kind: channels.String, Secret: true, Required: true, Help: "password of the sendsms-user group"},
			{Key: "from", Kind: channels.String, Help: "sender's number or name; without it the sender that Kannel's configuration names"},
			{Key: "smsc", Kind: channels.String, Help: "smsc-id of the link to use, whose group has it as allowed-smsc-id; without it Kannel chooses"},
			{Key: "final_state", Kind: channels.String, Help: "state that ends a message and frees its slot: sent (the SMSC has it) or delivered (the handset has it)", Default: string(finalSent), Values: finalStates()},
			{Key: "admin_url", Kind: channels.URL, Place: true, Help: "admin port of bearerbox, such as http://kannel.example:13000, for the state of the links"},
			{Key: "status_password", Kind: channels.String, Secret: true, Help: "status-password of the core group, if it has one"},
		},
		Check: provider.Check(check),
		New:   provider.New(check, newDriver),
	}
}

const (
	// bodyType makes Kannel take the body as it is: for a type of text without a
	// charset it assumes ISO-8859-1.
	bodyType = "application/octet-stream"
	// Max sizes of an answer of smsbox and of bearerbox's status, in bytes.
	maxBody   = 64 << 10
	maxStatus = 4 << 20
)

// newDriver builds the headers that every message has, once. Kannel takes the parameters of a
// POST from X-Kannel-* headers; in the URL of a GET the password would get into access logs.
func newDriver(c channels.Config) (*driver, error) {
	text := func(key string) string { return provider.Text(c.Settings, key) }
	sendsms, err := provider.BaseURL(text("sendsms_url"))
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {bodyType}}
	for name, key := range map[string]string{"Username": "username", "Password": "password", "From": "from", "Smsc": "smsc"} {
		if v := text(key); v != "" {
			header.Set("X-Kannel-"+name, v)
		}
	}
	d := &driver{
		callbackURL: strings.ReplaceAll(c.CallbackURL, "%", "%%"), smsc: text("smsc"), statusPassword: text("status_password"),
		// Many operators send no receipt; with delivered, their messages would hold slots until
		// they are lost.
		final:   finalState(cmp.Or(text("final_state"), string(finalSent))),
		sendsms: provider.API{HTTP: c.HTTP, Base: sendsms, Header: header, MaxBody: maxBody},
	}
	if admin := text("admin_url"); admin != "" {
		base, err := provider.BaseURL(admin)
		if err != nil {
			return nil, err
		}
		d.admin = &provider.API{HTTP: c.HTTP, Base: base, MaxBody: maxStatus}
	}
	return d, nil
}

// driver talks to one smsbox. It has no state.
type driver struct {
	provider.NoCancel // to remove a message, Kannel wants an id that it does not tell
	sendsms           provider.API
	admin             *provider.API // nil: not configured
	smsc              string
	statusPassword    string
	final             finalState
	callbackURL       string // as Kannel takes it, which reads percent signs as escapes
}
