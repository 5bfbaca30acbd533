package channels

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"weir"
)

// Metrics holds the metrics of the actors. The label channel takes only names of
// configured channels.
type Metrics struct {
	accepted       *prometheus.CounterVec
	finished       *prometheus.CounterVec
	skipped        *prometheus.CounterVec
	wait           *prometheus.HistogramVec // native only: fixed buckets for each channel would dominate the series
	active         *prometheus.HistogramVec
	requests       *prometheus.CounterVec
	requestSeconds *prometheus.HistogramVec
	reconcileRuns  prometheus.Counter
	reconciled     *prometheus.CounterVec
	reconcileLast  *prometheus.GaugeVec
	deadLetters    *prometheus.CounterVec
	restarts       *prometheus.CounterVec
	panics         prometheus.Counter
	reloads        prometheus.Counter
	brokers        prometheus.Gauge
	brakes         *prometheus.CounterVec
	live           *liveFigures
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	channel := []string{"channel"}
	m := &Metrics{
		accepted:       f.NewCounterVec(prometheus.CounterOpts{Name: "weir_contacts_accepted_total", Help: "Contacts accepted."}, channel),
		finished:       f.NewCounterVec(prometheus.CounterOpts{Name: "weir_contacts_finished_total", Help: "Finished contacts, by outcome."}, []string{"channel", "outcome"}),
		skipped:        f.NewCounterVec(prometheus.CounterOpts{Name: "weir_contacts_skipped_total", Help: "Claims that a rule for the sake of the person, or a limit that channels share, did not let pass, by rule and effect: suppressed, delayed, held."}, []string{"channel", "rule", "effect"}),
		wait:           f.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_contact_wait_seconds", Help: "Time from the acceptance of a contact to its claim.", NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets}, channel),
		active:         f.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_contact_active_seconds", Help: "Time from the claim of a contact to its end.", NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets}, channel),
		requests:       f.NewCounterVec(prometheus.CounterOpts{Name: "weir_provider_requests_total", Help: "Calls of providers, by operation and result."}, []string{"channel", "operation", "result"}),
		requestSeconds: f.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_provider_request_duration_seconds", Help: "Duration of calls of providers, over all channels.", Buckets: prometheus.DefBuckets, NativeHistogramBucketFactor: nativeFactor}, []string{"operation"}),
		reconcileRuns:  f.NewCounter(prometheus.CounterOpts{Name: "weir_reconciler_runs_total", Help: "Reconciliation passes over contacts without news, over all channels."}),
		reconciled:     f.NewCounterVec(prometheus.CounterOpts{Name: "weir_reconciler_contacts_total", Help: "Contacts reconciled by asking the provider, by its answer; failed: the request failed."}, []string{"channel", "verdict"}),
		reconcileLast:  f.NewGaugeVec(prometheus.GaugeOpts{Name: "weir_reconciler_last_success_timestamp_seconds", Help: "Start of the latest reconciliation pass whose predecessor had no failed request."}, channel),
		deadLetters:    f.NewCounterVec(prometheus.CounterOpts{Name: "weir_dead_letters_total", Help: "Contacts that were rejected repeatedly."}, channel),
		restarts:       f.NewCounterVec(prometheus.CounterOpts{Name: "weir_actor_restarts_total", Help: "Restarts of crashed actors."}, []string{"kind"}),
		panics:         f.NewCounter(prometheus.CounterOpts{Name: "weir_actor_panics_total", Help: "Panics in actors."}),
		reloads:        f.NewCounter(prometheus.CounterOpts{Name: "weir_broker_reloads_total", Help: "Broker reloads because a commit failed or the store had newer state."}),
		// The survey broker registers the same metric, of the other kind.
		brakes: f.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_brakes_total", Help: "Channels and surveys that paused themselves, by kind and cause.", ConstLabels: prometheus.Labels{"kind": "channel"},
		}, []string{"cause"}),
		brokers: f.NewGauge(prometheus.GaugeOpts{Name: "weir_brokers_running", Help: "Brokers that run; one whose channel is idle rests, and is not counted."}),
	}
	for _, cause := range weir.BrakeCauses() {
		m.brakes.WithLabelValues(string(cause))
	}
	for _, kind := range []string{kindManager, kindBroker} {
		m.restarts.WithLabelValues(kind)
	}
	m.live = newLiveFigures(reg)
	return m
}

// nativeFactor is the growth of the native histograms' buckets.
const nativeFactor = 1.1

// nativeBuckets bounds the memory of a channel's histogram, which then gets a coarser resolution.
const nativeBuckets = 100

// channelSeries are the series of one channel. Once it is deleted they do not come back: a call
// of its provider may still be under way.
type channelSeries struct {
	name    string
	typ     string // of the channel
	metrics *Metrics
	deleted atomic.Bool
}

// forget drops the series of a deleted channel; nil: its broker has counted nothing.
func (m *Metrics) forget(name string, f *channelSeries) {
	if f != nil {
		f.deleted.Store(true)
	}
	label := prometheus.Labels{"channel": name}
	for _, v := range []*prometheus.CounterVec{m.accepted, m.finished, m.skipped, m.requests, m.reconciled, m.deadLetters} {
		v.DeletePartialMatch(label)
	}
	m.wait.DeletePartialMatch(label)
	m.active.DeletePartialMatch(label)
	m.reconcileLast.DeletePartialMatch(label)
}

// called counts a call of the provider.
func (f *channelSeries) called(operation, result string, took time.Duration) {
	if !f.deleted.Load() {
		f.metrics.requests.WithLabelValues(f.name, operation, result).Inc()
	}
	f.metrics.requestSeconds.WithLabelValues(operation).Observe(took.Seconds())
}

// waited observes how long a contact waited for its claim.
func (f *channelSeries) waited(d time.Duration) {
	if !f.deleted.Load() {
		f.metrics.wait.WithLabelValues(f.name).Observe(d.Seconds())
	}
}

// known returns the series of a channel. A series begins with its first event,
// except those whose first increase triggers an alert: rates need a start at zero.
func (m *Metrics) known(name, typ string) *channelSeries {
	m.finished.WithLabelValues(name, string(weir.Lost))
	m.deadLetters.WithLabelValues(name)
	return &channelSeries{name: name, typ: typ, metrics: m}
}
