package channels

import (
	"html/template"
	"net/url"
	"slices"
	"time"

	"weir/api"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

const historySpan = 6 * time.Hour

// Recent holds the charts of the last hours of the overview. They are drawn once per cache
// lifetime.
type Recent struct {
	Sparks                     map[string]*spark // by channel
	Contacts, Finished, Queued display.Chart     // of all channels together
}

type spark struct {
	SVG template.HTML
	Sum float64
}

// CachedRecent returns the charts of the last hours, or nil if they cannot be read: charts are
// no reason to fail a page.
func CachedRecent(c *page.Caller, known *page.Cache[*Recent]) *Recent {
	all, err := known.Get(c.RightsKey(), func() (*Recent, error) { return readRecent(c, time.Now()) })
	if err != nil {
		return nil
	}
	return all
}

func readRecent(c *page.Caller, now time.Time) (*Recent, error) {
	const step = 15 * time.Minute
	all := &Recent{Sparks: map[string]*spark{}}
	var sum api.ChannelMinutes
	query := url.Values{"step": {"15m"}, "limit": {"500"}, "since": {now.Add(-historySpan).UTC().Format(time.RFC3339)}}
	for {
		var some api.AllMinutesView
		if err := c.Get("/v1/minutes", query, &some); err != nil {
			return nil, err
		}
		for i := range some.Channels {
			ch := &some.Channels[i]
			drawn := display.Chart{
				Title: c.T("Dispatched in the last 6 hours"), Unit: c.T("contacts per 15 min"), Begin: some.Since, Step: step,
				Series: []display.Series{{Name: c.T("dispatched"), Class: "c1", Values: floats(ch.Sent)}},
			}
			all.Sparks[ch.Channel] = &spark{drawn.Through(now).Spark(c.Locale), drawn.Series[0].Sum()}
			addSteps(&sum, ch)
		}
		if some.NextCursor == "" || len(all.Sparks) > choices.MaxChannels {
			all.draw(c.Locale, &sum, display.Chart{Unit: c.T("per %s", c.Span(step)), Begin: some.Since, Step: step}, now)
			return all, nil
		}
		query.Set("cursor", some.NextCursor)
	}
}

// addSteps adds the steps of a channel to those of all.
func addSteps(sum, ch *api.ChannelMinutes) {
	for _, of := range []func(*api.ChannelMinutes) *[]int64{
		func(m *api.ChannelMinutes) *[]int64 { return &m.Accepted },
		func(m *api.ChannelMinutes) *[]int64 { return &m.Sent },
		func(m *api.ChannelMinutes) *[]int64 { return &m.SendFailed },
		func(m *api.ChannelMinutes) *[]int64 { return &m.Finished },
		func(m *api.ChannelMinutes) *[]int64 { return &m.Completed },
		func(m *api.ChannelMinutes) *[]int64 { return &m.Queued },
	} {
		to, from := of(sum), *of(ch)
		*to = append(*to, make([]int64, max(0, len(from)-len(*to)))...)
		for i, n := range from {
			(*to)[i] += n
		}
	}
}

// draw draws the charts of all channels together, each like the given one.
func (r *Recent) draw(l *locale.Locale, sum *api.ChannelMinutes, like display.Chart, now time.Time) {
	others := floats(sum.Finished)
	for i := range others {
		others[i] -= float64(sum.Completed[i])
	}
	chart := func(title locale.Message, list ...display.Series) display.Chart {
		drawn := like
		drawn.Title, drawn.Series = l.T(title), list
		return drawn.Through(now)
	}
	r.Contacts = chart("Contacts",
		display.Series{Name: l.T("accepted"), Class: "c8", Values: floats(sum.Accepted), Kind: display.Line},
		display.Series{Name: l.T("dispatched"), Class: "c1", Values: floats(sum.Sent)},
		display.Series{Name: l.T("not accepted by the provider"), Class: "c4", Values: floats(sum.SendFailed), Kind: display.Line})
	r.Finished = chart("Finished, by outcome",
		display.Series{Name: l.T("completed"), Class: "c3", Values: floats(sum.Completed)},
		display.Series{Name: l.T("other outcomes"), Class: "c2", Values: others})
	r.Finished.Stacked = true
	r.Queued = chart("Queued at the end of each period", display.Series{Name: l.T("queued"), Class: "c5", Values: floats(sum.Queued)})
	r.Queued.Unit, r.Queued.Levels, r.Queued.Caption = "", true, r.Queued.Title
}

// periods returns the periods that a channel's page can show, and their steps.
func periods() []period {
	return []period{
		{"3", "3 hours", "Last 3 hours", 3 * time.Hour, "5m", 5 * time.Minute},
		{"12", "12 hours", "Last 12 hours", 12 * time.Hour, "15m", 15 * time.Minute},
		{"47", "2 days", "Last 2 days", 47 * time.Hour, "1h", time.Hour},
	}
}

// period is a time span that charts cover.
type period struct {
	Hours       string
	Text, Title locale.Message
	length      time.Duration
	stepText    string
	step        time.Duration
}

// periodOf returns the period that a query asks for, by default the first.
func periodOf(word string) period {
	all := periods()
	i := max(0, slices.IndexFunc(all, func(s period) bool { return s.Hours == word }))
	return all[i]
}

// charts holds the charts of a channel's page.
type charts struct {
	Traffic, Finished, Slots, Callbacks, Collector display.Chart
	Outcomes                                       []display.Row
}

func readCharts(c *page.Caller, known *page.Cache[*charts], channel string, s period) (*charts, error) {
	return known.Get(channel+"\n"+s.stepText+"\n"+c.RightsKey(), func() (*charts, error) {
		now := time.Now()
		var m api.MinutesView
		query := url.Values{"step": {s.stepText}, "since": {now.Add(-s.length).UTC().Format(time.RFC3339)}}
		if err := c.Get(page.Path("v1", "channels", channel, "minutes"), query, &m); err != nil {
			return nil, err
		}
		return chartsOf(c.Locale, &m, s, now), nil
	})
}

// seriesOf returns a series of one number of each step.
func seriesOf(l *locale.Locale, m *api.MinutesView, name locale.Message, class string, of func(*api.MinuteView) int64) display.Series {
	s := display.Series{Name: l.T(name), Class: class}
	for i := range m.Minutes {
		s.Values = append(s.Values, float64(of(&m.Minutes[i])))
	}
	return s
}

func valueOrZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func chartsOf(l *locale.Locale, m *api.MinutesView, s period, now time.Time) *charts {
	unit := l.T("per %s", l.Span(s.step))
	draw := func(title locale.Message, stacked bool, list ...display.Series) display.Chart {
		return display.Chart{Title: l.T(title), Unit: unit, Stacked: stacked, Begin: m.Since, Step: s.step, Series: list}.Through(now)
	}
	outcomes := outcomeSeries(l, m)
	c := &charts{
		Traffic: draw("Contacts", false,
			seriesOf(l, m, "accepted", "c8", func(x *api.MinuteView) int64 { return x.Accepted }),
			seriesOf(l, m, "dispatched", "c1", func(x *api.MinuteView) int64 { return x.Sent }),
			seriesOf(l, m, "not accepted by the provider", "c4", func(x *api.MinuteView) int64 { return x.SendFailed })),
		Finished: draw("Finished, by outcome", true, outcomes...),
		Slots: draw("Slots in flight, maximum", false,
			seriesOf(l, m, "in flight", "c1", func(x *api.MinuteView) int64 { return valueOrZero(x.InFlightMost) }),
			seriesOf(l, m, "capacity", "c4", func(x *api.MinuteView) int64 { return valueOrZero(x.Capacity) })),
		Callbacks: draw("Callbacks", true,
			seriesOf(l, m, "applied", "c3", func(x *api.MinuteView) int64 { return x.Callbacks.Applied }),
			seriesOf(l, m, "duplicate", "c8", func(x *api.MinuteView) int64 { return x.Callbacks.Duplicate }),
			seriesOf(l, m, "late", "c2", func(x *api.MinuteView) int64 { return x.Callbacks.Late }),
			seriesOf(l, m, "unknown", "c4", func(x *api.MinuteView) int64 { return x.Callbacks.Unknown })),
		Collector: draw("Reconciliation", false,
			seriesOf(l, m, "runs", "c8", func(x *api.MinuteView) int64 { return x.CollectorRuns }),
			seriesOf(l, m, "contacts reconciled", "c5", func(x *api.MinuteView) int64 { return x.Reconciled })),
	}
	c.Slots.Unit, c.Slots.Levels = "", true
	c.Slots.Series[1].Kind = display.Limit
	fillLeadingZeros(c.Slots.Series[1].Values)
	c.Traffic.Series[0].Kind, c.Traffic.Series[2].Kind = display.Line, display.Line
	c.Collector.Series[0].Kind, c.Collector.Series[1].Kind = display.Line, display.Line
	for _, o := range outcomes {
		c.Outcomes = append(c.Outcomes, display.Row{Name: o.Name, Class: o.Class, Value: o.Sum()})
	}
	c.Outcomes = display.Rows(l, 0, c.Outcomes)
	return c
}

// fillLeadingZeros fills unknown values at the beginning with the first known one: a
// capacity does not rise from 0.
func fillLeadingZeros(values []float64) {
	first := slices.IndexFunc(values, func(v float64) bool { return v > 0 })
	for i := range max(0, first) {
		values[i] = values[first]
	}
}

func outcomeSeries(l *locale.Locale, m *api.MinutesView) []display.Series {
	return []display.Series{
		seriesOf(l, m, "completed", "c3", func(x *api.MinuteView) int64 { return x.Finished.Completed }),
		seriesOf(l, m, "busy", "c2", func(x *api.MinuteView) int64 { return x.Finished.Busy }),
		seriesOf(l, m, "no answer", "c5", func(x *api.MinuteView) int64 { return x.Finished.NoAnswer }),
		seriesOf(l, m, "failed", "c4", func(x *api.MinuteView) int64 { return x.Finished.Failed }),
		seriesOf(l, m, "expired", "c6", func(x *api.MinuteView) int64 { return x.Finished.Expired }),
		seriesOf(l, m, "canceled", "c8", func(x *api.MinuteView) int64 { return x.Finished.Canceled }),
		seriesOf(l, m, "lost", "c7", func(x *api.MinuteView) int64 { return x.Finished.Lost }),
		seriesOf(l, m, "dead letter", "c1", func(x *api.MinuteView) int64 { return x.Finished.DeadLetter }),
	}
}

func floats(list []int64) []float64 {
	out := make([]float64, len(list))
	for i, n := range list {
		out[i] = float64(n)
	}
	return out
}
