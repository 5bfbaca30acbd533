package actors

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"weir"
)

// Metrics are the figures of the actors. The label channel takes the names of
// configured channels only.
type Metrics struct {
	accepted       *prometheus.CounterVec
	finished       *prometheus.CounterVec
	wait           *prometheus.HistogramVec
	active         *prometheus.HistogramVec
	requests       *prometheus.CounterVec
	requestSeconds *prometheus.HistogramVec
	gcRuns         *prometheus.CounterVec
	gcReconciled   *prometheus.CounterVec
	gcLast         *prometheus.GaugeVec
	deadLetters    *prometheus.CounterVec
	restarts       prometheus.Counter
	panics         prometheus.Counter
	leasesLost     prometheus.Counter
	leasesHeld     prometheus.Gauge
	reloads        prometheus.Counter
	brokers        prometheus.Gauge
	live           *liveFigures
}

// NewMetrics registers the figures.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	channel := []string{"channel"}
	long := []float64{.01, .05, .25, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600}
	m := &Metrics{
		accepted:       f.NewCounterVec(prometheus.CounterOpts{Name: "weir_contacts_accepted_total", Help: "Contacts that were accepted."}, channel),
		finished:       f.NewCounterVec(prometheus.CounterOpts{Name: "weir_contacts_finished_total", Help: "Contacts that have ended, by outcome."}, []string{"channel", "outcome"}),
		wait:           f.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_contact_wait_seconds", Help: "From the acceptance of a contact to its claim.", Buckets: long}, channel),
		active:         f.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_contact_active_seconds", Help: "From the claim of a contact to its end.", Buckets: long}, channel),
		requests:       f.NewCounterVec(prometheus.CounterOpts{Name: "weir_provider_requests_total", Help: "Calls of providers, by operation and result."}, []string{"channel", "operation", "result"}),
		requestSeconds: f.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_provider_request_duration_seconds", Help: "How long calls of providers take.", Buckets: prometheus.DefBuckets}, []string{"channel", "operation"}),
		gcRuns:         f.NewCounterVec(prometheus.CounterOpts{Name: "weir_gc_runs_total", Help: "Collections of idle contacts."}, channel),
		gcReconciled:   f.NewCounterVec(prometheus.CounterOpts{Name: "weir_gc_contacts_reconciled_total", Help: "Contacts that were settled by asking the provider."}, channel),
		gcLast:         f.NewGaugeVec(prometheus.GaugeOpts{Name: "weir_gc_last_run_timestamp_seconds", Help: "When idle contacts were last collected."}, channel),
		deadLetters:    f.NewCounterVec(prometheus.CounterOpts{Name: "weir_dead_letters_total", Help: "Contacts that failed again and again for a reason of their own."}, channel),
		restarts:       f.NewCounter(prometheus.CounterOpts{Name: "weir_actor_restarts_total", Help: "Restarts of crashed actors."}),
		panics:         f.NewCounter(prometheus.CounterOpts{Name: "weir_actor_panics_total", Help: "Panics in actors."}),
		leasesLost:     f.NewCounter(prometheus.CounterOpts{Name: "weir_lease_lost_total", Help: "Leases that another process took over."}),
		leasesHeld:     f.NewGauge(prometheus.GaugeOpts{Name: "weir_leases_held", Help: "Channels that this process runs."}),
		reloads:        f.NewCounter(prometheus.CounterOpts{Name: "weir_broker_reloads_total", Help: "Brokers that read their state anew because the store disagreed."}),
		brokers:        f.NewGauge(prometheus.GaugeOpts{Name: "weir_brokers_running", Help: "Channel actors that are running."}),
	}
	m.live = newLiveFigures(reg)
	return m
}

// forget drops the series of a channel that was deleted.
func (m *Metrics) forget(name string) {
	label := prometheus.Labels{"channel": name}
	for _, v := range []*prometheus.CounterVec{m.accepted, m.finished, m.requests, m.gcRuns, m.gcReconciled, m.deadLetters} {
		v.DeletePartialMatch(label)
	}
	m.wait.DeletePartialMatch(label)
	m.active.DeletePartialMatch(label)
	m.requestSeconds.DeletePartialMatch(label)
	m.gcLast.DeletePartialMatch(label)
}

// known makes the series of a channel exist at zero, so that rates have a
// start.
func (m *Metrics) known(name string) {
	m.accepted.WithLabelValues(name)
	for _, o := range weir.Outcomes() {
		m.finished.WithLabelValues(name, string(o))
	}
	m.gcRuns.WithLabelValues(name)
	m.gcReconciled.WithLabelValues(name)
	m.deadLetters.WithLabelValues(name)
}

// liveFigures reads the brokers' state when it is scraped.
type liveFigures struct {
	capacity, inFlight, sending, active, unknown, queued, blocked, oldest, health *prometheus.Desc

	source func(context.Context) map[string]live
}

type live struct {
	channel weir.Channel
	figures weir.Figures
}

func newLiveFigures(reg prometheus.Registerer) *liveFigures {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("weir_channel_"+name, help, append([]string{"channel"}, labels...), nil)
	}
	l := &liveFigures{
		capacity: d("capacity_slots", "Most slots in flight."),
		inFlight: d("in_flight_slots", "Slots of sending, active and unknown contacts."),
		sending:  d("sending_contacts", "Contacts that were claimed and are being sent."),
		active:   d("active_contacts", "Contacts that the provider has."),
		unknown:  d("unknown_contacts", "Contacts that the provider may or may not have."),
		queued:   d("queued_contacts", "Contacts that wait."),
		blocked:  d("blocked_contacts", "Waiting contacts that are larger than the capacity, among those in memory."),
		oldest:   d("oldest_queued_timestamp_seconds", "Acceptance of the oldest contact that waits; 0 when none does."),
		health:   d("state", "1 for the state in which the channel is.", "state"),
	}
	reg.MustRegister(l)
	return l
}

// Describe implements prometheus.Collector.
func (l *liveFigures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{l.capacity, l.inFlight, l.sending, l.active, l.unknown, l.queued, l.blocked, l.oldest, l.health} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (l *liveFigures) Collect(ch chan<- prometheus.Metric) {
	if l.source == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), figuresTimeout)
	defer cancel()
	for name, v := range l.source(ctx) {
		put := func(d *prometheus.Desc, x float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, x, append([]string{name}, labels...)...)
		}
		f := v.figures
		put(l.capacity, float64(v.channel.Capacity))
		put(l.inFlight, float64(f.InFlight))
		put(l.sending, float64(f.Sending))
		put(l.active, float64(f.Active))
		put(l.unknown, float64(f.Unknown))
		put(l.queued, float64(f.Queued))
		put(l.blocked, float64(f.Blocked))
		put(l.oldest, seconds(f.OldestQueuedAt))
		for _, h := range []weir.Health{weir.Up, weir.Down, weir.Erring, weir.Paused, weir.Faulted} {
			x := 0.0
			if h == f.Health {
				x = 1
			}
			put(l.health, x, string(h))
		}
	}
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}
