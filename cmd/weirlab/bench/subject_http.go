package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/bench/provider"
	"weir/cmd/weirlab/machine"
)

// httpSubject is a Weir that is used through its API.
type httpSubject struct {
	urls      []string // that get requests in turn
	turn      atomic.Int64
	token     string
	prefix    string // of the channels' names
	channels  int
	calls     bool // the contacts are phone calls
	full      bool // its only channel stays full
	client    *http.Client
	broker    interface{ used() (cost, error) } // nil: its cost is unknown
	asking    time.Duration                     // CPU time that the broker spent on requests for its metrics
	processes []*process                        // of the broker, if there are several
}

// token authorizes API requests to the brokers under test.
const token = "bench"

// ownPrefix is the prefix of channel names on a Weir without other channels.
const ownPrefix = "bench"

func newHTTPSubject(url, token, prefix string, channels int) *httpSubject {
	return &httpSubject{urls: []string{strings.TrimSuffix(url, "/")}, token: token, prefix: prefix, channels: channels, client: &http.Client{
		Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
	}}
}

// url returns the address for the next request.
func (s *httpSubject) url() string {
	return s.urls[int(s.turn.Add(1))%len(s.urls)]
}

// setUp creates the channels.
func (s *httpSubject) setUp(ctx context.Context, p provider.Client, w load.Workload) (err error) {
	s.calls = w.Calls
	if err := s.addWebhook(ctx, p, w); err != nil {
		return err
	}
	if w.Rules {
		defer func() {
			if err == nil {
				err = s.addRules(ctx)
			}
		}()
	}
	return s.each(ctx, func(i int) error {
		return s.put(ctx, p, s.channel(i), strings.TrimPrefix(s.channel(i), s.prefix+"-"), w)
	})
}

// addRules sets a rule of each kind for the people who are contacted, and a limit for the
// channels. None is against any contact: the quiet hours begin in half a day, and the limit has
// no bound of its own on the rate, because a run would measure that bound (the highest is 10,000
// segments a second, and a text of 200 characters has two).
func (s *httpSubject) addRules(ctx context.Context) error {
	quiet := time.Now().UTC().Add(15 * time.Hour) // at the place of the numbers it is three hours later
	err := s.do(ctx, http.MethodPut, "/v1/purposes/default", map[string]any{
		"quiet_hours": map[string]any{"from": quiet.Format("15:04"), "to": quiet.Add(time.Hour).Format("15:04")},
		"caps":        []map[string]any{{"max": 100, "within": "7d"}}, "repeat_guard": "24h", "holidays": []map[string]any{{"date": "2020-12-25"}},
	}, nil)
	if err != nil {
		return err
	}
	names := make([]string, s.channels)
	for i := range names {
		names[i] = s.channel(i)
	}
	return s.do(ctx, http.MethodPut, "/v1/limits/account", map[string]any{"channels": names, "in_flight": 100_000, "new_people_per_day": 1_000_000}, nil)
}

func (s *httpSubject) put(ctx context.Context, p provider.Client, name, application string, w load.Workload) error {
	kind, settings := "nuntium", map[string]any{
		"base_url": p.URL, "account": provider.Account, "application": application, "password": "secret", "channel": application,
	}
	if w.Calls {
		kind, settings = "verboice", map[string]any{"base_url": p.URL, "token": "secret", "channel": application}
	}
	return s.do(ctx, http.MethodPut, "/v1/channels/"+name, map[string]any{
		"type": kind, "capacity": w.Capacity, "paused": w.Closed(), "settings": settings,
	}, nil)
}

