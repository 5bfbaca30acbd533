package actors

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"weir"
	"weir/ops"
)

// Metrics holds the metrics of the actors. The label channel takes only names of
// configured channels.
type Metrics struct {
	accepted       *prometheus.CounterVec
	finished       *prometheus.CounterVec
	wait           *prometheus.SummaryVec // sums and counts: a histogram per channel would dominate the series
	active         *prometheus.SummaryVec
	requests       *prometheus.CounterVec
	requestSeconds *prometheus.HistogramVec
	gcRuns         prometheus.Counter
	gcReconciled   *prometheus.CounterVec
	gcLast         *prometheus.GaugeVec
	deadLetters    *prometheus.CounterVec
	restarts       *prometheus.CounterVec
	panics         prometheus.Counter
	leasesLost     *prometheus.CounterVec
	reloads        prometheus.Counter
	brokers        prometheus.Gauge
	live           *liveFigures
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	channel := []string{"channel"}
	m := &Metrics{
		accepted:       f.NewCounterVec(prometheus.CounterOpts{Name: "weir_contacts_accepted_total", Help: "Contacts accepted."}, channel),
		finished:       f.NewCounterVec(prometheus.CounterOpts{Name: "weir_contacts_finished_total", Help: "Finished contacts, by outcome."}, []string{"channel", "outcome"}),
		wait:           f.NewSummaryVec(prometheus.SummaryOpts{Name: "weir_contact_wait_seconds", Help: "Time from the acceptance of a contact to its claim."}, channel),
		active:         f.NewSummaryVec(prometheus.SummaryOpts{Name: "weir_contact_active_seconds", Help: "Time from the claim of a contact to its end."}, channel),
		requests:       f.NewCounterVec(prometheus.CounterOpts{Name: "weir_provider_requests_total", Help: "Calls of providers, by operation and result."}, []string{"channel", "operation", "result"}),
		requestSeconds: f.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_provider_request_duration_seconds", Help: "Duration of calls of providers, over all channels.", Buckets: prometheus.DefBuckets, NativeHistogramBucketFactor: nativeFactor}, []string{"operation"}),
		gcRuns:         f.NewCounter(prometheus.CounterOpts{Name: "weir_gc_runs_total", Help: "Reconciliation passes over contacts without news, over all channels."}),
		gcReconciled:   f.NewCounterVec(prometheus.CounterOpts{Name: "weir_gc_contacts_reconciled_total", Help: "Contacts reconciled by asking the provider, by its answer; failed: the request failed."}, []string{"channel", "verdict"}),
		gcLast:         f.NewGaugeVec(prometheus.GaugeOpts{Name: "weir_gc_last_success_timestamp_seconds", Help: "Start of the latest reconciliation pass whose predecessor had no failed request."}, channel),
		deadLetters:    f.NewCounterVec(prometheus.CounterOpts{Name: "weir_dead_letters_total", Help: "Contacts that failed repeatedly for a reason of their own."}, channel),
		restarts:       f.NewCounterVec(prometheus.CounterOpts{Name: "weir_actor_restarts_total", Help: "Restarts of crashed actors."}, []string{"kind"}),
		panics:         f.NewCounter(prometheus.CounterOpts{Name: "weir_actor_panics_total", Help: "Panics in actors."}),
		leasesLost:     f.NewCounterVec(prometheus.CounterOpts{Name: "weir_lease_lost_total", Help: "Leases that another process took over."}, channel),
		reloads:        f.NewCounter(prometheus.CounterOpts{Name: "weir_broker_reloads_total", Help: "Broker reloads because a commit failed or the store had newer state."}),
		brokers:        f.NewGauge(prometheus.GaugeOpts{Name: "weir_brokers_running", Help: "Channel actors that are running."}),
	}
	for _, kind := range []string{kindManager, kindBroker} {
		m.restarts.WithLabelValues(kind)
	}
	m.live = newLiveFigures(reg)
	return m
}

// nativeFactor is the growth of the native histograms' buckets.
const nativeFactor = 1.1

// Kinds of actors.
const (
	kindManager = "manager"
	kindBroker  = "broker"
)

// forget drops the series of a deleted channel.
func (m *Metrics) forget(name string) {
	label := prometheus.Labels{"channel": name}
	for _, v := range []*prometheus.CounterVec{m.accepted, m.finished, m.requests, m.gcReconciled, m.deadLetters, m.leasesLost} {
		v.DeletePartialMatch(label)
	}
	m.wait.DeletePartialMatch(label)
	m.active.DeletePartialMatch(label)
	m.gcLast.DeletePartialMatch(label)
}

// channelSeries holds the series of one channel that every contact counts into,
// looked up once. They outlive forget: a call that is still under way then counts
// into series that are no longer exported. A series first used after forget is
// registered again.
type channelSeries struct {
	name     string
	typ      string // of the channel
	metrics  *Metrics
	wait     func() prometheus.Observer
	active   func() prometheus.Observer
	finished sync.Map // counters by outcome
	requests sync.Map // provider calls by operation and result
}

