package actors

import (
	"context"
	"sync"
	"sync/atomic"
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
	wait           *prometheus.HistogramVec // native only: fixed buckets for each channel would dominate the series
	active         *prometheus.HistogramVec
	requests       *prometheus.CounterVec
	requestSeconds *prometheus.HistogramVec
	gcRuns         prometheus.Counter
	gcReconciled   *prometheus.CounterVec
	gcLast         *prometheus.GaugeVec
	deadLetters    *prometheus.CounterVec
	restarts       *prometheus.CounterVec
	panics         prometheus.Counter
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
		wait:           f.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_contact_wait_seconds", Help: "Time from the acceptance of a contact to its claim.", NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets}, channel),
		active:         f.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_contact_active_seconds", Help: "Time from the claim of a contact to its end.", NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets}, channel),
		requests:       f.NewCounterVec(prometheus.CounterOpts{Name: "weir_provider_requests_total", Help: "Calls of providers, by operation and result."}, []string{"channel", "operation", "result"}),
		requestSeconds: f.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_provider_request_duration_seconds", Help: "Duration of calls of providers, over all channels.", Buckets: prometheus.DefBuckets, NativeHistogramBucketFactor: nativeFactor}, []string{"operation"}),
		gcRuns:         f.NewCounter(prometheus.CounterOpts{Name: "weir_gc_runs_total", Help: "Reconciliation passes over contacts without news, over all channels."}),
		gcReconciled:   f.NewCounterVec(prometheus.CounterOpts{Name: "weir_gc_contacts_reconciled_total", Help: "Contacts reconciled by asking the provider, by its answer; failed: the request failed."}, []string{"channel", "verdict"}),
		gcLast:         f.NewGaugeVec(prometheus.GaugeOpts{Name: "weir_gc_last_success_timestamp_seconds", Help: "Start of the latest reconciliation pass whose predecessor had no failed request."}, channel),
		deadLetters:    f.NewCounterVec(prometheus.CounterOpts{Name: "weir_dead_letters_total", Help: "Contacts that were rejected repeatedly."}, channel),
		restarts:       f.NewCounterVec(prometheus.CounterOpts{Name: "weir_actor_restarts_total", Help: "Restarts of crashed actors."}, []string{"kind"}),
		panics:         f.NewCounter(prometheus.CounterOpts{Name: "weir_actor_panics_total", Help: "Panics in actors."}),
		reloads:        f.NewCounter(prometheus.CounterOpts{Name: "weir_broker_reloads_total", Help: "Broker reloads because a commit failed or the store had newer state."}),
		brokers:        f.NewGauge(prometheus.GaugeOpts{Name: "weir_brokers_running", Help: "Brokers that run; one whose channel is idle rests, and is not counted."}),
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

// forget drops the series of a deleted channel.
func (m *Metrics) forget(name string) {
	label := prometheus.Labels{"channel": name}
	for _, v := range []*prometheus.CounterVec{m.accepted, m.finished, m.requests, m.gcReconciled, m.deadLetters} {
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
	return f
}

// Parameters of the per-minute counters.
const (
	maxWaitingMinutes  = 20_000 // max minutes waiting to be written while the store is down
	minutesTimeout     = 10 * time.Second
	lastMinutesTimeout = 2 * time.Second
	rateOver           = 5 // whole minutes, in addition to the current one
	minutesDelay       = 20 * time.Millisecond
)

// meter counts the events of one channel that this process sees in the current
// minute. Counting is one addition in memory; a crash loses the last minute.
type meter struct {
	counts   [ops.Counters]atomic.Int64
	gauged   atomic.Bool // a broker of this process runs the channel
	inFlight atomic.Int64
	peak     atomic.Int64
	queued   atomic.Int64
	capacity atomic.Int64

	// The fields below are guarded by the lock of minutes.
	written ops.Minute      // the gauges written last
	sent    [rateOver]int64 // dispatches of the previous minutes, latest first
}

func (m *meter) count(c ops.Counter, n int) {
	if n > 0 {
		m.counts[c].Add(int64(n))
	}
}

func (m *meter) verdict(v weir.Verdict) {
	if c, ok := ops.VerdictCounter(v); ok {
		m.counts[c].Add(1)
	}
}

// gauge records the channel's current load. Only its broker calls it.
func (m *meter) gauge(inFlight int, queued int64, capacity int) {
	m.inFlight.Store(int64(inFlight))
	m.queued.Store(queued)
	m.capacity.Store(int64(capacity))
	for most := m.peak.Load(); int64(inFlight) > most && !m.peak.CompareAndSwap(most, int64(inFlight)); most = m.peak.Load() {
	}
	m.gauged.Store(true)
}

// read returns the current minute so far; take reads a counter and may reset it.
func (m *meter) read(channel weir.ChannelID, at time.Time, take func(*atomic.Int64) int64) ops.Minute {
	out := ops.Minute{Channel: channel, At: at, Gauged: m.gauged.Load()}
	for i := range m.counts {
		out.Counts[i] = take(&m.counts[i])
	}
	if out.Gauged {
		out.InFlight, out.Queued, out.Capacity = m.inFlight.Load(), m.queued.Load(), m.capacity.Load()
		out.MaxInFlight = max(m.peak.Load(), out.InFlight)
	}
	return out
}

// changed reports whether a minute has counts, or gauges that differ from those
// written last.
func (m *meter) changed(is *ops.Minute) bool {
	w := &m.written
	return !is.Empty() || is.Gauged && (!w.Gauged || is.InFlight != w.InFlight || is.MaxInFlight != w.MaxInFlight ||
		is.Queued != w.Queued || is.Capacity != w.Capacity)
}

// minutes holds the meters of all channels.
type minutes struct {
	mu      sync.RWMutex
	meters  map[weir.ChannelID]*meter
	begun   time.Time // start of the current minute
	started time.Time
	waiting []ops.Minute // finished minutes that are not written
	lost    int          // minutes of channels dropped for lack of room
}

func newMinutes(now time.Time) *minutes {
	return &minutes{meters: map[weir.ChannelID]*meter{}, begun: now.Truncate(time.Minute), started: now}
}

// of returns the meter of a channel.
func (m *minutes) of(channel weir.ChannelID) *meter {
	m.mu.RLock()
	known := m.meters[channel]
	m.mu.RUnlock()
	if known != nil {
		return known
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.meters[channel] == nil {
		m.meters[channel] = &meter{}
	}
	return m.meters[channel]
}

// forget drops the meter of a deleted channel.
func (m *minutes) forget(channel weir.ChannelID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.meters, channel)
}

// endMinute ends the current minute.
func (m *minutes) endMinute(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	take := func(n *atomic.Int64) int64 { return n.Swap(0) }
	for id, meter := range m.meters {
		is := meter.read(id, m.begun, take)
		meter.peak.Store(is.InFlight)
		copy(meter.sent[1:], meter.sent[:])
		meter.sent[0] = is.Counts[ops.CountSent]
		if !meter.changed(&is) {
			continue
		}
		if is.Gauged {
			meter.written = is
		}
		m.waiting = append(m.waiting, is)
	}
	if over := len(m.waiting) - maxWaitingMinutes; over > 0 {
		m.waiting = append([]ops.Minute(nil), m.waiting[over:]...)
		m.lost += over
	}
	m.begun = now.Truncate(time.Minute)
}

// current lists what is not in the store: the current minute, and minutes that
// wait to be written.
func (m *minutes) current() []ops.Minute {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := append([]ops.Minute(nil), m.waiting...)
	for id, meter := range m.meters {
		is := meter.read(id, m.begun, (*atomic.Int64).Load)
		if is.Gauged || !is.Empty() {
			list = append(list, is)
		}
	}
	return list
}

// perMinute returns the rate of dispatches over the last minutes.
func (m *minutes) perMinute(channel weir.ChannelID, now time.Time) float64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	meter := m.meters[channel]
	if meter == nil {
		return 0
	}
	n := meter.counts[ops.CountSent].Load()
	for _, sent := range meter.sent {
		n += sent
	}
	from := m.begun.Add(-rateOver * time.Minute)
	if m.started.After(from) {
		from = m.started
	}
	return float64(n) / max(now.Sub(from).Minutes(), 1)
}

// idleSince returns since when nothing was dispatched, to the minute and at most as
// long ago as the minutes that perMinute counts.
func (m *minutes) idleSince(channel weir.ChannelID, now time.Time) time.Time {
	m.mu.RLock()
	defer m.mu.RUnlock()
	meter, at := m.meters[channel], m.begun
	if meter != nil && meter.counts[ops.CountSent].Load() > 0 {
		return now
	}
	for i := range rateOver {
		if meter != nil && meter.sent[i] > 0 {
			break
		}
		at = at.Add(-time.Minute)
	}
	if at.Before(m.started) {
		return m.started
	}
	return at
}

// write submits the waiting minutes to the store. Only minutes that could not be
// written keep waiting, so that no minute is counted twice. Calls must not overlap
// with each other or with endMinute.
func (m *minutes) write(ctx context.Context, store ops.MinuteStore) (lost int, err error) {
	m.mu.RLock()
	list := m.waiting
	m.mu.RUnlock()
	if len(list) > 0 {
		list, err = store.AddMinutes(ctx, list)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting = list
	lost, m.lost = m.lost, 0
	return lost, err
}
