package events

import (
	"cmp"
	"context"
	"errors"
	"time"

	"weir/events"
)

// webhooksReceiver names all webhooks together in metrics.
const webhooksReceiver = "webhooks"

const (
	webhookPage = 200
	// extraDeliveries is how many deliveries there may be beyond one for each webhook.
	extraDeliveries = 128
	upkeepEvery     = time.Second

	// Bounds of one webhook.
	webhookConcurrency = 8   // max concurrent deliveries
	webhookWindow      = 64  // events that are read ahead
	webhookDeferred    = 250 // max deferred events
)

// Webhooks configures the delivery to webhooks that clients created.
type Webhooks struct {
	Store        events.WebhookDelivery
	Calls        Caller
	Mask         func(events.Event) events.Event // masks phone numbers
	Disabled     func(id, reason string)         // called after Weir has disabled one; nil: nothing
	DisableAfter time.Duration                   // how long one may fail; default 5 days
}

func (h *Webhooks) check() error {
	if h.Store == nil || h.Calls == nil || h.Mask == nil {
		return errors.New("delivery: webhooks need Store, Calls and Mask")
	}
	h.DisableAfter = cmp.Or(h.DisableAfter, 5*24*time.Hour)
	return nil
}

// dispatcher delivers to the webhooks: one runner for each that is enabled, which begins
// anew when the webhook changes.
type dispatcher struct {
	o    *Options
	h    *Webhooks
	wake <-chan struct{}
	feed *feed
	pool chan struct{} // one token for each delivery beyond the first of a webhook

	running map[string]*running
	ended   []*running // they still end
	states  map[string]int
}

// running is a runner.
type running struct {
	*endpoint
	stop context.CancelFunc
	done chan struct{}
}

func newDispatcher(o *Options, wake <-chan struct{}) *dispatcher {
	return &dispatcher{
		o: o, h: o.Webhooks, wake: wake, feed: newFeed(o), pool: make(chan struct{}, extraDeliveries),
		running: map[string]*running{},
	}
}