// request holds the series of one kind of provider call.
type request struct {
	count   prometheus.Counter
	seconds prometheus.Observer
}

func (f *channelSeries) finish(o weir.Outcome) prometheus.Counter {
	c, ok := f.finished.Load(o)
	if !ok {
		c, _ = f.finished.LoadOrStore(o, f.metrics.finished.WithLabelValues(f.name, string(o)))
	}
	return c.(prometheus.Counter) //nolint:forcetypeassert // nothing else is in it
}

func (f *channelSeries) request(operation, result string) *request {
	key := [2]string{operation, result}
	if r, ok := f.requests.Load(key); ok {
		return r.(*request)
	}
	r, _ := f.requests.LoadOrStore(key, &request{
		f.metrics.requests.WithLabelValues(f.name, operation, result),
		f.metrics.requestSeconds.WithLabelValues(operation),
	})
	return r.(*request)
}

// known returns the series of a channel. A series begins with its first event,
// except those whose first increase triggers an alert: rates need a start at zero.
func (m *Metrics) known(name, typ string) *channelSeries {
	f := &channelSeries{
		name: name, typ: typ, metrics: m,
		wait:   sync.OnceValue(func() prometheus.Observer { return m.wait.WithLabelValues(name) }),
		active: sync.OnceValue(func() prometheus.Observer { return m.active.WithLabelValues(name) }),
	}
	f.finish(weir.Lost)
	m.deadLetters.WithLabelValues(name)
	m.leasesLost.WithLabelValues(name)
	return f
}

// liveFigures reads the brokers' state at each scrape.
type liveFigures struct {
	capacity, inFlight, sending, active, unknown, queued, blocked, oldest, health *prometheus.Desc
	breaker, retries, rate, held, epoch, mailbox                                  *prometheus.Desc

	source        func(context.Context) map[string]liveReport
	withoutBroker func(running map[string]liveReport) map[string]weir.Health // channels without a broker
}

// liveReport is a broker's report on itself.
type liveReport struct {
	channel weir.Channel
	figures ops.Figures
	epoch   int64 // of its lease
	runs    bool  // it holds the lease and works
	waiting int64 // messages in its mailbox
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("weir_"+name, help, labels, nil)
}

func newLiveFigures(reg prometheus.Registerer) *liveFigures {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return desc("channel_"+name, help, append([]string{"channel"}, labels...)...)
	}
	l := &liveFigures{
		capacity: d("capacity_contacts", "Max slots in flight; a contact takes one for each message."),
		inFlight: d("in_flight_slots", "Slots of sending, active and unknown contacts."),
		sending:  d("sending_contacts", "Contacts that were claimed and are being sent."),
		active:   d("active_contacts", "Contacts accepted by the provider and not done."),
		unknown:  d("unknown_contacts", "Contacts whose dispatch has an unknown outcome."),
		queued:   d("queued_contacts", "Waiting contacts."),
		blocked:  d("blocked_contacts", "Waiting contacts larger than the capacity, among those in memory."),
		oldest:   d("oldest_queued_timestamp_seconds", "Acceptance of the oldest waiting contact; 0 if none waits."),
		health:   d("state", "1 for the current state of the channel; other states have no series.", "state"),
		breaker:  desc("provider_breaker_state", "0: closed, 1: half-open, a single dispatch probes the provider, 2: open.", "channel"),
		retries:  desc("provider_retry_budget_ratio", "Remaining share of the retry budget, 0 to 1.", "channel"),
		rate:     d("rate_limit_per_second", "Rate limit in force; no series without one."),
		held:     desc("lease_held", "1 while this process holds the channel's lease.", "channel"),
		epoch:    desc("lease_epoch", "Epoch of the channel's lease.", "channel"),
		mailbox:  desc("mailbox_messages", "Messages in the mailboxes of actors.", "kind"),
	}
	reg.MustRegister(l)
	return l
}

// Describe implements prometheus.Collector.
func (l *liveFigures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		l.capacity, l.inFlight, l.sending, l.active, l.unknown, l.queued, l.blocked, l.oldest, l.health,
		l.breaker, l.retries, l.rate, l.held, l.epoch, l.mailbox,
	} {
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
	waiting, running := int64(0), l.source(ctx)
	for name, is := range l.withoutBroker(running) {
		ch <- prometheus.MustNewConstMetric(l.health, prometheus.GaugeValue, 1, name, string(is))
	}
	for name, v := range running {
		waiting += v.waiting
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
		put(l.breaker, float64(f.Breaker))
		put(l.retries, f.RetryBudget)
		if f.RatePerSecond > 0 {
			put(l.rate, f.RatePerSecond)
		}
		put(l.held, one(v.runs))
		put(l.epoch, float64(v.epoch))
		put(l.health, 1, string(f.Health))
	}
	ch <- prometheus.MustNewConstMetric(l.mailbox, prometheus.GaugeValue, float64(waiting), kindBroker)
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}
