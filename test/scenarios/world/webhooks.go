package world

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	delivery "weir/actors/events"
	"weir/events"
	"weir/internal/outbound"
	"weir/persistence"
	"weir/web"
	webapi "weir/web/api"
)

// Hooks are the webhooks of a world. nil: there is no delivery.
type Hooks struct {
	*Receivers
	Now *Deliverer // of the process that runs
}

// start starts the delivery of a process, and connects the API to it.
func (x *Hooks) start(w *World, o *web.Options) {
	if x == nil {
		return
	}
	w.Helper()
	x.Now = &Deliverer{Store: w.Store, r: x.Receivers, w: w}
	h := &delivery.Webhooks{Store: x.Now, Calls: x.Now, Mask: webapi.MaskedEvent}
	var err error
	x.Now.system, err = delivery.Start(w.Context(), delivery.Options{
		Store: x.Now, Webhooks: h, Logger: w.Logger(), Metrics: delivery.NewMetrics(w.metrics),
		PollEvery: 200 * time.Millisecond, FirstPause: 50 * time.Millisecond, LastPause: 500 * time.Millisecond,
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(x.Now.crash)
	o.Webhooks, o.TestWebhook = w.Store, h.Test
}

func (x *Hooks) crash() {
	if x != nil && x.Now != nil {
		x.Now.crash()
	}
}

// Deliverer is the store and the network as the delivery of one process has them.
type Deliverer struct {
	*persistence.Store
	r      *Receivers
	w      *World
	system *delivery.System
}

var errDying = errors.New("the process is dying")

func (d *Deliverer) isDying() bool {
	d.r.Mu.Lock()
	defer d.r.Mu.Unlock()
	return d.r.dying == d
}

// crash ends the delivery at once. Nothing that it still wants to write reaches the store.
func (d *Deliverer) crash() {
	d.r.GoOn()
	d.r.Mu.Lock()
	d.r.dying = d
	d.r.Mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = d.system.Close(ctx)
}

// AdoptReplays implements events.WebhookDelivery.
func (d *Deliverer) AdoptReplays(ctx context.Context, id string, now time.Time) error {
	if d.isDying() {
		return errDying
	}
	return d.Store.AdoptReplays(ctx, id, now)
}

// Advance implements delivery.Store.
func (d *Deliverer) Advance(ctx context.Context, s events.Step) error {
	if d.isDying() {
		return errDying
	}
	r := d.r
	r.Mu.Lock()
	wait := r.GoesOn
	held := r.Stalled == d
	if held {
		r.Writing++
	}
	r.Mu.Unlock()
	if !held {
		return d.Store.Advance(ctx, s)
	}
	<-wait
	ctx = context.WithoutCancel(ctx) // it cannot be called back
	err := d.Store.Advance(ctx, s)
	p, errRead := d.Store.Progress(ctx, s.Receiver)
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Late = append(r.Late, lateWrite{errors.Join(err, errRead), s.Cursor, p.Cursor})
	return err
}

// Webhooks implements events.WebhookDelivery.
func (d *Deliverer) Webhooks(ctx context.Context, after string, limit int) ([]events.Webhook, error) {
	list, err := d.Store.Webhooks(ctx, after, limit)
	if err == nil {
		d.r.Mu.Lock()
		defer d.r.Mu.Unlock()
		d.r.Lists = append(d.r.Lists, hookList{d, list})
	}
	return list, err
}

// Do implements delivery.Caller.
func (d *Deliverer) Do(ctx context.Context, _, url string, header http.Header, body []byte) (outbound.Answer, error) {
	var event Fields
	if err := json.Unmarshal(body, &event); err != nil {
		d.w.Errorf("the body is %s", body)
	}
	c := HookCall{by: d, URL: url, ID: header.Get("Webhook-Id")}
	c.Contact, c.Text = d.w.contactEvent(event)
	status, answered := d.r.receive(c)
	select {
	case <-answered:
		return outbound.Answer{Status: status}, nil
	case <-ctx.Done():
		return outbound.Answer{}, &outbound.Error{Kind: outbound.Canceled, Message: "canceled"}
	}
}
