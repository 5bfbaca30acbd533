package world

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"weir/internal/tracing"
	"weir/internal/tracing/tracingtest"
)

// Traces are the traces of a world. nil: they are off.
type Traces struct {
	*tracingtest.Collector
	Tracer *tracing.Tracer
	ended  *atomic.Bool // of the process: what it had not exported is lost
}

// start starts the export of a process.
func (x *Traces) start(w *World) *tracing.Tracer {
	if x == nil {
		return nil
	}
	w.Helper()
	x.ended = new(atomic.Bool)
	ended := x.ended
	var err error
	x.Tracer, err = tracing.Start(w.Context(), tracing.Options{
		Endpoint: "http://collector.test/v1/traces", Timeout: 10 * time.Second, Service: "weir", Secret: []byte("of the database"), Contact: w.Store.Contact, Logger: w.Logger(),
		Transport: transport(func(r *http.Request) (*http.Response, error) {
			if ended.Load() {
				return nil, errors.New("the process has crashed")
			}
			return x.RoundTrip(r)
		}),
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = x.running().Close(context.Background()) })
	return x.Tracer
}

func (x *Traces) running() *tracing.Tracer {
	if x == nil {
		return nil
	}
	return x.Tracer
}

// crash loses what was not exported.
func (x *Traces) crash() {
	if x != nil && x.Tracer != nil {
		x.ended.Store(true)
		_ = x.Tracer.Close(context.Background())
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
