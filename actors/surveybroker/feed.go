package surveybroker

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/surveys"
)

// feed enqueues due steps and starts respondents, as far as channels have room.
func (r *round) feed(ctx context.Context, list []*known) error {
	slices.SortFunc(list, func(a, b *known) int { return int(a.survey.ID - b.survey.ID) })
	// Credits are lost with the process. The next epoch starts at the other end
	// of the list, so that restarts favor no survey.
	if r.role.epoch()%2 == 0 {
		slices.Reverse(list)
	}
	traffic, err := r.observe(ctx, list)
	if err != nil {
		return err
	}
	lanes := map[weir.ChannelID][]*bid{}
	for _, k := range list {
		bids, err := r.bids(ctx, k, traffic)
		if err != nil {
			return err
		}
		for _, b := range bids {
			lanes[b.channel] = append(lanes[b.channel], b)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(lanes)) {
		road := r.mem.road(id)
		wanted, room := 0, 0
		for _, b := range lanes[id] {
			wanted += b.size()
			room = max(room, b.room)
		}
		r.metrics.credit.WithLabelValues(r.channels[id].Name).Set(float64(room))
		road.rota = deal(road.rota, lanes[id])
		for _, b := range lanes[id] {
			if err := r.enqueue(ctx, b); err != nil {
				return err
			}
		}
	}
	for _, k := range list {
		if at := k.minute.Next(r.now, k.plan.LimitPerMinute); k.limited && at.After(r.now) {
			r.wake(at)
		}
	}
	return nil
}

// bids determines what a survey would enqueue. It does at once what needs no
// channel.
func (r *round) bids(ctx context.Context, k *known, traffic map[weir.ChannelID]*traffic) (out []*bid, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, nil
			r.broke(k, supervise.PanicText(p), debug.Stack())
		}
	}()
	if err := r.replay(ctx, k); err != nil {
		return nil, err
	}
	window, ok := k.plan.Schedule.Window(r.now)
	open := ok && !window.Open.After(r.now)
	room := func(id weir.ChannelID) int {
		t := traffic[id]
		if t == nil || !t.why.IsZero() || !open || r.misled(k, t.channel) {
			return 0
		}
		n, _ := t.flow(r.mem.road(id).meter.PerMinute()).Room(k.size(r.named, id), ahead, window.Close.Sub(r.now))
		return n
	}
	retries, err := r.due(ctx, k, room)
	if err != nil || !open {
		return nil, err
	}
	k.wanted = r.wantedOf(k, retries, traffic)
	starts, err := r.startable(ctx, k, room)
	if err != nil {
		return nil, err
	}
	budget := k.minute.Left(r.now, k.plan.LimitPerMinute)
	var channels []weir.ChannelID
	for _, mode := range surveys.Modes() {
		if id := r.named[k.plan.Channels[mode]]; id != 0 {
			channels = append(channels, id)
		}
	}
	out, k.limited = bidsOf(k, channels, retries, starts, r.tallies[k.survey.ID].verdict.Start, budget, room)
	for _, b := range out {
		b.each = k.size(r.named, b.channel)
	}
	return out, nil
}

// size returns the max slots of the survey's contacts on a channel.
func (k *known) size(named map[string]weir.ChannelID, id weir.ChannelID) int {
	size := 1
	for mode, name := range k.plan.Channels {
		if named[name] == id {
			size = max(size, k.plan.Size(mode))
		}
	}
	return size
}

// replay loads into k.minute what an earlier process began for the survey in
// the last minute. It does so once.
func (r *round) replay(ctx context.Context, k *known) error {
	if k.replayed {
		return nil
	}
	err := r.System.replay(ctx, k.survey.ID, &k.minute, r.now)
	k.replayed = err == nil
	return err
}

// replay loads into minute what a survey began in the last minute.
func (s *System) replay(ctx context.Context, survey int64, minute *surveys.Minute, now time.Time) error {
	begun, err := call(ctx, func(ctx context.Context) (map[time.Time]int, error) {
		return s.store.Begun(ctx, survey, now.Add(-time.Minute))
	})
	if err != nil {
		return fmt.Errorf("read what a survey has begun: %w", err)
	}
	for _, at := range slices.SortedFunc(maps.Keys(begun), time.Time.Compare) {
		minute.Take(at, begun[at])
	}
	return nil
}

// due reads the respondents that are due. It checks open contacts and ends
// respondents without a next step; it returns respondents that need a channel.
func (r *round) due(ctx context.Context, k *known, room func(weir.ChannelID) int) (out []item, _ error) {
	type read struct {
		page []surveys.Respondent
		next time.Time
	}
	got, err := call(ctx, func(ctx context.Context) (g read, err error) {
		g.page, g.next, err = r.store.DueRespondents(ctx, k.survey.ID, r.now, duePage)
		return g, err
	})
	if err != nil {
		return nil, fmt.Errorf("read whose time has come: %w", err)
	}
	r.wake(got.next)
	if len(got.page) == 0 {
		return nil, nil
	}
	d, err := r.desk(ctx, k)
	if err != nil {
		return nil, err
	}
	var changes []change
	for _, who := range got.page {
		c, i, err := r.timeout(ctx, d, who)
		if err != nil {
			return nil, err
		}
		switch {
		case i != nil:
			out = append(out, *i)
		case c != nil:
			changes = append(changes, *c)
		}
	}
	if slices.ContainsFunc(changes, func(c change) bool { return c.move.Is.Status.Final() }) {
		r.wake(r.now) // the survey may be done
	}
	if len(got.page) == duePage {
		r.again = r.again || len(changes) > 0
		changes = append(changes, r.crossed(d, out, room)...)
	}
	return out, r.write(ctx, k, changes)
}

