package surveybroker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/surveys"
	"weir/surveys/pacing"
)

// feed enqueues due steps and starts respondents, as far as channels have room.
func (r *round) feed(ctx context.Context, list []*surveyState) error {
	slices.SortFunc(list, func(a, b *surveyState) int { return int(a.survey.ID - b.survey.ID) })
	// Credits are lost with the process. The next one starts at the other end
	// of the list, so that restarts favor no survey.
	if r.o.Start%2 == 0 {
		slices.Reverse(list)
	}
	loads, err := r.measureChannels(ctx, list)
	if err != nil {
		return err
	}
	byChannel := map[weir.ChannelID][]*bid{}
	for _, sv := range list {
		bids, err := r.collectBids(ctx, sv, loads)
		if err != nil {
			return err
		}
		for _, b := range bids {
			byChannel[b.channel] = append(byChannel[b.channel], b)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byChannel)) {
		pace := r.memory.pace(id)
		room := 0
		for _, b := range byChannel[id] {
			room = max(room, b.room)
		}
		r.o.Metrics.credit.WithLabelValues(r.channels[id].Name).Set(float64(room))
		pace.share = divideRoom(pace.share, byChannel[id])
		for _, b := range byChannel[id] {
			if err := r.enqueue(ctx, b); err != nil {
				return err
			}
		}
	}
	for _, sv := range list {
		if at := sv.limit.Next(r.now, sv.plan.LimitPerMinute); sv.rateLimited && at.After(r.now) {
			r.wakeAt(at)
		}
	}
	return nil
}

// deferBlocked delays respondents whose channel has no room, so that the next page
// shows others. It does so only if they are at least half of the candidates and
// another channel of the survey has room. The next page follows after
// blockedPause, because hundreds of thousands more may be blocked.
func (r *round) deferBlocked(st *stepper, candidates []candidate, room func(weir.ChannelID) int) []change {
	var out []change
	for _, i := range candidates {
		if room(i.channel) > 0 {
			continue
		}
		// A millisecond apart, so that they are due in the order that they had.
		p, till := i.respondent.Progress, st.now.Add(blockedDelay+time.Duration(len(out))*time.Millisecond)
		if p.Status == surveys.Pending {
			p.DelayedUntil = till
		} else {
			p.DueAt = till
		}
		out = append(out, st.buildChange(i.respondent, p, surveys.Effects{}))
	}
	if 2*len(out) < len(candidates) || !r.anyRoom(st.plan, room) {
		return nil
	}
	r.wakeAt(st.now.Add(blockedPause))
	return out
}

// anyRoom reports whether any channel of the survey has room.
func (r *round) anyRoom(plan *surveys.Plan, room func(weir.ChannelID) int) bool {
	for _, name := range plan.Channels {
		if room(r.channelIDs[name]) > 0 {
			return true
		}
	}
	return false
}

// backlogOf counts the survey's backlog: respondents that it would contact now
// if there were room. These are due retries whose channel works, and starts
// that pacing wants if the first channel of an arm works. A survey whose
// backlog stays above zero while it contacts no respondent is stuck; the metric
// exists to show that.
func (r *round) backlogOf(sv *surveyState, retries []candidate, loads map[weir.ChannelID]*channelLoad) int {
	works := func(id weir.ChannelID) bool {
		t := loads[id]
		return t != nil && t.why.IsZero()
	}
	n := 0
	for _, i := range retries {
		if works(i.channel) {
			n++
		}
	}
	t := r.tallies[sv.survey.ID]
	for _, arm := range sv.plan.Arms {
		if works(r.channelIDs[sv.plan.Channels[arm.Modes[0]]]) {
			return n + max(0, min(t.decision.Start, t.Pending))
		}
	}
	return n
}