// run delivers until ctx ends, then waits for the runners.
func (d *dispatcher) run(ctx, last context.Context) {
	ctx, stop := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	unhook := d.h.Store.OnWebhooks(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		d.feed.run(ctx, d.wake, d.o.PollEvery)
	}()
	defer d.finish(last, reading)
	defer stop()
	defer unhook()
	upkeep := time.NewTicker(upkeepEvery)
	defer upkeep.Stop()
	var readAt time.Time // the webhooks were read
	for {
		if now := time.Now(); now.Sub(readAt) >= d.o.PollEvery {
			if err := d.reconcile(ctx, last, !readAt.IsZero()); err == nil {
				readAt = now
			} else if ctx.Err() == nil {
				d.o.Logger.Warn("webhooks read failed; retrying", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			// Due at once, and not zero, which means that they were never read.
			readAt = readAt.Add(-2 * d.o.PollEvery)
		case <-upkeep.C:
			d.upkeep(ctx)
		}
	}
}

// finish waits for the runners, and stores what they left.
func (d *dispatcher) finish(last context.Context, reading <-chan struct{}) {
	for _, r := range d.running { // their context has ended
		d.ended = append(d.ended, r)
	}
	clear(d.running)
	<-reading
	for _, r := range d.ended {
		<-r.done
	}
	if last.Err() == nil {
		d.upkeep(last)
	}
	receiverMeter{d.o.Metrics, webhooksReceiver}.reset()
	d.o.Metrics.webhooks.Reset()
}

// reconcile makes the runners agree with the stored webhooks. changed: not for the first
// time.
func (d *dispatcher) reconcile(ctx, last context.Context, changed bool) error {
	known := map[string]bool{}
	var types []string
	d.states = map[string]int{"disabled": 0, "paused": 0}
	var start []events.Webhook
	for after := ""; ; {
		list, err := d.h.Store.Webhooks(ctx, after, webhookPage)
		if err != nil {
			return err
		}
		for _, w := range list {
			after = w.ID
			switch {
			case w.Enabled:
				known[w.ID] = true
				types = append(types, matchingTypes(&w)...)
				start = append(start, w)
			case w.Disabled != "":
				d.states["disabled"]++
			default:
				d.states["paused"]++
			}
		}
		if len(list) < webhookPage {
			break
		}
	}
	if err := d.feed.want(ctx, types); err != nil {
		return err
	}
	for id, r := range d.running {
		if !known[id] {
			r.stop()
			d.ended = append(d.ended, r)
			delete(d.running, id)
		}
	}
	for _, w := range start {
		d.start(ctx, last, w, changed)
	}
	return nil
}

// matchingTypes returns the types of events that a webhook gets.
func matchingTypes(w *events.Webhook) (list []string) {
	for _, name := range events.Types() {
		if w.WantsType(name) {
			list = append(list, name)
		}
	}
	return list
}

// start starts the runner of a webhook, unless it runs. It begins after a former one has
// ended.
func (d *dispatcher) start(ctx, last context.Context, w events.Webhook, changed bool) {
	before := d.running[w.ID]
	if before != nil && before.w.Generation == w.Generation {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	p := &endpoint{o: d.h, d: d, w: w, anew: changed, failing: w.FailingSince, stored: w.FailingSince}
	p.sub = &subscription{types: matchingTypes(&w), wants: func(e *fed) bool { return wantsEvent(&w, e) }, wake: make(chan struct{}, 1)}
	r := &running{endpoint: p, stop: stop, done: make(chan struct{})}
	var former []*running // runners of the same webhook that still end
	for _, e := range d.ended {
		if e.w.ID == w.ID {
			former = append(former, e)
		}
	}
	if before != nil {
		// The new one waits for it below: two runners would write the same progress.
		before.stop()
		d.ended = append(d.ended, before)
		former = append(former, before)
	}
	d.running[w.ID] = r
	go func() {
		defer close(r.done)
		defer stop()
		for _, f := range former {
			<-f.done
		}
		d.deliver(ctx, last, p)
	}()
}

// deliver runs a webhook's runner.
func (d *dispatcher) deliver(ctx, last context.Context, p *endpoint) {
	d.feed.join(p.sub)
	defer d.feed.leave(p.sub)
	// What clients want replayed becomes part of the progress.
	if persist(ctx, func() error { return p.o.Store.AdoptReplays(ctx, p.w.ID, time.Now()) }) != nil {
		return
	}
	receiver := p.receiver()
	(&runner{o: d.o, r: &receiver, wake: p.sub.wake}).run(ctx, last)
}

// upkeep stores tries and the health of webhooks, disables webhooks that failed for too long, and sets
// the gauges.
func (d *dispatcher) upkeep(ctx context.Context) {
	still := d.ended[:0]
	var tries []events.Try
	oldest, deferred, failing := 0.0, 0, 0
	look := func(r *running) {
		r.mu.Lock()
		tries = append(tries, r.tries...)
		r.tries = nil
		oldest, deferred = max(oldest, r.oldest), deferred+r.deferred
		if !r.failing.IsZero() {
			failing++
		}
		r.mu.Unlock()
	}
	for _, r := range d.ended {
		select {
		case <-r.done:
		default:
			still = append(still, r)
		}
		look(r)
	}
	d.ended = still
	for _, r := range d.running {
		look(r)
		d.storeHealth(ctx, r)
	}
	// Tries are for people to read. If they cannot be stored, they are dropped, and deliveries go
	// on.
	if err := d.h.Store.AddTries(ctx, tries); err != nil {
		d.o.Logger.Warn("tries of webhooks not stored", "tries", len(tries), "error", err)
	}
	receiverMeter{d.o.Metrics, webhooksReceiver}.gauge(oldest, deferred)
	for state, n := range d.states {
		d.o.Metrics.webhooks.WithLabelValues(state).Set(float64(n))
	}
	d.o.Metrics.webhooks.WithLabelValues("failing").Set(float64(failing))
	d.o.Metrics.webhooks.WithLabelValues("enabled").Set(float64(len(d.running) - failing))
}

// storeHealth stores since when a webhook fails, or disables it. On an error it is tried
// again.
func (d *dispatcher) storeHealth(ctx context.Context, r *running) {
	r.mu.Lock()
	failing, stored, reason := r.failing, r.stored, r.disable
	r.mu.Unlock()
	if reason != "" {
		if err := d.h.Store.DisableWebhook(ctx, r.w, reason, time.Now()); err != nil {
			d.o.Logger.Warn("webhook not disabled; retrying", "webhook", r.w.ID, "error", err)
			return
		}
		d.o.Logger.Error("webhook disabled", "webhook", r.w.ID, "reason", reason)
		if d.h.Disabled != nil {
			d.h.Disabled(r.w.ID, reason)
		}
		r.mu.Lock()
		r.disable = ""
		r.mu.Unlock()
		return
	}
	if failing.Equal(stored) {
		return
	}
	if err := d.h.Store.SetFailing(ctx, r.w.ID, failing); err != nil {
		return
	}
	r.mu.Lock()
	r.stored = failing
	r.mu.Unlock()
	if failing.IsZero() {
		d.o.Logger.Info("webhook works again", "webhook", r.w.ID)
	} else {
		d.o.Logger.Warn("webhook failing", "webhook", r.w.ID)
	}
}
