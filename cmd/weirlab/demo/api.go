package demo

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/client"
)

// api is the demo's client of the broker's HTTP API. It makes each request once and
// does not retry unanswered ones.
type api struct {
	*client.Client
	token string
}

func newAPI(base, token string) (*api, error) {
	c, err := client.New(client.Options{URL: base, Token: token, MaxTries: 1, Timeout: 10 * time.Second})
	return &api{c, token}, err
}

// create creates a channel.
func (a *api) create(ctx context.Context, c *channel, p *provider) error {
	_, err := a.PutChannel(ctx, c.name, client.ChannelBody{
		Type: strings.ToLower(c.provider), Name: "demo", Capacity: c.capacity, Settings: p.settings,
	}, client.PutChannelParams{})
	return err
}

// holds reports whether the broker's store holds a contact in one of these states.
func (a *api) holds(ctx context.Context, channel, states string) (bool, error) {
	page, err := a.ListContacts(ctx, client.ListContactsParams{Channel: channel, State: states, Limit: 1})
	return err == nil && len(page.Contacts) > 0, err
}

// moving reports whether the channel for messages has a contact that is not done and that no rule holds up.
func (a *api) moving(ctx context.Context) (bool, error) {
	page, err := a.ListContacts(ctx, client.ListContactsParams{Channel: texts, State: "queued,sending,active,unknown", Limit: 500})
	return err == nil && slices.ContainsFunc(page.Contacts, func(c client.ContactView) bool { return c.Rule == "" }), err
}

// contacts lists all contacts of a channel.
func (a *api) contacts(ctx context.Context, channel string) ([]client.ContactView, error) {
	var all []client.ContactView
	for c, err := range a.Contacts(ctx, client.ListContactsParams{Channel: channel}) {
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// settled returns how many contacts the reconciler of this process has reconciled.
func (a *api) settled(ctx context.Context) int {
	text, err := a.Raw(ctx, client.Request{Method: http.MethodGet, Path: "/metrics"})
	if err != nil {
		return 0
	}
	total := 0.0
	for line := range strings.Lines(string(text)) {
		if _, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok && strings.HasPrefix(line, "weir_reconciler_contacts_total{") {
			n, _ := strconv.ParseFloat(value, 64)
			total += n
		}
	}
	return int(total)
}