// collectBids determines what a survey would enqueue. It does at once what needs no
// channel.
func (r *round) collectBids(ctx context.Context, sv *surveyState, loads map[weir.ChannelID]*channelLoad) (out []*bid, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, nil
			// A panic in the rules of one survey must not end the round of the others.
			r.skipBroken(sv, p)
		}
	}()
	if err := r.loadLimit(ctx, sv); err != nil {
		return nil, err
	}
	window, ok := sv.plan.Schedule.Window(r.now)
	open := ok && !window.Open.After(r.now)
	room := func(id weir.ChannelID) int {
		t := loads[id]
		if t == nil || !t.why.IsZero() || !open || r.hasMismatch(sv, t.channel) {
			return 0
		}
		n, _ := t.pacingLoad(r.memory.pace(id).rate.PerMinute()).Room(sv.contactSize(r.channelIDs, id), feedAhead, window.Close.Sub(r.now))
		return n
	}
	retries, err := r.dueCandidates(ctx, sv, room)
	if err != nil || !open {
		return nil, err
	}
	sv.backlog = r.backlogOf(sv, retries, loads)
	starts, err := r.startCandidates(ctx, sv, room)
	if err != nil {
		return nil, err
	}
	budget := sv.limit.Left(r.now, sv.plan.LimitPerMinute)
	var channels []weir.ChannelID
	for _, mode := range surveys.Modes() {
		if id := r.channelIDs[sv.plan.Channels[mode]]; id != 0 {
			channels = append(channels, id)
		}
	}
	out, sv.rateLimited = groupBids(sv, channels, retries, starts, r.tallies[sv.survey.ID].decision.Start, budget, room)
	for _, b := range out {
		b.contactSize = sv.contactSize(r.channelIDs, b.channel)
	}
	return out, nil
}

// contactSize returns the max slots of the survey's contacts on a channel.
func (sv *surveyState) contactSize(named map[string]weir.ChannelID, id weir.ChannelID) int {
	size := 1
	for mode, name := range sv.plan.Channels {
		if named[name] == id {
			size = max(size, sv.plan.Size(mode))
		}
	}
	return size
}

// loadLimit loads into sv.limit what an earlier process began for the survey in
// the last minute. It does so once.
func (r *round) loadLimit(ctx context.Context, sv *surveyState) error {
	if sv.limitLoaded {
		return nil
	}
	err := r.loadMinute(ctx, sv.survey.ID, &sv.limit, r.now)
	sv.limitLoaded = err == nil
	return err
}

// loadMinute loads into minute what a survey began in the last minute.
func (s *System) loadMinute(ctx context.Context, survey int64, minute *pacing.MinuteLimit, now time.Time) error {
	counts, err := call(ctx, func(ctx context.Context) (map[time.Time]int, error) {
		return s.o.Store.EnqueuedSince(ctx, survey, now.Add(-time.Minute))
	})
	if err != nil {
		return fmt.Errorf("read recent starts: %w", err)
	}
	for _, at := range slices.SortedFunc(maps.Keys(counts), time.Time.Compare) {
		minute.Add(at, counts[at])
	}
	return nil
}

// dueCandidates reads the respondents that are due. It checks open contacts and ends
// respondents without a next step; it returns respondents that need a channel.
func (r *round) dueCandidates(ctx context.Context, sv *surveyState, room func(weir.ChannelID) int) (out []candidate, _ error) {
	page, next, err := call2(ctx, func(ctx context.Context) ([]surveys.Respondent, time.Time, error) {
		return r.o.Store.DueRespondents(ctx, sv.survey.ID, r.now, duePage)
	})
	if err != nil {
		return nil, fmt.Errorf("read due respondents: %w", err)
	}
	r.wakeAt(next)
	if len(page) == 0 {
		return nil, nil
	}
	st, err := r.stepper(ctx, sv)
	if err != nil {
		return nil, err
	}
	var changes []change
	for _, who := range page {
		c, i, err := r.stepDue(ctx, st, who)
		if err != nil {
			return nil, err
		}
		out, changes = append(out, i...), append(changes, c...)
	}
	if slices.ContainsFunc(changes, func(c change) bool { return c.move.Is.Status.Final() }) {
		r.wakeAt(r.now) // the survey may be done
	}
	if len(page) == duePage {
		// Without a change, the next round would read the same page again.
		r.moreWork = r.moreWork || len(changes) > 0
		changes = append(changes, r.deferBlocked(st, out, room)...)
	}
	return out, r.write(ctx, sv, changes)
}

// stepDue takes the next step of a respondent that is due: a change, or a
// candidate if the step needs a channel.
func (r *round) stepDue(ctx context.Context, st *stepper, who surveys.Respondent) ([]change, []candidate, error) {
	if who.Progress.Contact != surveys.Idle {
		c, ok, err := r.checkOverdue(ctx, st, who)
		if err != nil || !ok {
			return nil, nil, err
		}
		return []change{c}, nil, nil
	}
	// Its bucket has filled since it was started: no further contact is spent on it.
	if !who.Counted && slices.Contains(r.tallies[who.Survey].full, who.Bucket) {
		if c, ok := st.step(who, st.plan.Reject); ok {
			return []change{c}, nil, nil
		}
	}
	p, e, err := st.try(who.Progress, certain(func(p surveys.Progress) (surveys.Progress, surveys.Effects) { return st.plan.Timeout(p, r.now) }))
	switch {
	case err != nil:
		return []change{st.deferFailed(who)}, nil, nil //nolint:nilerr // the failure is recorded with the respondent
	case e.Enqueue == nil && p == who.Progress:
		return nil, nil, nil
	case e.Enqueue == nil:
		return []change{st.buildChange(who, p, e)}, nil, nil
	}
	ch, _ := st.channelFor(e.Enqueue.Mode)
	return nil, []candidate{{respondent: who, progress: p, effects: e, channel: ch.ID}}, nil
}

