package delivery

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"weir"
	"weir/events"
)

// Receiver is somebody who is told of events.
type Receiver struct {
	// Name is that of its progress in the store, and a label: at most 100
	// characters, no secret.
	Name string
	// Types are those of the events that it may get, so that what others write
	// all the time need not even be decoded. nil: any.
	Types []string
	// Wants tells which events it gets. nil: all of the types.
	Wants func(events.Event) bool
	// Order names what an event belongs to; events of one name stay in order.
	// nil: the subject.
	Order func(events.Event) string
	// Group names the place to which events of an order go, where a receiver
	// stands for several: one that does not answer does not use up what may be
	// delivered at a time. nil: there is one place.
	Group func(order string) string
	// MostAside is as that of the Options, for this one; 0: the same.
	MostAside int
	// Deliver hands over one event. An error means: again, later.
	Deliver func(ctx context.Context, e events.Event) error
}

func (r *Receiver) wants(e events.Event) bool { return r.Wants == nil || r.Wants(e) }

func (r *Receiver) order(e events.Event) string {
	if r.Order == nil {
		return e.Subject
	}
	return r.Order(e)
}

// Store is what delivery needs of the store.
type Store interface {
	events.Log
	events.Picker
	events.Receivers
	weir.RoleLeaser
}

// Options of a System. Everything but Store has a default.
type Options struct {
	Store       Store
	Receivers   []Receiver
	Logger      *slog.Logger
	Metrics     *Metrics
	LeaseTTL    time.Duration // the store's; default 15 s
	Concurrency int           // deliveries to one receiver at a time; default 32
	Window      int           // events of a receiver that are looked at ahead; default 1024
	MostAside   int           // events of a receiver that are put aside; default 10,000
	FirstPause  time.Duration // after the first failure; default 1 s; doubled by each further one
	LastPause   time.Duration // default 5 min
	PollEvery   time.Duration // between looks for what other processes wrote; default 1 s
	GiveUp      time.Duration // age at which an event that fails is dead; default 24 h
}

func (o Options) check() (Options, error) {
	if o.Store == nil {
		return o, errors.New("delivery: no store")
	}
	names := map[string]bool{}
	for _, r := range o.Receivers {
		if r.Name == "" || len(r.Name) > 100 || names[r.Name] || r.Wants == nil && r.Types == nil || r.Deliver == nil {
			return o, errors.New("delivery: a receiver needs a name of its own, Wants or Types, and Deliver")
		}
		names[r.Name] = true
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	o.LeaseTTL = orElse(o.LeaseTTL, 15*time.Second)
	o.Concurrency = orElse(o.Concurrency, 32)
	o.Window = orElse(o.Window, 1024)
	o.MostAside = orElse(o.MostAside, 10_000)
	o.FirstPause = orElse(o.FirstPause, time.Second)
	o.LastPause = orElse(o.LastPause, 5*time.Minute)
	o.PollEvery = orElse(o.PollEvery, time.Second)
	o.GiveUp = orElse(o.GiveUp, 24*time.Hour)
	return o, nil
}

func orElse[T int | time.Duration](v, usual T) T {
	if v <= 0 {
		return usual
	}
	return v
}
