package dashboard

import (
	"html/template"
	"net/url"
	"slices"
	"time"

	"weir/web"
)

const (
	// fragmentsLife is how long a rendered region is shared.
	fragmentsLife = time.Second
	// chartsLife is how long charts are cached: their steps are minutes long.
	chartsLife  = 10 * time.Second
	historySpan = 6 * time.Hour
)

// sparks holds the small charts of all channels, by name. They are drawn once per
// cache lifetime.
type sparks map[string]*spark

type spark struct {
	SVG template.HTML
	Sum float64
}

// sparks returns charts of the last hours of every channel, or nil if they cannot
// be read: charts are no reason to fail a page.
func (v *visit) sparks() sparks {
	all, err := v.d.sparks.of(v.rights(), v.readSparks)
	if err != nil {
		return nil
	}
	return all
}

func (v *visit) readSparks() (sparks, error) {
	all := sparks{}
	query := url.Values{"step": {"15m"}, "limit": {"500"}, "since": {v.Now().Add(-historySpan).UTC().Format(time.RFC3339)}}
	for {
		var some web.AllMinutesView
		if err := v.get("/v1/minutes", query, &some); err != nil {
			return nil, err
		}
		for i := range some.Channels {
			c := &some.Channels[i]
			drawn := chart{
				Title: "Sent in the last 6 hours", Unit: "contacts per quarter of an hour", Begin: some.Since, Step: 15 * time.Minute,
				Series: []series{{Name: "sent", Class: "c1", Values: floats(c.Sent)}},
			}
			all[c.Channel] = &spark{drawn.through(v.Now()).Spark(), drawn.Sum()}
		}
		if some.NextCursor == "" || len(all) > mostChannels {
			return all, nil
		}
		query.Set("cursor", some.NextCursor)
	}
}

// hours returns the periods that a channel's page can show, and their steps.
func hours() []period {
	return []period{{"3", "3 hours", 3 * time.Hour, "5m", 5 * time.Minute}, {"12", "12 hours", 12 * time.Hour, "15m", 15 * time.Minute}, {"47", "2 days", 47 * time.Hour, "1h", time.Hour}}
}

// period is a time span that charts cover.
type period struct {
	Hours, Text string
	span        time.Duration
	word        string
	step        time.Duration
}

// hoursOf returns the period that a query asks for, by default the first.
func hoursOf(word string) period {
	all := hours()
	i := max(0, slices.IndexFunc(all, func(s period) bool { return s.Hours == word }))
	return all[i]
}

// charts holds the charts of a channel's page.
type charts struct {
	Traffic, Finished, Slots, Callbacks, Collector chart
	Outcomes                                       []row
}

func (v *visit) charts(channel string, s period) (*charts, error) {
	return v.d.charts.of(channel+"\n"+s.word+"\n"+v.rights(), func() (*charts, error) {
		var m web.MinutesView
		query := url.Values{"step": {s.word}, "since": {v.Now().Add(-s.span).UTC().Format(time.RFC3339)}}
		if err := v.get(apiPath("v1", "channels", channel, "minutes"), query, &m); err != nil {
			return nil, err
		}
		return chartsOf(&m, s, v.Now()), nil
	})
}

// pick returns a series of one number of each step.
func pick(m *web.MinutesView, name, class string, of func(*web.MinuteView) int64) series {
	s := series{Name: name, Class: class}
	for i := range m.Minutes {
		s.Values = append(s.Values, float64(of(&m.Minutes[i])))
	}
	return s
}

func known(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func chartsOf(m *web.MinutesView, s period, now time.Time) *charts {
	unit := "per " + span(s.step)
	draw := func(title string, stacked bool, list ...series) chart {
		return chart{Title: title, Unit: unit, Stacked: stacked, Begin: m.Since, Step: s.step, Series: list}.through(now)
	}
	outcomes := outcomeSeries(m)
	c := &charts{
		Traffic: draw("Contacts", false,
			pick(m, "accepted", "c8", func(x *web.MinuteView) int64 { return x.Accepted }),
			pick(m, "sent", "c1", func(x *web.MinuteView) int64 { return x.Sent }),
			pick(m, "not taken", "c4", func(x *web.MinuteView) int64 { return x.SendFailed })),
		Finished: draw("Finished, by outcome", true, outcomes...),
		Slots: draw("Slots in flight, most at one moment", false,
			pick(m, "in flight", "c1", func(x *web.MinuteView) int64 { return known(x.InFlightMost) }),
			pick(m, "capacity", "c4", func(x *web.MinuteView) int64 { return known(x.Capacity) })),
		Callbacks: draw("Callbacks", true,
			pick(m, "applied", "c3", func(x *web.MinuteView) int64 { return x.Callbacks.Applied }),
			pick(m, "duplicate", "c8", func(x *web.MinuteView) int64 { return x.Callbacks.Duplicate }),
			pick(m, "late", "c2", func(x *web.MinuteView) int64 { return x.Callbacks.Late }),
			pick(m, "unknown", "c4", func(x *web.MinuteView) int64 { return x.Callbacks.Unknown }),
			pick(m, "passed on", "c5", func(x *web.MinuteView) int64 { return x.Callbacks.Forwarded })),
		Collector: draw("Collector", false,
			pick(m, "runs", "c8", func(x *web.MinuteView) int64 { return x.CollectorRuns }),
			pick(m, "contacts settled by asking", "c5", func(x *web.MinuteView) int64 { return x.Reconciled })),
	}
	c.Slots.Unit = ""
	c.Slots.Series[1].Kind = limit
	asFirstKnown(c.Slots.Series[1].Values)
	c.Traffic.Series[0].Kind, c.Traffic.Series[2].Kind = line, line
	c.Collector.Series[0].Kind, c.Collector.Series[1].Kind = line, line
	for _, o := range outcomes {
		sum := 0.0
		for _, n := range o.Values {
			sum += n
		}
		c.Outcomes = append(c.Outcomes, row{Name: o.Name, Class: o.Class, Value: sum})
	}
	c.Outcomes = rowsOf(0, c.Outcomes)
	return c
}

// asFirstKnown fills unknown values at the beginning with the first known one: a
// capacity does not rise from 0.
func asFirstKnown(values []float64) {
	first := slices.IndexFunc(values, func(v float64) bool { return v > 0 })
	for i := range max(0, first) {
		values[i] = values[first]
	}
}

func outcomeSeries(m *web.MinutesView) []series {
	return []series{
		pick(m, "completed", "c3", func(x *web.MinuteView) int64 { return x.Finished.Completed }),
		pick(m, "busy", "c2", func(x *web.MinuteView) int64 { return x.Finished.Busy }),
		pick(m, "no answer", "c5", func(x *web.MinuteView) int64 { return x.Finished.NoAnswer }),
		pick(m, "failed", "c4", func(x *web.MinuteView) int64 { return x.Finished.Failed }),
		pick(m, "expired", "c6", func(x *web.MinuteView) int64 { return x.Finished.Expired }),
		pick(m, "canceled", "c8", func(x *web.MinuteView) int64 { return x.Finished.Canceled }),
		pick(m, "lost", "c7", func(x *web.MinuteView) int64 { return x.Finished.Lost }),
		pick(m, "dead letter", "c1", func(x *web.MinuteView) int64 { return x.Finished.DeadLetter }),
	}
}

func floats(list []int64) []float64 {
	out := make([]float64, len(list))
	for i, n := range list {
		out[i] = float64(n)
	}
	return out
}
