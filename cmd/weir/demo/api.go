package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir"
)

// secret makes a password or token for one run.
func secret() string { return strings.ToLower(rand.Text()) }

// api is the broker's HTTP API as a client sees it.
type api struct {
	base  string
	token string
	http  *http.Client
}

func newAPI(base string) *api {
	return &api{base: base, token: secret(), http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: 10 * time.Second,
	}}
}

// refusedError is an answer that another try would not change.
type refusedError struct {
	status int
	detail string
}

func (r *refusedError) Error() string {
	return fmt.Sprintf("the broker answered %d: %s", r.status, r.detail)
}

// do makes a request. With a refusedError the broker has answered; with any
// other error nobody knows whether it did what it was asked.
func (a *api) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	text, err := a.raw(ctx, method, path, body)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// raw makes a request and gives the body of a good answer.
func (a *api) raw(ctx context.Context, method, path string, body io.Reader) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.base+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := a.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode >= 400 && response.StatusCode < 500 && response.StatusCode != http.StatusTooManyRequests:
		return nil, &refusedError{response.StatusCode, excerpt(text)}
	case response.StatusCode >= 300:
		return nil, fmt.Errorf("the broker answered %d", response.StatusCode)
	}
	return text, nil
}

func excerpt(text []byte) string {
	const most = 500
	return strings.TrimSpace(strings.ToValidUTF8(string(text[:min(len(text), most)]), ""))
}

// create makes a channel.
func (a *api) create(ctx context.Context, c *channel, p *provider) error {
	return a.do(ctx, http.MethodPut, "/v1/channels/"+c.name, map[string]any{
		"type": strings.ToLower(c.provider), "name": "demo", "capacity": c.capacity, "settings": p.settings,
	}, nil)
}

// accepted is the answer about one contact of a batch.
type accepted struct {
	ID        string `json:"id"`
	Key       string `json:"key"`
	Duplicate bool   `json:"duplicate"`
}

// hand hands a batch over.
func (a *api) hand(ctx context.Context, channel string, batch []Contact) ([]accepted, error) {
	var body struct {
		Contacts []map[string]any `json:"contacts"`
	}
	for i := range batch {
		body.Contacts = append(body.Contacts, document(&batch[i]))
	}
	var answer struct {
		Contacts []accepted `json:"contacts"`
	}
	if err := a.do(ctx, http.MethodPost, "/v1/channels/"+channel+"/contacts", body, &answer); err != nil {
		return nil, err
	}
	if len(answer.Contacts) != len(batch) {
		return nil, &refusedError{http.StatusAccepted, fmt.Sprintf("%d contacts for %d", len(answer.Contacts), len(batch))}
	}
	return answer.Contacts, nil
}

// document is a contact as the API takes it.
func document(c *Contact) map[string]any {
	d := map[string]any{"key": c.Key, "to": c.To, "priority": c.Priority}
	if c.Survey != "" {
		d["survey"] = c.Survey
	}
	if c.Channel == calls {
		var said strings.Builder
		_ = xml.EscapeText(&said, []byte(c.Texts[0]))
		d["call"] = map[string]any{"twiml": "<Response><Say>" + said.String() + "</Say><Hangup/></Response>"}
	} else {
		d["messages"] = c.Texts
	}
	return d
}

// figures are the live numbers of a channel.
type figures struct {
	InFlight int   `json:"in_flight"` // slots
	Sending  int   `json:"sending"`
	Active   int   `json:"active"`
	Unknown  int   `json:"unknown"`
	Queued   int64 `json:"queued"`
}

// open is how many contacts are not done.
func (f figures) open() int { return f.Sending + f.Active + f.Unknown + int(f.Queued) }

func (a *api) figures(ctx context.Context, channel string) (figures, error) {
	var f figures
	err := a.do(ctx, http.MethodGet, "/v1/channels/"+channel, nil, &f)
	return f, err
}

// page is one page of contacts.
type page struct {
	Contacts []struct {
		ID      string       `json:"id"`
		Outcome weir.Outcome `json:"outcome"`
	} `json:"contacts"`
	Next string `json:"next_cursor"`
}

// holds tells whether the broker's store holds a contact in one of these states.
func (a *api) holds(ctx context.Context, channel, states string) (bool, error) {
	var p page
	q := url.Values{"channel": {channel}, "state": {states}, "limit": {"1"}}
	err := a.do(ctx, http.MethodGet, "/v1/contacts?"+q.Encode(), nil, &p)
	return len(p.Contacts) > 0, err
}

// ends lists how every contact of a channel has ended.
func (a *api) ends(ctx context.Context, channel string) (map[string]weir.Outcome, error) {
	ends := map[string]weir.Outcome{}
	q := url.Values{"channel": {channel}, "limit": {"1000"}}
	for {
		var p page
		if err := a.do(ctx, http.MethodGet, "/v1/contacts?"+q.Encode(), nil, &p); err != nil {
			return nil, err
		}
		for _, c := range p.Contacts {
			ends[c.ID] = c.Outcome
		}
		if p.Next == "" {
			return ends, nil
		}
		q.Set("cursor", p.Next)
	}
}

// ready asks whether the broker works.
func (a *api) ready(ctx context.Context) bool {
	return a.do(ctx, http.MethodGet, "/readyz", nil, nil) == nil
}

// settled reads how many contacts the collector of this process has settled.
func (a *api) settled(ctx context.Context) int {
	text, err := a.raw(ctx, http.MethodGet, "/metrics", nil)
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
