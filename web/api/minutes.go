package api

import (
	"math"
	"net/http"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/web/httpjson"
	"weir/web/route"
)

// Limits of one request for minutes.
const (
	minutesKept = 48 * time.Hour
	maxSpan     = 24 * time.Hour // for all channels
	usualSpan   = 3 * time.Hour
	usualHours  = 28 * 24 * time.Hour
	maxChannels = 500
)

// minuteCounter counts what was not stored yet.
type minuteCounter interface {
	// CurrentMinutes lists the counts that are not in the store yet.
	CurrentMinutes() []operators.Minute
}

// minuteRoutes serves the activity of channels.
type minuteRoutes struct {
	lookup channelLookup
	store  operators.MinuteStore
	broker minuteCounter
	now    func() time.Time
}

func (r *minuteRoutes) table() []*route.Route {
	span := func(words ...string) []httpjson.Parameter {
		return []httpjson.Parameter{
			{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339); absent: three hours before until"},
			{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339); absent: now"},
			{Name: "step", Kind: "string", Enum: words, Single: true, Default: words[0], Description: "width of a step; since and until are cut to whole ones"},
		}
	}
	const help = "Counted in memory by each process and stored once a minute, so that a crash loses the last minute of the charts, and of nothing else. " +
		"The minute under way is in it as far as the process that is asked has seen it. Minutes are kept for 48 hours."
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/channels/{channel}/minutes", ID: "get-minutes", Tag: "channels",
			Summary: "Get the activity of a channel, minute by minute", Description: help,
			Query: span("1m", "5m", "15m", "1h"), Handle: r.ofChannel,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "every step of the time", Body: route.TypeOf[api.MinutesView]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: "/v1/channels/{channel}/hours", ID: "get-hours", Tag: "channels",
			Summary: "Get how busy a channel was, hour by hour", Description: "Added up from the minutes as they are stored. Hours are kept for 13 weeks.",
			Query: []httpjson.Parameter{
				{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339); absent: four weeks before until"},
				{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339); absent: now"},
			},
			Handle:  r.hoursOfChannel,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the hours with activity", Body: route.TypeOf[api.HoursView]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: "/v1/minutes", ID: "list-minutes", Tag: "channels",
			Summary:     "Get the activity of all channels, for small charts",
			Description: help + " At most 24 hours in one request. The limit counts channels by name, including channels without activity, which are left out.",
			Query:       append(span("15m", "1h"), route.Paging(200, maxChannels)...), Handle: r.ofAll,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page of channels", Body: route.TypeOf[api.AllMinutesView]()}},
		},
	}
}

// span is an interval in whole steps.
type span struct {
	word         string
	step         time.Duration
	since, until time.Time
}

func (r *minuteRoutes) readSpan(c *route.Call, most time.Duration) (span, error) {
	now := r.now()
	p := span{word: c.Query.Text("step"), until: now}
	var err error
	if p.step, err = time.ParseDuration(p.word); err != nil { // it is empty
		c.Errors.Add("/step", "enum", "must be one of the steps")
		p.step = time.Minute
	}
	if t, given := c.Instant("until"); given && t.Before(now) {
		p.until = t
	}
	p.since = p.until.Add(-usualSpan)
	if t, given := c.Instant("since"); given {
		p.since = t
	}
	switch {
	case p.since.After(p.until):
		c.Errors.Add("/since", "range", "must be before until, and not in the future")
	case p.until.Sub(p.since) > most:
		c.Errors.Add("/since", "range", "must be at most %v before until", most)
	}
	p.since = p.since.UTC().Truncate(p.step)
	if cut := p.until.UTC().Truncate(p.step); cut.Before(p.until) || cut.Equal(p.since) {
		p.until = cut.Add(p.step)
	} else {
		p.until = cut
	}
	return p, c.Invalid()
}

// withUnstored returns the minutes that are counted but not stored yet, consistent
// with a read of the store. If minutes were stored meanwhile, it reads again,
// up to maxTries times, so that nothing is counted twice or missed.
func (r *minuteRoutes) withUnstored(read func() error) ([]operators.Minute, error) {
	for try := 1; ; try++ {
		before := oldest(r.broker.CurrentMinutes())
		if err := read(); err != nil {
			return nil, err
		}
		list := r.broker.CurrentMinutes()
		if oldest(list).Equal(before) || try == maxTries {
			return list, nil
		}
	}
}

func oldest(list []operators.Minute) time.Time {
	var at time.Time
	for i := range list {
		if at.IsZero() || list[i].At.Before(at) {
			at = list[i].At
		}
	}
	return at
}

func (r *minuteRoutes) ofChannel(c *route.Call) (route.Reply, error) {
	p, err := r.readSpan(c, minutesKept)
	if err != nil {
		return route.Reply{}, err
	}
	ch, err := r.lookup.named(c, c.Request.PathValue("channel"))
	if err != nil {
		return route.Reply{}, err
	}
	var list []operators.Minute
	var before *operators.Minute
	current, err := r.withUnstored(func() (err error) {
		list, before, err = r.store.Minutes(c, ch.ID, p.since, p.until)
		return err
	})
	if err != nil {
		return route.Reply{}, err
	}
	for i := range current {
		if current[i].Channel == ch.ID {
			list = append(list, current[i])
		}
	}
	return route.Reply{Status: http.StatusOK, Body: api.MinutesView{
		Channel: ch.Name, Step: p.word, Since: p.since, Until: p.until, Minutes: minuteViews(p, list, before),
	}}, nil
}

