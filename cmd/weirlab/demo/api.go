package demo

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/client"
)

// api is the demo's client of the broker's HTTP API. It makes each request once and
// does not retry unanswered ones.
type api struct {
	*client.Client
	base  string
	token string
}

func newAPI(base string) (*api, error) {
	a := &api{base: base, token: secret()}
	var err error
	a.Client, err = client.New(client.Options{URL: base, Token: a.token, MaxTries: 1, Timeout: 10 * time.Second})
	return a, err
}

// create creates a channel.
func (a *api) create(ctx context.Context, c *channel, p *provider) error {
	_, err := a.PutChannel(ctx, c.name, client.ChannelBody{
		Type: strings.ToLower(c.provider), Name: "demo", Capacity: c.capacity, Settings: p.settings,
	}, client.PutChannelParams{})
	return err
}

// figures are the live numbers of a channel.
type figures struct {
	InFlight int // slots
	Sending  int
	Active   int
	Unknown  int
	Queued   int64
}

// open returns the number of contacts that are not done.
func (f figures) open() int { return f.Sending + f.Active + f.Unknown + int(f.Queued) }

func (a *api) figures(ctx context.Context, channel string) (figures, error) {
	v, err := a.GetChannel(ctx, channel)
	if err != nil {
		return figures{}, err
	}
	return figures{v.InFlight, v.Sending, v.Active, v.Unknown, int64(v.Queued)}, nil
}

// contact holds the fields of a contact that the demo checks.
type contact struct {
	ID       string
	To       string
	Size     int
	Priority string
	Outcome  weir.Outcome
}

// holds reports whether the broker's store holds a contact in one of these states.
func (a *api) holds(ctx context.Context, channel, states string) (bool, error) {
	page, err := a.ListContacts(ctx, client.ListContactsParams{Channel: channel, State: states, Limit: 1})
	return err == nil && len(page.Contacts) > 0, err
}

// contacts lists all contacts of a channel.
func (a *api) contacts(ctx context.Context, channel string) ([]contact, error) {
	var all []contact
	for c, err := range a.Contacts(ctx, client.ListContactsParams{Channel: channel}) {
		if err != nil {
			return nil, err
		}
		all = append(all, contact{c.ID, c.To, c.Size, c.Priority, weir.Outcome(c.Outcome)})
	}
	return all, nil
}

// state returns a survey's state and its cause.
func (a *api) state(ctx context.Context, survey string) (state, cause string, err error) {
	s, err := a.GetSurvey(ctx, survey)
	if err != nil {
		return "", "", err
	}
	return s.State, s.Cause, nil
}

// ready reports whether the broker is ready.
func (a *api) ready(ctx context.Context) bool {
	_, err := a.Raw(ctx, client.Request{Method: http.MethodGet, Path: "/readyz"})
	return err == nil
}

// settled returns how many contacts the reconciler of this process has reconciled.
func (a *api) settled(ctx context.Context) int {
	text, err := a.Raw(ctx, client.Request{Method: http.MethodGet, Path: "/metrics"})
	if err != nil {
		return 0
	}
	total := 0.0
	for line := range strings.Lines(string(text)) {
		if _, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok && strings.HasPrefix(line, "weir_gc_contacts_reconciled_total{") {
			n, _ := strconv.ParseFloat(value, 64)
			total += n
		}
	}
	return int(total)
}
