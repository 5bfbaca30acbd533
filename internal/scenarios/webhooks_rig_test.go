package scenarios_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"
	delivery "weir/actors/events"
	"weir/events"
	"weir/internal/outbound"
	"weir/internal/polling"
	"weir/persistence"
	"weir/persistence/testmysql"
	"weir/web"
	"weir/web/api"
)

// hooks are the webhooks of a world. nil: there is no delivery.
type hooks struct {
	*receivers
	now *deliverer // of the process that runs
}

// start starts the delivery of a process, and connects the API to it.
func (x *hooks) start(w *world, o *web.Options) {
	if x == nil {
		return
	}
	w.Helper()
	x.now = &deliverer{Store: w.store, r: x.receivers, w: w}
	h := &delivery.Webhooks{Store: x.now, Calls: x.now, Mask: api.MaskedEvent}
	var err error
	x.now.system, err = delivery.Start(w.Context(), delivery.Options{
		Store: x.now, Webhooks: h, Logger: w.logger(), Metrics: delivery.NewMetrics(w.metrics),
		PollEvery: 200 * time.Millisecond, FirstPause: 50 * time.Millisecond, LastPause: 500 * time.Millisecond,
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(x.now.crash)
	o.Webhooks, o.TestWebhook = w.store, h.Test
}

func (x *hooks) crash() {
	if x != nil && x.now != nil {
		x.now.crash()
	}
}

// hookWorld returns a world that delivers to webhooks.
func hookWorld(t *testing.T) (*world, *receivers) {
	t.Helper()
	w, r := newWorld(t, testmysql.URL(t)), &receivers{}
	w.hooks = &hooks{receivers: r}
	w.start()
	return w, r
}

// hook creates a webhook whose address names it.
func (w *world) hook(name string, types ...string) (path string) {
	w.Helper()
	return w.want(http.StatusCreated, "POST", "/v1/webhooks", fields{"url": hookURL(name), "types": types}).Header.Get("Location")
}

func hookURL(name string) string { return "https://" + name + ".test/" }

// goes takes a contact from its acceptance to its end.
func (w *world) goes(channel, key string) (id string) {
	w.Helper()
	ids := w.accept(channel, sms(key))
	w.goAll(ids)
	return ids[key]
}

// goAll takes accepted contacts to their end.
func (w *world) goAll(ids map[string]string) {
	w.Helper()
	for _, id := range ids {
		w.becomes(id, "active")
	}
	for key := range ids {
		w.finish(key)
	}
	for _, id := range ids {
		w.done(id)
	}
}

// inTime waits until a condition holds, at most a minute of real time: it may take a
// fail-over, and this machine may be busy.
func (w *world) inTime(what string, cond func() bool) {
	w.Helper()
	if !polling.Until(time.Minute, 10*time.Millisecond, cond) {
		w.Fatalf("it never came to pass: %s", what)
	}
}

// deliverer is the store and the network as the delivery of one process has them.
type deliverer struct {
	*persistence.Store
	r      *receivers
	w      *world
	system *delivery.System
}

var errDying = errors.New("the process is dying")

func (d *deliverer) isDying() bool {
	d.r.mu.Lock()
	defer d.r.mu.Unlock()
	return d.r.dying == d
}

// crash ends the delivery at once. Nothing that it still wants to write reaches the store.
func (d *deliverer) crash() {
	d.r.goOn()
	d.r.mu.Lock()
	d.r.dying = d
	d.r.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = d.system.Close(ctx)
}

// AdoptReplays implements events.WebhookDelivery.
func (d *deliverer) AdoptReplays(ctx context.Context, id string, now time.Time) error {
	if d.isDying() {
		return errDying
	}
	return d.Store.AdoptReplays(ctx, id, now)
}

// Advance implements delivery.Store.
func (d *deliverer) Advance(ctx context.Context, s events.Step) error {
	if d.isDying() {
		return errDying
	}
	r := d.r
	r.mu.Lock()
	wait := r.goesOn
	held := r.stalled == d
	if held {
		r.writing++
	}
	r.mu.Unlock()
	if !held {
		return d.Store.Advance(ctx, s)
	}
	<-wait
	ctx = context.WithoutCancel(ctx) // it cannot be called back
	err := d.Store.Advance(ctx, s)
	p, errRead := d.Store.Progress(ctx, s.Receiver)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.late = append(r.late, lateWrite{errors.Join(err, errRead), s.Cursor, p.Cursor})
	return err
}

// Webhooks implements events.WebhookDelivery.
func (d *deliverer) Webhooks(ctx context.Context, after string, limit int) ([]events.Webhook, error) {
	list, err := d.Store.Webhooks(ctx, after, limit)
	if err == nil {
		d.r.mu.Lock()
		defer d.r.mu.Unlock()
		d.r.lists = append(d.r.lists, hookList{d, list})
	}
	return list, err
}

// Do implements delivery.Caller.
func (d *deliverer) Do(ctx context.Context, _, url string, header http.Header, body []byte) (outbound.Answer, error) {
	var event fields
	if err := json.Unmarshal(body, &event); err != nil {
		d.w.Errorf("the body is %s", body)
	}
	c := hookCall{by: d, url: url, id: header.Get("Webhook-Id")}
	c.contact, c.text = d.w.contactEvent(event)
	status, answered := d.r.receive(c)
	select {
	case <-answered:
		return outbound.Answer{Status: status}, nil
	case <-ctx.Done():
		return outbound.Answer{}, &outbound.Error{Kind: outbound.Canceled, Message: "canceled"}
	}
}
