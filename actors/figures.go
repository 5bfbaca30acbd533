package actors

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir"
	"weir/actors/core"
	"weir/ops"
)

// Figures returns a channel's live numbers: from its broker, or from the store
// if no broker of this process runs the channel.
func (s *System) Figures(ctx context.Context, ch weir.Channel) (ops.Figures, error) {
	list, err := s.FiguresOf(ctx, []weir.Channel{ch})
	if err != nil {
		return ops.Figures{}, err
	}
	return list[0], nil
}

// FiguresOf returns the live numbers of channels, in their order. It takes two or
// three statements of the store regardless of their number, and queries the
// brokers concurrently.
func (s *System) FiguresOf(ctx context.Context, list []weir.Channel) ([]ops.Figures, error) {
	ids := make([]weir.ChannelID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	heard, elsewhere := s.askBrokers(ctx, ids)
	absent := make(map[weir.ChannelID]bool, len(elsewhere))
	if len(elsewhere) > 0 {
		flights, err := s.store.Flights(ctx, elsewhere)
		if err != nil {
			return nil, err
		}
		for _, id := range elsewhere {
			f := flights[id]
			f.Health, f.HealthReason = s.lastHealth(id)
			heard[id], absent[id] = f, true
		}
	}
	backlogs, err := s.store.Backlogs(ctx, ids)
	if err != nil {
		return nil, err
	}
	now, out := time.Now(), make([]ops.Figures, len(list))
	for i, ch := range list {
		f, ok := heard[ch.ID]
		if !ok {
			f = ops.Figures{Health: weir.Faulted, HealthReason: "the channel's broker does not answer"}
		}
		if ch.Paused {
			f.Health, f.HealthReason = weir.Paused, ""
		}
		f.Queued, f.OldestQueuedAt = backlogs[ch.ID].Queued, backlogs[ch.ID].OldestQueuedAt
		if absent[ch.ID] {
			f.Why = core.WhyNextStored(&ch, f)
		}
		f.SentPerMinute = s.minutes.perMinute(ch.ID, now)
		out[i] = f
	}
	return out, nil
}

// askBrokers requests the figures of channels from their brokers. elsewhere lists the
// channels that no broker of this process runs; one whose broker does not answer
// is in neither.
func (s *System) askBrokers(ctx context.Context, ids []weir.ChannelID) (heard map[weir.ChannelID]ops.Figures, elsewhere []weir.ChannelID) {
	ctx, cancel := background(ctx, figuresTimeout)
	defer cancel()
	type answer struct {
		channel weir.ChannelID
		figures ops.Figures
		absent  bool
	}
	answers := make(chan answer, len(ids)) // room for all, so that no broker blocks
	for _, id := range ids {
		missing := func() { answers <- answer{channel: id, absent: true} }
		s.root.Send(s.manager, ifRunning{id, figuresRequest{
			answer: func(l liveReport) { answers <- answer{channel: id, figures: l.figures} },
			absent: missing,
		}, missing})
	}
	heard = make(map[weir.ChannelID]ops.Figures, len(ids))
	for range ids {
		select {
		case a := <-answers:
			if a.absent {
				elsewhere = append(elsewhere, a.channel)
			} else {
				heard[a.channel] = a.figures
			}
		case <-ctx.Done():
			return heard, elsewhere
		}
	}
	return heard, elsewhere
}

// allFigures requests the figures of every running broker.
func (s *System) allFigures(ctx context.Context) map[string]liveReport {
	count := make(chan int, 1)
	answers := make(chan liveReport, changesAtOnce)
	answer := func(l liveReport) {
		select {
		case answers <- l:
		case <-ctx.Done():
		}
	}
	s.root.Send(s.manager, broadcast{figuresRequest{answer: answer}, count})
	all := map[string]liveReport{}
	select {
	case n := <-count:
		for range n {
			select {
			case a := <-answers:
				if a.channel.Name != "" {
					all[a.channel.Name] = a
				}
			case <-ctx.Done():
				return all
			}
		}
	case <-ctx.Done():
	}
	return all
}

// healthsWithoutBroker returns, by name, the last known provider health of channels that
// no broker of this process runs.
func (s *System) healthsWithoutBroker(running map[string]liveReport) map[string]weir.Health {
	out := map[string]weir.Health{}
	for _, h := range s.healths.Range {
		if h := h.(health); h.status.Health != "" {
			if _, runs := running[h.channel]; !runs {
				out[h.channel] = h.status.Health
			}
		}
	}
	return out
}

// whyRequest requests the reasons why contacts of its channel wait. absent is called
// instead of answer by a broker that does not run its channel.
type whyRequest struct {
	contacts []weir.Contact
	answer   func([]ops.Why)
	absent   func()
}

// Whys explains why each of some contacts of one channel waits: from the memory
// of its broker, or from the contacts' rows if no broker of this process runs the
// channel.
func (s *System) Whys(ctx context.Context, ch weir.Channel, contacts []weir.Contact) ([]ops.Why, error) {
	asked, cancel := background(ctx, figuresTimeout)
	defer cancel()
	answers := make(chan []ops.Why, 2) // room for all, so that no broker blocks
	absent := func() { answers <- nil }
	s.root.Send(s.manager, ifRunning{ch.ID, whyRequest{contacts, func(list []ops.Why) { answers <- list }, absent}, absent})
	select {
	case list := <-answers:
		if list != nil {
			return list, nil
		}
	case <-asked.Done():
	}
	flights, err := s.store.Flights(ctx, []weir.ChannelID{ch.ID})
	if err != nil {
		return nil, err
	}
	list := make([]ops.Why, len(contacts))
	for i := range contacts {
		list[i] = core.WhyStored(s.coreConfig, &ch, flights[ch.ID].InFlight, &contacts[i])
	}
	return list, nil
}

func (b *broker) onWhys(m whyRequest) {
	if b.core == nil || b.stopping { // then another process may hold the lease
		m.absent()
		return
	}
	now, list := time.Now(), make([]ops.Why, len(m.contacts))
	for i := range m.contacts {
		list[i] = b.core.Why(&m.contacts[i], now)
	}
	m.answer(list)
}

// CurrentMinutes lists what this process has counted and not written yet, mainly
// the current minute.
func (s *System) CurrentMinutes() []ops.Minute { return s.minutes.current() }

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