func (r *minuteRoutes) hoursOfChannel(c *route.Call) (route.Reply, error) {
	until := r.now()
	if t, given := c.Instant("until"); given && t.Before(until) {
		until = t
	}
	since := until.Add(-usualHours)
	if t, given := c.Instant("since"); given {
		since = t
	}
	switch {
	case since.After(until):
		c.Errors.Add("/since", "range", "must be before until, and not in the future")
	case until.Sub(since) > operators.HoursKept:
		c.Errors.Add("/since", "range", "must be at most %v before until", operators.HoursKept)
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	since = since.UTC().Truncate(time.Hour)
	if cut := until.UTC().Truncate(time.Hour); cut.Before(until) {
		until = cut.Add(time.Hour)
	}
	ch, err := r.lookup.named(c, c.Request.PathValue("channel"))
	if err != nil {
		return route.Reply{}, err
	}
	list, err := r.store.Hours(c, ch.ID, since, until)
	if err != nil {
		return route.Reply{}, err
	}
	v := api.HoursView{Channel: ch.Name, Since: since, Until: until.UTC(), Hours: []api.HourView{}}
	for _, h := range list {
		v.Hours = append(v.Hours, api.HourView{At: h.At, Sent: h.Sent, Capacity: h.Capacity, Utilization: math.Round(h.Utilization()*1000) / 1000})
	}
	return route.Reply{Status: http.StatusOK, Body: v}, nil
}

// minuteViews sums minutes into steps. A gauge keeps its last value where
// nothing changed.
func minuteViews(p span, list []operators.Minute, last *operators.Minute) []api.MinuteView {
	all := make([]operators.Minute, p.until.Sub(p.since)/p.step)
	for i := range list {
		if at := list[i].At; !at.Before(p.since) && at.Before(p.until) {
			all[at.Sub(p.since)/p.step].Add(&list[i])
		}
	}
	views := make([]api.MinuteView, len(all))
	for i := range all {
		m := &all[i]
		if last != nil && last.Gauged {
			m.MaxInFlight = max(m.MaxInFlight, last.InFlight)
			if !m.Gauged {
				m.Gauged, m.InFlight, m.Queued, m.Capacity = true, last.InFlight, last.Queued, last.Capacity
			}
		}
		last = m
		views[i] = minuteView(p.since.Add(time.Duration(i)*p.step), m)
	}
	return views
}

func minuteView(at time.Time, m *operators.Minute) api.MinuteView {
	n := &m.Counts
	v := api.MinuteView{
		At: at, Accepted: n[operators.CountAccepted], Sent: n[operators.CountSent], SendFailed: n[operators.CountSendFailed],
		Finished: api.FinishedView{
			Completed: n[operators.CountCompleted], Busy: n[operators.CountBusy], NoAnswer: n[operators.CountNoAnswer], Failed: n[operators.CountFailed],
			Expired: n[operators.CountExpired], Canceled: n[operators.CountCanceled], Lost: n[operators.CountLost], DeadLetter: n[operators.CountDeadLetter],
		},
		Callbacks: api.CallbacksView{
			Applied: n[operators.CountApplied], Duplicate: n[operators.CountDuplicate], Late: n[operators.CountLate],
			Unknown: n[operators.CountUnknownAttempt],
		},
		CollectorRuns: n[operators.CountReconciliations], Reconciled: n[operators.CountReconciled],
	}
	if m.Gauged {
		v.InFlight, v.InFlightMost, v.Queued, v.Capacity = &m.InFlight, &m.MaxInFlight, &m.Queued, &m.Capacity
	}
	return v
}

func (r *minuteRoutes) ofAll(c *route.Call) (route.Reply, error) {
	p, err := r.readSpan(c, maxSpan)
	if err != nil {
		return route.Reply{}, err
	}
	rows, next, err := r.lookup.page(c)
	if err != nil {
		return route.Reply{}, err
	}
	ids := make([]weir.ChannelID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	var list []operators.Minute
	current, err := r.withUnstored(func() (err error) {
		list, err = r.store.Quarters(c, ids, p.since, p.until)
		return err
	})
	if err != nil {
		return route.Reply{}, err
	}
	byChannel := map[weir.ChannelID][]operators.Minute{}
	for _, m := range append(list, current...) {
		byChannel[m.Channel] = append(byChannel[m.Channel], m)
	}
	v := api.AllMinutesView{Step: p.word, Since: p.since, Until: p.until, Channels: []api.ChannelMinutes{}, NextCursor: next}
	for i := range rows {
		if some := byChannel[rows[i].ID]; len(some) > 0 {
			v.Channels = append(v.Channels, channelMinutesOf(rows[i].Name, p, some))
		}
	}
	return route.Reply{Status: http.StatusOK, Body: v}, nil
}

func channelMinutesOf(name string, p span, list []operators.Minute) api.ChannelMinutes {
	n := int(p.until.Sub(p.since) / p.step)
	row := func() []int64 { return make([]int64, n) }
	v := api.ChannelMinutes{
		Channel: name, Accepted: row(), Sent: row(), SendFailed: row(), Finished: row(), Completed: row(), InFlightMost: row(), Queued: row(),
	}
	for i := range list {
		m := &list[i]
		if m.At.Before(p.since) || !m.At.Before(p.until) {
			continue
		}
		k := m.At.Sub(p.since) / p.step
		v.Accepted[k] += m.Counts[operators.CountAccepted]
		v.Sent[k] += m.Counts[operators.CountSent]
		v.SendFailed[k] += m.Counts[operators.CountSendFailed]
		v.Completed[k] += m.Counts[operators.CountCompleted]
		for o := operators.CountCompleted; o <= operators.CountDeadLetter; o++ {
			v.Finished[k] += m.Counts[o]
		}
		if m.Gauged {
			v.InFlightMost[k] = max(v.InFlightMost[k], m.MaxInFlight)
			v.Queued[k] = m.Queued
		}
	}
	return v
}
