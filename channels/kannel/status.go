package kannel

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// Prepare checks that smsbox knows the user and, with admin_url, that bearerbox has
// the link. There is nothing to set up: each message names its report URL.
func (d *driver) Prepare(ctx context.Context) error {
	if r := d.probe(ctx); !known(r) {
		return fmt.Errorf("kannel: sendsms: %s; check sendsms_url, username, password and the user-allow-ip of the sendsms-user", reasonOf(r))
	}
	if d.admin == nil {
		return nil
	}
	g, r := d.gateway(ctx)
	if g == nil {
		return fmt.Errorf("kannel: status of bearerbox: %s; check admin_url and status_password", reasonOf(r))
	}
	if len(g.links(d.smsc)) == 0 {
		return fmt.Errorf("kannel: bearerbox has no link with the smsc-id of the setting smsc")
	}
	return nil
}

// Status checks the user at smsbox and, with admin_url, the state of the links.
func (d *driver) Status(ctx context.Context) channels.Status {
	if r := d.probe(ctx); !known(r) {
		return channels.Status{Health: weir.Erring, Reason: reasonOf(r)}
	}
	if d.admin == nil {
		return channels.Status{Health: weir.Up}
	}
	g, r := d.gateway(ctx)
	if g == nil {
		return channels.Status{Health: weir.Erring, Reason: "status of bearerbox: " + reasonOf(r)}
	}
	return g.status(d.smsc)
}

// probe makes a request that names no receiver. Kannel checks the user first, so
// that the answer shows whether it knows the user, and sends nothing.
func (d *driver) probe(ctx context.Context) provider.Result {
	return d.sendsms.Do(ctx, provider.Call{Method: http.MethodPost, Body: []byte("?")})
}

// known reports whether smsbox accepted the user of a probe.
func known(r provider.Result) bool {
	return r.Delivery == provider.Answered && r.Err == nil && r.Status == http.StatusBadRequest &&
		bytes.HasPrefix(r.Body, []byte("Missing receiver"))
}

func reasonOf(r provider.Result) string {
	var g gateway
	if r.OK() && xml.Unmarshal(r.Body, &g) == nil && strings.TrimSpace(g.Text) == "Denied" {
		return "credentials refused"
	}
	return r.Reason()
}

// gateway is bearerbox's status, as far as it is read.
type gateway struct {
	XMLName xml.Name `xml:"gateway"`
	Text    string   `xml:",chardata"` // Denied, without the right password
	Status  string   `xml:"status"`    // running, uptime …
	Boxes   []struct {
		Type   string `xml:"type"`
		Status string `xml:"status"` // on-line …
	} `xml:"boxes>box"`
	SMSCs []link `xml:"smscs>smsc"`
}

// Kannel writes how long a status lasts behind it, so that only the beginning is compared.
type link struct {
	ID     string `xml:"id"`
	Status string `xml:"status"` // online …, connecting, re-connecting, disconnected, dead
}

// gateway reads the status; nil if bearerbox does not show it. It answers 200
// even if it refuses the password.
func (d *driver) gateway(ctx context.Context) (*gateway, provider.Result) {
	query := url.Values{}
	if d.statusPassword != "" {
		query.Set("password", d.statusPassword)
	}
	r := d.admin.Do(ctx, provider.Call{Method: http.MethodGet, Path: []string{"status.xml"}, Query: query})
	var g gateway
	if !r.OK() || xml.Unmarshal(r.Body, &g) != nil || g.Status == "" {
		return nil, r
	}
	return &g, r
}

// links returns the links of a name; all of them for an empty one.
func (g *gateway) links(smsc string) []link {
	var out []link
	for _, l := range g.SMSCs {
		if smsc == "" || l.ID == smsc {
			out = append(out, l)
		}
	}
	return out
}

func (g *gateway) status(smsc string) channels.Status {
	down := func(reason string) channels.Status { return channels.Status{Health: weir.Down, Reason: reason} }
	state, _, _ := strings.Cut(g.Status, ",")
	switch state {
	case "running", "isolated": // isolated: no messages from people
	case "filled":
		return down("Kannel's queue is full")
	default: // suspended: requests get no answer
		return down("Kannel is suspended or shutting down")
	}
	boxes := 0
	for _, b := range g.Boxes {
		if b.Type == "smsbox" && strings.HasPrefix(b.Status, "on-line") {
			boxes++
		}
	}
	if boxes == 0 {
		return down("no smsbox is connected to Kannel")
	}
	links := g.links(smsc)
	for _, l := range links {
		if strings.HasPrefix(l.Status, "online") {
			return channels.Status{Health: weir.Up}
		}
	}
	if len(links) == 0 {
		return down("Kannel has no such link")
	}
	return down("no link of Kannel is online")
}
