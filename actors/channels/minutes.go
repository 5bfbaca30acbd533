package channels

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"weir"
	"weir/operators"
)

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
	counts   [operators.Counters]atomic.Int64
	gauged   atomic.Bool // a broker of this process runs the channel
	inFlight atomic.Int64
	peak     atomic.Int64
	queued   atomic.Int64
	capacity atomic.Int64

	// The fields below are guarded by the lock of minutes.
	written operators.Minute // the gauges written last
	sent    [rateOver]int64  // dispatches of the previous minutes, latest first
}

func (m *meter) count(c operators.Counter, n int) {
	if n > 0 {
		m.counts[c].Add(int64(n))
	}
}

func (m *meter) verdict(v weir.Verdict) {
	if c, ok := operators.VerdictCounter(v); ok {
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
func (m *meter) read(channel weir.ChannelID, at time.Time, take func(*atomic.Int64) int64) operators.Minute {
	out := operators.Minute{Channel: channel, At: at, Gauged: m.gauged.Load()}
	for i := range m.counts {
		out.Counts[i] = take(&m.counts[i])
	}
	if out.Gauged {
		out.InFlight, out.Queued, out.Capacity = m.inFlight.Load(), m.queued.Load(), m.capacity.Load()
		out.MaxInFlight = max(m.peak.Load(), out.InFlight)
	}
	return out
}

// changed reports whether a minute has counts, something in flight, or gauges that differ
// from those written last. What is in flight adds up to the use of an hour.
func (m *meter) changed(is *operators.Minute) bool {
	w := &m.written
	return !is.Empty() || is.Gauged && (!w.Gauged || is.InFlight > 0 || is.InFlight != w.InFlight || is.MaxInFlight != w.MaxInFlight ||
		is.Queued != w.Queued || is.Capacity != w.Capacity)
}

// minutes holds the meters of all channels.
type minutes struct {
	store   operators.MinuteStore // nil: they are not stored
	logger  *slog.Logger
	mu      sync.RWMutex
	meters  map[weir.ChannelID]*meter
	begun   time.Time // start of the current minute
	started time.Time
	waiting []operators.Minute // finished minutes that are not written
	lost    int                // minutes of channels dropped for lack of room
}

func newMinutes(now time.Time, store operators.MinuteStore, logger *slog.Logger) *minutes {
	return &minutes{store: store, logger: logger, meters: map[weir.ChannelID]*meter{}, begun: now.Truncate(time.Minute), started: now}
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
		meter.sent[0] = is.Counts[operators.CountSent]
		if !meter.changed(&is) {
			continue
		}
		if is.Gauged {
			meter.written = is
		}
		m.waiting = append(m.waiting, is)
	}
	if over := len(m.waiting) - maxWaitingMinutes; over > 0 {
		m.waiting = append([]operators.Minute(nil), m.waiting[over:]...)
		m.lost += over
	}
	m.begun = now.Truncate(time.Minute)
}

// current lists what is not in the store: the current minute, and minutes that
// wait to be written.
func (m *minutes) current() []operators.Minute {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := append([]operators.Minute(nil), m.waiting...)
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
	n := meter.counts[operators.CountSent].Load()
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
	if meter != nil && meter.counts[operators.CountSent].Load() > 0 {
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
func (m *minutes) write(ctx context.Context) (lost int, err error) {
	m.mu.RLock()
	list := m.waiting
	m.mu.RUnlock()
	if len(list) > 0 {
		list, err = m.store.AddMinutes(ctx, list)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting = list
	lost, m.lost = m.lost, 0
	return lost, err
}

// run writes each minute when it has ended.
func (m *minutes) run(ctx context.Context) {
	for {
		now := time.Now()
		next := now.Truncate(time.Minute).Add(time.Minute + minutesDelay)
		select {
		case <-ctx.Done():
			return
		case <-time.After(next.Sub(now)):
		}
		m.flush(ctx, minutesTimeout)
	}
}

// flush ends the current minute and writes what waits.
func (m *minutes) flush(ctx context.Context, limit time.Duration) {
	m.endMinute(time.Now())
	io, cancel := background(ctx, limit)
	defer cancel()
	lost, err := m.write(io)
	if err != nil {
		m.logger.Warn("channel minutes write failed; retrying", "error", err)
	}
	if lost > 0 {
		m.logger.Warn("channel minutes dropped: the buffer is full", "minutes", lost)
	}
}
