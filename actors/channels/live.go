package channels

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir"
	"weir/channels"
	"weir/operators"
)

// figuresTimeout is how long a request for live numbers waits for the brokers.
const figuresTimeout = 2 * time.Second

// liveFigures reads the brokers' state at each scrape.
type liveFigures struct {
	capacity, inFlight, sending, active, unknown, queued, blocked, oldest, health *prometheus.Desc
	breaker, retries, rate, mailbox                                               *prometheus.Desc

	source  func(context.Context) map[string]liveReport
	healths *healths
}

// liveReport is a broker's report on itself.
type liveReport struct {
	channel weir.Channel
	figures operators.Figures
	waiting int // messages in its mailbox
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
		mailbox:  desc("mailbox_messages", "Messages in the mailboxes of actors.", "kind"),
	}
	reg.MustRegister(l)
	return l
}

// Describe implements prometheus.Collector.
func (l *liveFigures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		l.capacity, l.inFlight, l.sending, l.active, l.unknown, l.queued, l.blocked, l.oldest, l.health,
		l.breaker, l.retries, l.rate, l.mailbox,
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
	waiting, running := 0, l.source(ctx)
	for name, is := range l.healths.without(running) {
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
		put(l.health, 1, string(f.Health))
	}
	ch <- prometheus.MustNewConstMetric(l.mailbox, prometheus.GaugeValue, float64(waiting), kindBroker)
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}

// Kinds of actors.
const (
	kindManager = "manager"
	kindBroker  = "broker"
)

// healths holds the last known provider health of channels: all that is known of a
// channel without a broker.
type healths struct{ byID sync.Map } // of health by weir.ChannelID

type health struct {
	channel string
	status  channels.Status
}

func (h *healths) set(ch *weir.Channel, s channels.Status) { h.byID.Store(ch.ID, health{ch.Name, s}) }

func (h *healths) forget(id weir.ChannelID) { h.byID.Delete(id) }

// last returns the last known provider health of a channel; up if it was never requested.
func (h *healths) last(id weir.ChannelID) (weir.Health, string) {
	if is, ok := h.byID.Load(id); ok {
		return is.(health).status.Health, is.(health).status.Reason
	}
	return weir.Up, ""
}

// without returns, by name, the healths of channels whose brokers do not run.
func (h *healths) without(running map[string]liveReport) map[string]weir.Health {
	out := map[string]weir.Health{}
	for _, is := range h.byID.Range {
		if is := is.(health); is.status.Health != "" {
			if _, runs := running[is.channel]; !runs {
				out[is.channel] = is.status.Health
			}
		}
	}
	return out
}
