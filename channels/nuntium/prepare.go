package nuntium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// Prepare sets Weir's callback addresses in Nuntium and enables the channel for
// the application.
//
// The callback addresses belong to the application and are shared by all its
// channels, so one application serves one channel of ours. Both callbacks
// are POST, to keep numbers and texts out of URLs and thereby out of access logs.
//
// An application's password may change the application, but a channel only if
// the application owns it; a token may change both. If the channel cannot be
// changed, it is enough that it is enabled already.
func (d *driver) Prepare(ctx context.Context) error {
	r := d.put(ctx, []string{"api", "applications", "me"}, d.accountQuery(), map[string]any{
		"interface":    map[string]string{"type": "http_post_callback", "url": d.callbackURL + "/" + incomingPath},
		"delivery_ack": map[string]string{"method": "post", "url": d.callbackURL + "/" + ackPath},
	})
	if !r.OK() {
		return d.explain(r, "cannot set the application's callbacks",
			"correct the credentials, or set them in Nuntium yourself: interface = http_post_callback, delivery_ack = post, URL = the address that weir channel callback prints")
	}
	var application struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(r.Body, &application) != nil || application.Name == "" {
		return errors.New("nuntium: cannot set the application's callbacks: the answer is not an application")
	}
	if d.application != "" && d.application != application.Name {
		return errors.New("nuntium: the token belongs to another application than the setting application names")
	}
	return d.enable(ctx, application.Name)
}

// put makes one request with a JSON document.
func (d *driver) put(ctx context.Context, path []string, query url.Values, document map[string]any) provider.Result {
	body, err := json.Marshal(document)
	if err != nil {
		return provider.Result{Delivery: provider.NeverSent, Err: fmt.Errorf("request cannot be written: %w", err)}
	}
	return d.api.Do(ctx, provider.Call{
		Method: http.MethodPut, Path: path, Query: query, Header: http.Header{"Content-Type": {jsonType}}, Body: body,
	})
}

func (d *driver) enable(ctx context.Context, application string) error {
	query := d.accountQuery()
	query.Set("application", "-")
	r := d.put(ctx, d.channelPath(), query, map[string]any{"application": application, "enabled": true})
	if r.OK() {
		return nil
	}
	if r.Delivery == provider.Answered && (r.Status == http.StatusForbidden || r.Status == http.StatusBadRequest) {
		if d.Status(ctx).Health == weir.Up {
			return nil // it may not be changed, but is set up already
		}
	}
	return d.explain(r, "cannot enable the channel",
		"enable it in Nuntium and assign it to the application, or use a token that may")
}

// explain returns an error that states a remedy. It holds nothing that came from
// the provider.
func (d *driver) explain(r provider.Result, failed, remedy string) error {
	switch {
	case r.Delivery == provider.NeverSent:
		return fmt.Errorf("cannot connect to Nuntium at %s (%s)", d.api.Base, r.Reason())
	case r.Delivery != provider.Answered:
		return fmt.Errorf("no answer from Nuntium at %s (%s)", d.api.Base, r.Reason())
	case r.Status/100 == 4:
		return fmt.Errorf("nuntium: %s: %s (HTTP %d); %s", failed, r.Reason(), r.Status, remedy)
	}
	return fmt.Errorf("nuntium: %s: %s (HTTP %d)", failed, r.Reason(), r.Status)
}

// Status queries the channel. Nuntium leaves out what is false: a disabled
// channel has no "enabled". It shows "connected" only for kinds that keep a
// connection and leaves that out too when it is false, so its absence means
// nothing; only an explicit false does.
func (d *driver) Status(ctx context.Context) channels.Status {
	r := d.api.Do(ctx, provider.Call{Method: http.MethodGet, Path: d.channelPath(), Query: d.accountQuery()})
	if !r.OK() {
		return r.Erring()
	}
	var channel struct {
		Name      string `json:"name"`
		Enabled   bool   `json:"enabled"`
		Connected *bool  `json:"connected"`
	}
	switch {
	case json.Unmarshal(r.Body, &channel) != nil || channel.Name == "":
		return channels.Status{Health: weir.Erring, Reason: "answer not understood"}
	case !channel.Enabled:
		return channels.Status{Health: weir.Down, Reason: "the channel is disabled at the provider"}
	case channel.Connected != nil && !*channel.Connected:
		return channels.Status{Health: weir.Down, Reason: "the channel is not connected"}
	}
	return channels.Status{Health: weir.Up}
}

func (d *driver) accountQuery() url.Values { return url.Values{"account": {d.account}} }

func (d *driver) channelPath() []string { return []string{"api", "channels", d.channel + ".json"} }
