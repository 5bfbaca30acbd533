package router

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"weir/router"
)

const (
	resultCommitted = "committed"
	resultFailed    = "failed"
)

// Metrics are the metrics of the router.
type Metrics struct {
	serving   prometheus.Gauge
	commits   *prometheus.CounterVec
	duration  prometheus.Histogram
	events    prometheus.Counter
	matches   prometheus.Counter
	expired   prometheus.Counter
	replies   prometheus.Counter
	refused   prometheus.Counter
	rebuilds  prometheus.Counter
	restarts  prometheus.Counter
	panics    prometheus.Counter
	snapshots *prometheus.CounterVec
	pause     prometheus.Histogram
	recovery  prometheus.Histogram
	replayed  prometheus.Counter
	functions *prometheus.CounterVec
	live      *gauges
}

// NewMetrics creates the metrics and registers them; a nil registry registers
// none.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	f := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "weir_router_" + name, Help: help})
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: "weir_router_" + name, Help: help}, []string{label})
	}
	histogram := func(name, help string, first float64) prometheus.Histogram {
		return f.NewHistogram(prometheus.HistogramOpts{Name: "weir_router_" + name, Help: help, Buckets: prometheus.ExponentialBuckets(first, 4, 8)})
	}
	m := &Metrics{
		serving:   f.NewGauge(prometheus.GaugeOpts{Name: "weir_router_serving", Help: "1 while this process runs the router."}),
		commits:   counters("commits_total", "Groups of events, by what became of them.", "result"),
		duration:  histogram("commit_duration_seconds", "From the end of a group's collecting until it was durable.", 0.000_25),
		events:    counter("events_total", "Events that became durable."),
		matches:   counter("matches_total", "Offers that were made and durable."),
		expired:   counter("offers_expired_total", "Offers that no worker answered in time."),
		replies:   counter("replies_total", "Calls that were answered when what they rest on was durable."),
		refused:   counter("refused_calls_total", "Calls that were refused because too much waited."),
		rebuilds:  counter("rebuilds_total", "Times that the state was thrown away and built anew."),
		restarts:  counter("restarts_total", "Restarts of the actor after a crash."),
		panics:    counter("panics_total", "Panics in the actor."),
		snapshots: counters("snapshots_total", "Snapshots, by what became of them.", "result"),
		pause:     histogram("snapshot_pause_seconds", "How long the router stood still for one step of a snapshot.", 0.000_1),
		recovery:  histogram("recovery_duration_seconds", "From the start of the router, or of its next incarnation, to having the state.", 0.01),
		replayed:  counter("replayed_events_total", "Events read from the journal at a start."),
		functions: counters("function_calls_total", "Calls of functions, by what became of them.", "result"),
		live:      newGauges(),
	}
	for _, result := range []string{resultCommitted, resultFailed} { // start rates at 0
		m.commits.WithLabelValues(result)
		m.snapshots.WithLabelValues(result)
	}
	if registry != nil {
		registry.MustRegister(m.live)
	}
	return m
}

// gauges are figures of the state, read when they are collected.
type gauges struct {
	source  atomic.Pointer[func() (figures, bool)]
	jobs    *prometheus.Desc
	workers *prometheus.Desc
	offers  *prometheus.Desc
	oldest  *prometheus.Desc
	pending *prometheus.Desc
}

func newGauges() *gauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("weir_router_"+name, help, labels, nil)
	}
	return &gauges{
		jobs:    desc("jobs", "Jobs by state.", "state"),
		workers: desc("workers", "Workers by state.", "state"),
		offers:  desc("offers_out", "Offers that are open."),
		oldest:  desc("oldest_waiting_seconds", "Age of the job that has waited for the longest time in a queue; 0: none waits."),
		pending: desc("pending_events", "Events that were applied and are not durable."),
	}
}

func (g *gauges) set(source func() (figures, bool)) { g.source.Store(&source) }

// Describe implements prometheus.Collector.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.jobs, g.workers, g.offers, g.oldest, g.pending} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	source := g.source.Load()
	if source == nil {
		return
	}
	f, ok := (*source)()
	if !ok {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for state, n := range f.Jobs {
		gauge(g.jobs, float64(n), string(state))
	}
	for state, n := range f.Workers {
		gauge(g.workers, float64(n), string(state))
	}
	gauge(g.offers, float64(f.Offers))
	gauge(g.pending, float64(f.pending))
	oldest := 0.0
	if !f.OldestQueuedAt.IsZero() {
		oldest = max(0, time.Since(f.OldestQueuedAt).Seconds())
	}
	gauge(g.oldest, oldest)
}

// figures are the values of the gauges.
type figures struct {
	router.Figures
	pending int
}