// timeout takes the next step of a respondent that is due. If the step needs a
// channel, it returns an item instead of a change.
func (r *round) timeout(ctx context.Context, d *desk, who surveys.Respondent) (*change, *item, error) {
	if who.Progress.Contact != surveys.Idle {
		c, ok, err := r.inquire(ctx, d, who)
		if err != nil || !ok {
			return nil, nil, err
		}
		return &c, nil, nil
	}
	if !who.Counted && slices.Contains(r.tallies[who.Survey].full, who.Bucket) {
		if c, ok := d.step(who, d.plan.Reject); ok {
			return &c, nil, nil
		}
	}
	p, e, err := d.try(who.Progress, func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
		p, e := d.plan.Timeout(p, r.now)
		return p, e, nil
	})
	if err != nil {
		c := d.stumble(who)
		return &c, nil, nil //nolint:nilerr // it is the respondent's
	}
	if e.Enqueue == nil {
		if p == who.Progress {
			return nil, nil, nil
		}
		c := d.change(who, p, e)
		return &c, nil, nil
	}
	ch, _ := d.over(e.Enqueue.Mode)
	return nil, &item{who: who, p: p, e: e, over: ch.ID}, nil
}

// startable reads respondents that can be started and assigns them to arms. It
// rejects pending respondents of full buckets.
func (r *round) startable(ctx context.Context, k *known, room func(weir.ChannelID) int) (out []item, _ error) {
	t := r.tallies[k.survey.ID]
	if err := r.reject(ctx, k, t); err != nil {
		return nil, err
	}
	most := 0
	for _, arm := range k.plan.Arms {
		most = max(most, room(r.named[k.plan.Channels[arm.Modes[0]]]))
	}
	limit := startPage
	if len(k.plan.Arms) == 1 {
		limit = min(limit, most+1, t.verdict.Start) // one more than there is room for shows that the survey wants more
	}
	if t.verdict.Start <= 0 || most <= 0 {
		return nil, nil
	}
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return r.store.Startable(ctx, k.survey.ID, r.now, t.full, limit)
	})
	if err != nil {
		return nil, fmt.Errorf("read who can be started: %w", err)
	}
	if len(page) < limit && !k.aside.IsZero() {
		if k.aside.After(r.now) {
			r.wake(k.aside)
		} else {
			k.aside = time.Time{}
		}
	}
	d, err := r.desk(ctx, k)
	if err != nil {
		return nil, err
	}
	var changes []change
	for _, who := range page {
		arm := surveys.Choose(k.plan.Arms, chosen(k.survey.ID, who.ID))
		p, e, err := d.try(who.Progress, func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
			return k.plan.Start(p, r.now, arm)
		})
		if err != nil {
			changes = append(changes, d.stumble(who))
			continue
		}
		if e.Enqueue == nil {
			continue
		}
		ch, _ := d.over(e.Enqueue.Mode)
		out = append(out, item{who: who, p: p, e: e, over: ch.ID})
	}
	if len(page) == startPage {
		r.again = r.again || len(changes) > 0
		changes = append(changes, r.crossed(d, out, room)...)
	}
	return out, r.write(ctx, k, changes)
}

// reject ends respondents that are not needed because their bucket is full.
func (r *round) reject(ctx context.Context, k *known, t tally) error {
	if len(t.full) == 0 || t.Pending == 0 {
		return nil
	}
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return r.store.Rejectable(ctx, k.survey.ID, t.full, openPage)
	})
	if err != nil {
		return fmt.Errorf("read who is not needed: %w", err)
	}
	d, err := r.desk(ctx, k)
	if err != nil {
		return err
	}
	var changes []change
	for _, p := range page {
		if c, ok := d.step(p, k.plan.Reject); ok {
			changes = append(changes, c)
		}
	}
	r.again = r.again || len(changes) > 0
	return r.write(ctx, k, changes)
}

// enqueue writes the contacts that a bid was granted.
func (r *round) enqueue(ctx context.Context, b *bid) error {
	if b.size() == 0 {
		return nil
	}
	d, err := r.desk(ctx, b.survey)
	if err != nil {
		return err
	}
	var changes []change
	for _, i := range slices.Concat(b.retries, b.starts) {
		c := d.change(i.who, i.p, i.e)
		c.begun = c.move.Enqueue != nil
		changes = append(changes, c)
		// A respondent that is delayed now leaves room for the next.
		r.again = r.again || c.move.Is.Stumbles > c.move.Was.Stumbles
	}
	if len(b.retries) == duePage || len(b.starts) == startPage {
		r.again = true
	}
	return r.write(ctx, b.survey, changes)
}
