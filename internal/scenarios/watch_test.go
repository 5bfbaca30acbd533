package scenarios_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"

	"weir/channels"
)

// metric returns the sum of the series of a family that have these labels, given as
// alternating names and values.
func (w *world) metric(name string, labels ...string) float64 {
	w.Helper()
	families, err := w.metrics.Gather()
	if err != nil {
		w.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if has(m, labels) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func has(m *dto.Metric, labels []string) bool {
	for i := 0; i+1 < len(labels); i += 2 {
		found := false
		for _, l := range m.GetLabel() {
			found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
		}
		if !found {
			return false
		}
	}
	return true
}

// callbacks returns how many callback reports got this verdict.
func (w *world) callbacks(verdict string) int {
	w.Helper()
	return int(w.metric("weir_callbacks_total", "result", verdict))
}

// expectInFlight fails the test unless a channel has this many slots in flight by Weir's own
// count and by the provider's.
func (w *world) expectInFlight(channel string, want int) {
	w.Helper()
	now, _ := w.lab.use(channel)
	if got := w.figure(channel, "in_flight"); got != want || now != want {
		w.Fatalf("channel %s has %d slots in flight, %d at the provider; want %d", channel, got, now, want)
	}
}

// inFlight waits until Weir counts this many slots in flight.
func (w *world) inFlight(channel string, want int) {
	w.Helper()
	w.until(fmt.Sprintf("%d slots in flight", want), func() bool { return w.figure(channel, "in_flight") == want })
}

// becomes waits until a contact is in a state.
func (w *world) becomes(id, state string) map[string]any {
	w.Helper()
	var c map[string]any
	w.until("contact "+id+" is "+state, func() bool { c = w.contact(id); return c["state"] == state })
	return c
}

// attempts lists the attempts of a contact.
func (w *world) attempts(id string) []map[string]any {
	w.Helper()
	var list []map[string]any
	for _, a := range w.contact(id)["attempts"].([]any) {
		list = append(list, a.(map[string]any))
	}
	return list
}

// patch changes a channel.
func (w *world) patch(channel string, change fields) {
	w.Helper()
	w.want(200, "PATCH", "/v1/channels/"+channel, change)
}

// within fails the test if do takes longer than the limit, on the clock of the
// world: inside a bubble that is exact.
func (w *world) within(limit time.Duration, what string, do func()) {
	w.Helper()
	begun := time.Now()
	do()
	if took := time.Since(begun); took > limit {
		w.Fatalf("%s took %v; want at most %v", what, took, limit)
	}
}

// quick returns the longest that Weir may take for work that needs no provider: next
// to nothing in a bubble, and some seconds on a busy machine.
func (w *world) quick() time.Duration {
	if w.virtual {
		return 50 * time.Millisecond
	}
	return 3 * time.Second
}

// speaks waits until the lab was called for a contact and returns its latest
// attempt.
func (w *world) speaks(key string) labAttempt {
	w.Helper()
	w.until(key+" reaches the provider", func() bool { return w.sends(key) > 0 })
	return w.lab.attempt(key)
}

// sends counts the calls of Send for one contact.
func (w *world) sends(key string) int {
	n := 0
	for _, k := range w.lab.sentKeys() {
		if k == key {
			n++
		}
	}
	return n
}

// expectNoDuplicates fails the test if a contact was sent twice.
func (w *world) expectNoDuplicates() {
	w.Helper()
	seen := map[string]bool{}
	for _, k := range w.lab.sentKeys() {
		if seen[k] {
			w.Errorf("contact %s was sent twice", k)
		}
		seen[k] = true
	}
}

// askedKeys lists the keys of the contacts that the lab was asked about.
func (l *lab) askedKeys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.asked...)
}

// gate holds calls of the lab until it is opened or their process crashes.
type gate struct {
	open func()
	wait func(l *lab, ctx context.Context)
}

func newGate() gate {
	opened := make(chan struct{})
	return gate{
		open: sync.OnceFunc(func() { close(opened) }),
		wait: func(l *lab, ctx context.Context) {
			select {
			case <-opened:
			case <-l.crashed():
			case <-ctx.Done():
			}
		},
	}
}

// lost returns the result of a dispatch whose answer did not arrive.
func lost() channels.SendResult {
	return channels.SendResult{Status: channels.Unclear, Reason: "timeout", ChannelFault: true}
}

// calls returns n contacts for a channel of type labcall.
func calls(prefix string, n int) []fields {
	var list []fields
	for i := range n {
		key := fmt.Sprintf("%s-%04d", prefix, i+1)
		list = append(list, fields{"key": key, "to": "+15550100", "call": fields{"callback_url": callURL(key)}})
	}
	return list
}

// callURL returns the callback URL by which the lab identifies a call.
func callURL(key string) string { return "http://flow.test/" + key }
