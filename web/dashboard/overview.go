package dashboard

import (
	"slices"
	"time"

	"weir/web/dashboard/channels"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
	"weir/web/dashboard/people"
	"weir/web/dashboard/router"
	"weir/web/dashboard/surveys"
)

// overview is the data of the overview page.
type overview struct {
	Undecided  int  // messages that may be opt-outs; 0: none, or the token may not decide
	NoChannels bool // the token may not read channels
	Channels   []channels.Card
	More       bool // there are more channels
	Totals     totals
	Recent     *channels.Recent // nil: unknown, or not shown
	Surveys    []surveys.Card
	Omitted    omitted
	Router     *router.Wallboard // nil: nothing to show
	Processes  []process         // empty: there is one, or they are not shown
}

// totals holds the totals of all channels.
type totals struct {
	Channels, NeedAttention              int
	InFlight, Capacity, Sending, Unknown int
	Queued                               int
	Oldest                               time.Time
	Bar                                  display.Bar
}

// overviewPage is what was read for the overview a moment ago.
type overviewPage struct {
	cards  *page.Cache[[]surveys.Card] // with the list of surveys
	recent *page.Cache[*channels.Recent]
}

func overviewPages(cards *page.Cache[[]surveys.Card]) *page.Page {
	known := &overviewPage{cards, page.NewCache[*channels.Recent](page.ChartsLife)}
	return &page.Page{Name: "overview", Path: "/", Nav: "Overview", Load: known.load, Live: []string{"summary", "recent", "channels", "surveys", "wallboard", "processes"}}
}

func (p *overviewPage) load(v *page.Visit) (*page.Content, error) {
	o := &overview{Router: router.ReadWallboard(v.Caller)}
	c := &page.Content{Title: v.T("Overview"), Data: o}
	var err error
	if o.Undecided, err = people.CountUndecided(v.Caller); err != nil {
		return nil, err
	}
	if o.Surveys, err = surveys.Running(v.Caller, p.cards); err != nil {
		return nil, err
	}
	if !v.May(page.Readers()...) {
		o.NoChannels = true
		return c, nil
	}
	list, more, err := choices.Channels(v.Caller)
	if err != nil {
		return nil, err
	}
	charts := channels.CachedRecent(v.Caller, p.recent)
	o.More = more
	if len(list) > 0 && !v.Wall() { // which has no room for them, but for those of the channels
		o.Recent = charts
	}
	for i := range list {
		card := channels.CardOf(v.Locale, list[i], v.Now())
		if charts != nil {
			card.Spark = charts.Sparks[list[i].Channel]
		}
		o.Channels = append(o.Channels, card)
		o.Totals.add(&card)
	}
	slices.SortStableFunc(o.Channels, func(a, b channels.Card) int { return a.Rank - b.Rank })
	o.Totals.finish(v.Locale)
	if v.Wall() {
		o.fitWall()
		return c, nil
	}
	o.Processes, err = readProcesses(v.Caller)
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
			if o.Channels[maxWallChannels+i].Rank < channels.RankOK {
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

func (s *totals) add(c *channels.Card) {
	s.Channels++
	if c.Rank < channels.RankOK {
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
