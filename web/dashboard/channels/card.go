package channels

import (
	"slices"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/why"
)

// longWait is how long a contact may wait in the queue before a channel with
// free slots needs attention.
const longWait = 15 * time.Minute

// Card is a channel on the overview.
type Card struct {
	api.ChannelView
	Bar    display.Bar
	Spark  *spark // nil: the last hours are unknown
	Rank   int    // 0: broken; less than rankOK: needs attention
	Advice string // why it needs attention
}

// Ranks of channels: the lowest are shown first.
const (
	rankBroken = iota
	rankBraked
	rankBlocked
	rankSlow
	rankInDoubt
	rankPausedQueue
	rankPaused
	RankOK
)

// CardOf returns the card of a channel.
func CardOf(l *locale.Locale, ch api.ChannelView, now time.Time) Card {
	c := Card{ChannelView: ch, Bar: capacityBar(l, ch), Rank: RankOK}
	waits := locale.Since(now, ch.OldestQueuedAt)
	switch {
	// The first cause that applies is shown: they are in the order of their ranks.
	case slices.Contains([]weir.Health{weir.Erring, weir.Down, weir.Faulted}, weir.Health(ch.State)):
		c.Rank, c.Advice = rankBroken, l.Reason(ch.StateReason)
	case ch.Breaker.State == breakerOpen:
		c.Rank, c.Advice = rankBroken, l.T("circuit breaker open: dispatch is suspended")
	case ch.Blocked > 0:
		c.Rank, c.Advice = rankBlocked, l.T("queued contacts need more slots than the capacity")
	case ch.Braked != nil:
		c.Rank, c.Advice = rankBraked, why.BrakedText(l, ch.Braked)
	case ch.Paused:
		c.Rank, c.Advice = rankPaused, l.T("Paused")
		if ch.Queued > 0 {
			c.Rank, c.Advice = rankPausedQueue, l.T("Paused · %s queued", l.Number(ch.Queued))
		}
	case waits > longWait && ch.InFlight < ch.Capacity:
		c.Rank, c.Advice = rankSlow, l.T("contacts wait although slots are free")
	case ch.Unknown*20 > ch.Capacity:
		c.Rank, c.Advice = rankInDoubt, l.T("many contacts have an unknown outcome")
	}
	if ch.Deleting {
		c.Advice = strings.TrimPrefix(c.Advice+"; "+l.T("being deleted"), "; ")
	}
	return c
}

// OnlyPaused reports whether the channel stands still because a user wants it to.
func (c Card) OnlyPaused() bool {
	return (c.Rank == rankPaused || c.Rank == rankPausedQueue) && !c.Deleting
}

// breakerOpen is the API's value.
const breakerOpen = "open"

// Class returns the CSS class for the channel's rank.
func (c Card) Class() string {
	switch c.Rank {
	case rankBroken, rankBraked:
		return "broken"
	case RankOK:
		return ""
	default:
		return "attention"
	}
}

// capacityBar shows what holds slots. A contact may hold several, so each state's
// share of the slots is estimated from its share of the contacts in flight.
func capacityBar(l *locale.Locale, ch api.ChannelView) display.Bar {
	contacts := ch.Sending + ch.Active + ch.Unknown
	share := func(n int) float64 {
		if contacts == 0 {
			return 0
		}
		return float64(ch.InFlight) * float64(n) / float64(contacts)
	}
	return display.Bar{
		Title: l.T("Slots"), Whole: float64(max(ch.Capacity, ch.InFlight)),
		Segments: []display.Segment{{Name: l.T("active"), Class: "c1", Value: share(ch.Active)}, {Name: l.T("sending"), Class: "c5", Value: share(ch.Sending)}, {Name: l.T("unknown"), Class: "c2", Value: share(ch.Unknown)}},
	}
}
