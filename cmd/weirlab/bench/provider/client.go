package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"weir/cmd/weirlab/bench/judge"
)

// Client is a run's client of the provider.
type Client struct{ URL string }

// Reset clears the record, and announces the next run.
func (p Client) Reset(ctx context.Context, r Run) error {
	return p.do(ctx, "", http.MethodPost, "/reset", r, nil)
}

// Mark begins the timeline of arrivals.
func (p Client) Mark(ctx context.Context) error {
	return p.do(ctx, "", http.MethodPost, "/mark", nil, nil)
}

// Seen returns what the provider has seen so far.
func (p Client) Seen(ctx context.Context) (s judge.Seen, err error) {
	return s, p.do(ctx, "", http.MethodGet, "/seen", nil, &s)
}

// Arrived returns the contacts in the order of their arrival.
func (p Client) Arrived(ctx context.Context) (ids []int, err error) {
	return ids, p.do(ctx, "", http.MethodGet, "/arrived", nil, &ids)
}

// Announce sets the address at the provider to which an application's acks go.
func (p Client) Announce(ctx context.Context, application, ack string) error {
	return p.do(ctx, application, http.MethodPut, "/api/applications/me", map[string]any{"delivery_ack": map[string]string{"method": "post", "url": ack}}, nil)
}

// do makes a request, as an application unless that is empty.
func (p Client) do(ctx context.Context, application, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, p.URL+path, body)
	if err != nil {
		return err
	}
	if application != "" {
		r.SetBasicAuth(Account+"/"+application, "secret")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("the provider: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the provider answers %s", answer.Status)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(out)
}
