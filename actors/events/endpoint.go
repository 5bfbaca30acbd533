package events

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"weir/events"
	"weir/internal/outbound"
	"weir/internal/webhooksign"
)

// quick is how soon a webhook has to answer to get more than one delivery at a time.
const quick = time.Second

// maxDemanded is the max time for which a receiver may demand to be left alone.
const maxDemanded = 6 * time.Hour

// endpoint is one webhook of a generation to which this process delivers.
type endpoint struct {
	o    *Webhooks
	d    *dispatcher
	w    events.Webhook
	sub  *subscription
	anew bool // it was changed: retry at once

	mu       sync.Mutex
	tries    []events.Try // not stored yet
	fast     bool         // the latest answer was quick, and 2xx
	failing  time.Time    // since when; zero: it works
	stored   time.Time    // failing, as it is in the store
	disable  string       // the reason to do so
	oldest   float64
	deferred int
}

// post delivers an event to a webhook. The status is 0 if there was no answer.
func (h *Webhooks) post(ctx context.Context, w *events.Webhook, e events.Event) (status int, err error) {
	id := eventID(&e)
	if !w.PII {
		e = h.Mask(e)
	}
	body, err := json.Marshal(webhooksign.Payload{Type: e.Type, Timestamp: e.At.UTC().Format(time.RFC3339Nano), ID: id, Subject: e.Subject, Source: e.Source, Data: data(e)})
	if err != nil {
		return 0, err
	}
	now := time.Now()
	// Standard Webhooks wants an id that is equal for all tries of one delivery; two webhooks of
	// one receiver get different ones.
	header, err := webhooksign.Header(id+"_"+w.ID, now, body, w.Secrets(now)...)
	if err != nil {
		return 0, err
	}
	answer, err := h.Calls.Do(ctx, http.MethodPost, w.URL, header, body)
	return answer.Status, statusOf(answer, err)
}

// demandedPause is how long a receiver wants to be left alone.
func demandedPause(err error) time.Duration {
	answer, ok := errors.AsType[statusError](err)
	switch {
	case !ok:
		return 0
	case answer.status == http.StatusGone: // it will be disabled
		return time.Minute
	}
	return min(answer.after, maxDemanded)
}

// classOf names the kind of a failure; empty: there was none.
func classOf(err error) string {
	if err == nil {
		return ""
	}
	if kind := outbound.KindOf(err); kind != "" {
		return string(kind)
	}
	if _, ok := errors.AsType[statusError](err); ok {
		return "status"
	}
	return "internal"
}

// tryOf describes a try.
func tryOf(w *events.Webhook, e *events.Event, at time.Time, took time.Duration, status int, err error) events.Try {
	return events.Try{Webhook: w.ID, At: at, Event: e.ID, Type: e.Type, Status: status, Duration: took, Error: classOf(err)}
}

// orderOf returns the key of events that stay in order.
func orderOf(e events.Event) string {
	if e.Source == "router" {
		return jobOf(e)
	}
	return e.Subject
}

// receiver returns the receiver of the webhook.
func (p *endpoint) receiver() Receiver {
	return Receiver{
		Name: p.w.Receiver(), Order: orderOf, MaxDeferred: webhookDeferred, hook: p, concurrency: webhookConcurrency, window: webhookWindow,
	}
}

func (p *endpoint) read(ctx context.Context, after int64) (events.Chunk, error) {
	return p.d.feed.read(ctx, p.sub, after, webhookWindow)
}

// restored makes retries due if the webhook was changed.
func (p *endpoint) restored(progress *events.Progress, now time.Time) {
	for i := range progress.Deferred {
		if p.anew && progress.Deferred[i].NextAt.After(now) {
			progress.Deferred[i].NextAt = now
		}
	}
}

// tried records a try and what follows from it.
func (p *endpoint) tried(r result, now time.Time, abandoned bool, streak int) {
	t := tryOf(&p.w, r.event, r.at, now.Sub(r.at), r.status, r.err)
	t.Abandoned = abandoned
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tries = append(p.tries, t); len(p.tries) > events.KeptTries {
		p.tries = slices.Delete(p.tries, 0, 1)
	}
	p.fast = r.err == nil && t.Duration < quick
	switch {
	// Standard Webhooks: 410 asks the sender to disable the endpoint.
	case t.Status == http.StatusGone:
		p.disable = events.DisabledGone
	case r.err == nil:
		p.failing = time.Time{}
	case p.failing.IsZero() && streak >= maxStreak:
		p.failing = now
	case !p.failing.IsZero() && now.Sub(p.failing) >= p.o.DisableAfter:
		p.disable = events.DisabledFailing
	}
}

// mayShare reports whether the webhook may have more than one delivery at a time.
func (p *endpoint) mayShare() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fast
}

// count implements meter.
func (p *endpoint) count(result string, n int) {
	receiverMeter{p.d.o.Metrics, webhooksReceiver}.count(result, n)
}

// gauge implements meter. The dispatcher shows the figures of all webhooks as one.
func (p *endpoint) gauge(oldest float64, deferred int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.oldest, p.deferred = oldest, deferred
}

// reset implements meter.
func (p *endpoint) reset() { p.gauge(0, 0) }

// takeSlot reports whether a delivery may start. Each webhook may always have one, so that
// no other one can hold it up; a webhook that answers quickly gets more, from a pool.
func (x *runner) takeSlot() bool {
	if x.r.hook == nil || x.extra >= x.schedule.inFlight {
		return true // its first one, or taken already
	}
	if !x.r.hook.mayShare() {
		return false
	}
	select {
	case x.r.hook.d.pool <- struct{}{}:
		x.extra++
		return true
	default:
		return false
	}
}

// returnSlots returns the slots of the pool beyond a number.
func (x *runner) returnSlots(keep int) {
	for ; x.extra > max(0, keep); x.extra-- {
		<-x.r.hook.d.pool
	}
}

// Test sends the test event to a webhook, and returns how that went.
func (h *Webhooks) Test(ctx context.Context, w events.Webhook) (events.Try, error) {
	at := time.Now()
	e := events.Event{
		Type: events.WebhookTest, Source: events.SourceWebhooks, Subject: w.Receiver(), At: at, Data: json.RawMessage(`{"webhook":"` + w.ID + `"}`),
	}
	status, err := h.post(ctx, &w, e)
	if ctx.Err() != nil {
		return events.Try{}, ctx.Err()
	}
	t := tryOf(&w, &e, at, time.Since(at), status, err)
	return t, h.Store.AddTries(ctx, []events.Try{t})
}
