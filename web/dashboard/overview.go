package dashboard

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"weir"
	webapi "weir/web/api"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

// longWait is how long a contact may wait in the queue before a channel with
// free slots needs attention.
const longWait = 15 * time.Minute

// overview is the data of the overview page.
type overview struct {
	Undecided  int  // messages that may be opt-outs; 0: none, or the token may not decide
	NoChannels bool // the token may not read channels
	Channels   []channelCard
	More       bool // there are more channels
	Totals     totals
	Recent     *recent // nil: unknown, or not shown
	Surveys    []surveyCard
	Omitted    omitted
	Router     *wallboard // nil: nothing to show
	Processes  []process  // empty: there is one, or they are not shown
}

// totals holds the totals of all channels.
type totals struct {
	Channels, NeedAttention              int
	InFlight, Capacity, Sending, Unknown int
	Queued                               int64
	Oldest                               time.Time
	Bar                                  display.Bar
}

// channelCard is a channel on the overview.
type channelCard struct {
	webapi.ChannelView
	Bar    display.Bar
	Spark  *spark // nil: the last hours are unknown
	Rank   int    // 0: broken; less than rankOK: needs attention
	Advice string // why it needs attention
}

func loadOverview(v *visit) (*content, error) {
	o := &overview{Router: readWallboard(v.caller)}
	c := &content{title: v.T("Overview"), data: o}
	var err error
	if o.Undecided, err = countUndecided(v.caller); err != nil {
		return nil, err
	}
	if o.Surveys, err = runningSurveys(v.caller, v.d.surveyCache); err != nil {
		return nil, err
	}
	if !v.May(readers()...) {
		o.NoChannels = true
		return c, nil
	}
	list, more, err := readChannels(v.caller)
	if err != nil {
		return nil, err
	}
	charts := cachedRecent(v.caller, v.d.recentCache)
	o.More = more
	if len(list) > 0 && !v.Wall() { // which has no room for them, but for those of the channels
		o.Recent = charts
	}
	for i := range list {
		card := channelCardOf(v.Locale, list[i], v.Now())
		if charts != nil {
			card.Spark = charts.Sparks[list[i].Channel]
		}
		o.Channels = append(o.Channels, card)
		o.Totals.add(&card)
	}
	slices.SortStableFunc(o.Channels, func(a, b channelCard) int { return a.Rank - b.Rank })
	o.Totals.finish(v.Locale)
	if v.Wall() {
		o.fitWall()
		return c, nil
	}
	o.Processes, err = readProcesses(v.caller)
	return c, err
}

// Limits of the wall view, which does not scroll. Channels in trouble come first.
const (
	maxWallChannels = 12
	maxWallSurveys  = 3
)

// omitted counts what does not fit on the wall.
type omitted struct{ Channels, NeedAttention, Surveys int }

// fitWall removes what does not fit on one screen.
func (o *overview) fitWall() {
	if n := len(o.Channels); n > maxWallChannels {
		o.Omitted.Channels = n - maxWallChannels
		for i := range o.Channels[maxWallChannels:] {
			if o.Channels[maxWallChannels+i].Rank < rankOK {
				o.Omitted.NeedAttention++
			}
		}
		o.Channels = o.Channels[:maxWallChannels]
	}
	if n := len(o.Surveys); n > maxWallSurveys {
		o.Omitted.Surveys = n - maxWallSurveys
		o.Surveys = o.Surveys[:maxWallSurveys]
	}
}

// readChannels lists the channels by name.
func readChannels(c *caller) (list []webapi.ChannelView, more bool, err error) {
	for cursor := ""; ; {
		var page webapi.ChannelList
		query := url.Values{"limit": {"500"}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		if err := c.get("/v1/channels", query, &page); err != nil {
			return nil, false, err
		}
		list = append(list, page.Channels...)
		cursor = page.NextCursor
		if cursor == "" || len(list) >= maxChannels {
			return list, cursor != "", nil
		}
	}
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
	rankOK
)

func channelCardOf(l *locale.Locale, ch webapi.ChannelView, now time.Time) channelCard {
	c := channelCard{ChannelView: ch, Bar: capacityBar(l, ch), Rank: rankOK}
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
		c.Rank, c.Advice = rankBraked, brakedText(l, ch.Braked)
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
func (c channelCard) OnlyPaused() bool {
	return (c.Rank == rankPaused || c.Rank == rankPausedQueue) && !c.Deleting
}

// breakerOpen is the API's value.
const breakerOpen = "open"

// Class returns the CSS class for the channel's rank.
func (c channelCard) Class() string {
	switch c.Rank {
	case rankBroken, rankBraked:
		return "broken"
	case rankOK:
		return ""
	default:
		return "attention"
	}
}

// capacityBar shows what holds slots. A contact may hold several, so each state's
// share of the slots is estimated from its share of the contacts in flight.
func capacityBar(l *locale.Locale, ch webapi.ChannelView) display.Bar {
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

func (s *totals) add(c *channelCard) {
	s.Channels++
	if c.Rank < rankOK {
		s.NeedAttention++
	}
	s.InFlight += c.InFlight
	s.Capacity += c.Capacity
	s.Sending += c.Sending
	s.Unknown += c.Unknown
	s.Queued += c.Queued
	if at := c.OldestQueuedAt; !at.IsZero() && (s.Oldest.IsZero() || at.Before(s.Oldest)) {
		s.Oldest = at
	}
}

func (s *totals) finish(l *locale.Locale) {
	s.Bar = display.Bar{Title: l.T("Slots of all channels"), Whole: float64(s.Capacity), Segments: []display.Segment{{Name: l.T("in flight"), Class: "c1", Value: float64(s.InFlight)}}}
}
