package events

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"weir/events"
	"weir/internal/tracing"
)

// Receiver receives events.
type Receiver struct {
	// Name identifies its progress in the store, and is a metric label: at most
	// 100 characters, no secret.
	Name string
	// Types are the types of the events that it may get, so that events that others
	// write all the time need not even be decoded. nil: any.
	Types []string
	// Wants reports whether it gets an event. nil: all of the types.
	Wants func(events.Event) bool
	// Order returns the key by which events are ordered; events with the same key
	// stay in order. nil: the subject.
	Order func(events.Event) string
	// Group returns the place to which events with an order key go, for a receiver
	// that stands for several places: one that does not answer must not use up the
	// concurrency. nil: there is one place.
	Group func(order string) string
	// MaxDeferred overrides that of the Options; 0: the same.
	MaxDeferred int
	// Deliver delivers one event. An error means that it is retried later.
	Deliver func(ctx context.Context, e events.Event) error

	// Of a webhook:
	hook                *endpoint // instead of Deliver
	concurrency, window int       // override those of the Options; 0: the same
}

func (r *Receiver) wants(e events.Event) bool { return r.Wants == nil || r.Wants(e) }

func (r *Receiver) order(e events.Event) string {
	if r.Order == nil {
		return e.Subject
	}
	return r.Order(e)
}

// Store is the part of the store that delivery needs.
type Store interface {
	events.Log
	events.TypeReader
	events.Receivers
}

// Options configures a System. Everything except Store has a default.
type Options struct {
	Store       Store
	Receivers   []Receiver
	Webhooks    *Webhooks // that clients created; nil: there are none
	Logger      *slog.Logger
	Metrics     *Metrics
	Tracing     *tracing.Tracer // nil: traces are off
	Concurrency int             // max concurrent deliveries to one receiver; default 32
	Window      int             // events of a receiver that are read ahead; default 1024
	MaxDeferred int             // max deferred events of a receiver; default 10,000
	FirstPause  time.Duration   // retry pause after the first failure; default 1 s; doubled by each further one
	LastPause   time.Duration   // max retry pause; default 5 min
	PollEvery   time.Duration   // poll interval for events; commits of the writer are announced as well; default 1 s
	GiveUp      time.Duration   // age at which a failing event is dead; default 24 h
}

func (o Options) check() (Options, error) {
	if o.Store == nil {
		return o, errors.New("delivery: no store")
	}
	names := map[string]bool{}
	for _, r := range o.Receivers {
		if r.Name == "" || len(r.Name) > 100 || names[r.Name] || r.Wants == nil && r.Types == nil || r.Deliver == nil {
			return o, errors.New("delivery: a receiver needs a unique name, Wants or Types, and Deliver")
		}
		names[r.Name] = true
	}
	if o.Webhooks != nil {
		if err := o.Webhooks.check(); err != nil {
			return o, err
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	o.Concurrency = cmp.Or(o.Concurrency, 32)
	o.Window = cmp.Or(o.Window, 1024)
	o.MaxDeferred = cmp.Or(o.MaxDeferred, 10_000)
	o.FirstPause = cmp.Or(o.FirstPause, time.Second)
	o.LastPause = cmp.Or(o.LastPause, 5*time.Minute)
	o.PollEvery = cmp.Or(o.PollEvery, time.Second)
	o.GiveUp = cmp.Or(o.GiveUp, 24*time.Hour)
	return o, nil
}