// startCandidates reads respondents that can be started and assigns them to arms. It
// rejects pending respondents of full buckets.
func (r *round) startCandidates(ctx context.Context, sv *surveyState, room func(weir.ChannelID) int) (out []candidate, _ error) {
	t := r.tallies[sv.survey.ID]
	if err := r.rejectFull(ctx, sv, t); err != nil {
		return nil, err
	}
	freeRoom := 0
	for _, arm := range sv.plan.Arms {
		freeRoom = max(freeRoom, room(r.channelIDs[sv.plan.Channels[arm.Modes[0]]]))
	}
	limit := startPage
	if len(sv.plan.Arms) == 1 {
		limit = min(limit, freeRoom+1, t.decision.Start) // one more than there is room for shows that the survey wants more
	}
	if t.decision.Start <= 0 || freeRoom <= 0 {
		return nil, nil
	}
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return r.o.Store.Startable(ctx, sv.survey.ID, r.now, t.full, limit)
	})
	if err != nil {
		return nil, fmt.Errorf("read startable respondents: %w", err)
	}
	// Fewer than were asked for: what is left is delayed, the first until firstDelayed.
	if len(page) < limit && !sv.firstDelayed.IsZero() {
		if sv.firstDelayed.After(r.now) {
			r.wakeAt(sv.firstDelayed)
		} else {
			sv.firstDelayed = time.Time{}
		}
	}
	st, err := r.stepper(ctx, sv)
	if err != nil {
		return nil, err
	}
	var changes []change
	for _, who := range page {
		arm := surveys.ChooseArm(sv.plan.Arms, armHash(sv.survey.ID, who.ID))
		p, e, err := st.try(who.Progress, func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
			return sv.plan.Start(p, r.now, arm)
		})
		if err != nil {
			changes = append(changes, st.deferFailed(who))
			continue
		}
		if e.Enqueue == nil {
			continue
		}
		ch, _ := st.channelFor(e.Enqueue.Mode)
		out = append(out, candidate{respondent: who, progress: p, effects: e, channel: ch.ID})
	}
	if len(page) == startPage {
		r.moreWork = r.moreWork || len(changes) > 0
		changes = append(changes, r.deferBlocked(st, out, room)...)
	}
	return out, r.write(ctx, sv, changes)
}

// rejectFull ends respondents that are not needed because their bucket is full.
func (r *round) rejectFull(ctx context.Context, sv *surveyState, t tally) error {
	if len(t.full) == 0 || t.Pending == 0 {
		return nil
	}
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return r.o.Store.Rejectable(ctx, sv.survey.ID, t.full, openPage)
	})
	if err != nil {
		return fmt.Errorf("read respondents to reject: %w", err)
	}
	n, err := r.stepEach(ctx, sv, page, func(st *stepper, p surveys.Respondent) (change, bool) { return st.step(p, sv.plan.Reject) })
	r.moreWork = r.moreWork || n > 0
	return err
}

// enqueue writes the contacts that a bid was granted.
func (r *round) enqueue(ctx context.Context, b *bid) error {
	if b.size() == 0 {
		return nil
	}
	st, err := r.stepper(ctx, b.survey)
	if err != nil {
		return err
	}
	var changes []change
	for _, i := range slices.Concat(b.retries, b.starts) {
		c := st.buildChange(i.respondent, i.progress, i.effects)
		c.newAttempt = c.move.Enqueue != nil
		changes = append(changes, c)
		// A respondent that is delayed now leaves room for the next.
		r.moreWork = r.moreWork || c.move.Is.FailedSteps > c.move.Was.FailedSteps
	}
	// A full page: there may be more behind it.
	if len(b.retries) == duePage || len(b.starts) == startPage {
		r.moreWork = true
	}
	return r.write(ctx, b.survey, changes)
}