// each calls do for every channel, several at a time.
func (s *httpSubject) each(ctx context.Context, do func(i int) error) error {
	const atOnce = 10
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(atOnce, s.channels) {
		all.Go(func() {
			for i := int(next.Add(1)); i <= s.channels && ctx.Err() == nil; i = int(next.Add(1)) {
				if err := do(i - 1); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// remove deletes the channels and cancels their queued contacts.
func (s *httpSubject) remove(ctx context.Context) error {
	var errs []error
	for i := range s.channels {
		for {
			err := s.do(ctx, http.MethodDelete, "/v1/channels/"+s.channel(i)+"?cancel=true", nil, nil)
			if missing := (*refusedError)(nil); errors.As(err, &missing) && missing.status == http.StatusNotFound {
				break
			}
			if !machine.Sleep(ctx, 100*time.Millisecond) { // deletion continues while contacts are in flight
				errs = append(errs, fmt.Errorf("channel %s could not be removed: %w", s.channel(i), errors.Join(err, ctx.Err())))
				break
			}
		}
	}
	return errors.Join(errs...)
}

func (s *httpSubject) channel(i int) string {
	if s.full {
		return s.prefix + backlogChannel
	}
	return s.prefix + "-" + channelName(i)
}

func (s *httpSubject) pause(ctx context.Context, paused bool) error {
	return s.each(ctx, func(i int) error {
		return s.do(ctx, http.MethodPatch, "/v1/channels/"+s.channel(i), map[string]any{"paused": paused}, nil)
	})
}

// apiContact is a contact as the API accepts it.
type apiContact struct {
	Key      string   `json:"key"`
	To       string   `json:"to"`
	Messages []string `json:"messages,omitempty"`
	Call     *apiCall `json:"call,omitempty"`
}

// apiCall is a call as the API accepts it.
type apiCall struct {
	CallbackURL string `json:"callback_url"`
}

// flowURL returns the URL of a call's flow, whose path holds the values of the contact.
func flowURL(id, channel int, began time.Time) string {
	return "http://flow.invalid/" + strings.ReplaceAll(judge.Text(id, channel, began), " ", "-")
}

func (s *httpSubject) Enqueue(ctx context.Context, channel int, ids []int, began time.Time) error {
	out := make([]apiContact, len(ids))
	for i, id := range ids {
		out[i] = apiContact{Key: keyOf(id, began), To: address(id)}
		if s.calls {
			out[i].Call = &apiCall{flowURL(id, channel, began)}
		} else {
			out[i].Messages = []string{judge.Text(id, channel, began)}
		}
	}
	return s.do(ctx, http.MethodPost, "/v1/channels/"+s.channel(channel)+"/contacts", map[string]any{"contacts": out}, nil)
}

// keyOf returns a key that no other run uses.
func keyOf(id int, began time.Time) string { return fmt.Sprintf("%d-%d", began.UnixNano(), id) }

func (s *httpSubject) open(ctx context.Context) (queued, inFlight int, err error) {
	cursor := ""
	for {
		var page struct {
			Channels []struct {
				Channel  string `json:"channel"`
				InFlight int    `json:"in_flight"`
				Queued   int    `json:"queued"`
			} `json:"channels"`
			Next string `json:"next_cursor"`
		}
		if err := s.do(ctx, http.MethodGet, "/v1/channels?limit=500"+cursor, nil, &page); err != nil {
			return 0, 0, err
		}
		for _, c := range page.Channels {
			if strings.HasPrefix(c.Channel, s.prefix+"-") && strings.HasSuffix(c.Channel, backlogChannel) == s.full {
				queued, inFlight = queued+c.Queued, inFlight+c.InFlight
			}
		}
		if page.Next == "" {
			return queued, inFlight, nil
		}
		cursor = "&cursor=" + url.QueryEscape(page.Next)
	}
}

// backlogChannel is the suffix of the name of the channel that is paused and full.
const backlogChannel = "-backlog"

func (s *httpSubject) used(ctx context.Context) (cost, error) {
	if s.processes != nil {
		return s.usedByAll(ctx)
	}
	if s.broker == nil {
		return cost{}, nil
	}
	before, err := s.broker.used()
	if err != nil {
		return cost{}, err
	}
	commits, statements, err := s.store(ctx)
	if err != nil {
		return cost{}, err
	}
	c, err := s.broker.used()
	s.asking += c.cpu - before.cpu
	c.cpu -= s.asking // with many channels, these requests cost more than a minute of idling
	c.commits, c.statements = commits, statements
	return c, err
}

// store reads the work of the store from the metrics.
func (s *httpSubject) store(ctx context.Context) (commits, statements float64, err error) {
	raw, err := s.metrics(ctx, s.urls[0])
	return sample(raw, committed), sample(raw, given), err
}

// Series of the metrics.
const (
	committed = `weir_db_transactions_total{result="committed"}`
	given     = "weir_db_statements_total"
	owns      = "weir_owner"
	ownEpoch  = "weir_owner_epoch"
	cpuTime   = "process_cpu_seconds_total"
)

// metrics reads the metrics of a process.
func (s *httpSubject) metrics(ctx context.Context, base string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	return s.send(r)
}

// sample returns the value of one series; 0 if there is none.
func sample(text []byte, series string) float64 {
	for line := range bytes.Lines(text) {
		var v float64
		if rest, ok := bytes.CutPrefix(line, []byte(series+" ")); ok {
			_, _ = fmt.Sscan(string(rest), &v)
			return v
		}
	}
	return 0
}

func (s *httpSubject) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url()+path, body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	raw, err := s.send(r)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// send makes a request and returns the body of the answer, if that is 2xx.
func (s *httpSubject) send(r *http.Request) ([]byte, error) {
	r.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := s.client.Do(r) //nolint:gosec // the address of the broker under measurement
	if err != nil {
		return nil, fmt.Errorf("the broker: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the broker: %w", err)
	case answer.StatusCode/100 != 2:
		return nil, &refusedError{answer.StatusCode, fmt.Sprintf("the broker answers %s to %s %s: %.300s", answer.Status, r.Method, r.URL.Path, raw)}
	}
	return raw, nil
}

// refusedError is an answer that is not 2xx.
type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string { return e.text }

// stream reads the events of the broker until end is called.
func (s *httpSubject) stream(ctx context.Context) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url()+"/v1/events", nil)
	if err != nil {
		cancel()
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Accept", "text/event-stream")
	answer, err := (&http.Client{Transport: s.client.Transport}).Do(r) //nolint:bodyclose // without a time limit; the reader closes it
	if err != nil {
		cancel()
		return nil, fmt.Errorf("the broker: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}()
	return func() { cancel(); <-ended }, nil
}
