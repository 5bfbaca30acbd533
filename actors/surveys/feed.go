package surveys

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/surveys"
)

// feeder contacts respondents: it enqueues due steps and starts, as far as channels have
// room.
type feeder struct {
	io       *access
	view     *view
	schedule *schedule
	writer   *writer
	life     *lifecycle
	memory   *memory
	now      time.Time
}

// turn is what a survey would do in a round.
type turn struct {
	bids        []*bid
	changes     []surveys.Change // which need no channel
	backlog     int              // see backlogOf
	rateLimited bool             // it wants more than the limit per minute allows
}

// feed enqueues due steps and starts respondents, as far as channels have room. It returns the
// backlogs of the surveys.
func (f *feeder) feed(ctx context.Context, list []*surveyState) (backlogs map[int64]int, _ error) {
	slices.SortFunc(list, func(a, b *surveyState) int { return int(a.survey.ID - b.survey.ID) })
	// Credits are lost with the process. The next one starts at the other end
	// of the list, so that restarts favor no survey.
	if f.io.Start%2 == 0 {
		slices.Reverse(list)
	}
	loads, err := f.measureChannels(ctx, list)
	if err != nil {
		return nil, err
	}
	backlogs = map[int64]int{}
	var limited []*surveyState
	byChannel := map[weir.ChannelID][]*bid{}
	for _, sv := range list {
		t, err := f.takeTurn(ctx, sv, loads)
		if err != nil {
			return backlogs, err
		}
		backlogs[sv.survey.ID] = t.backlog
		if t.rateLimited {
			limited = append(limited, sv)
		}
		for _, b := range t.bids {
			byChannel[b.channel] = append(byChannel[b.channel], b)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byChannel)) {
		pace := f.memory.pace(id)
		room := 0
		for _, b := range byChannel[id] {
			room = max(room, b.room)
		}
		f.io.Metrics.credit.WithLabelValues(f.view.channels[id].Name).Set(float64(room))
		pace.share = divideRoom(pace.share, byChannel[id])
		for _, b := range byChannel[id] {
			if err := f.enqueue(ctx, b); err != nil {
				return backlogs, err
			}
		}
	}
	for _, sv := range limited {
		if at := sv.limit.Next(f.now, sv.plan.LimitPerMinute); at.After(f.now) {
			f.schedule.wakeAt(at)
		}
	}
	return backlogs, nil
}

// deferBlocked delays respondents whose channel has no room, so that the next page
// shows others. It does so only if they are at least half of the candidates and
// another channel of the survey has room. The next page follows after
// blockedPause, because hundreds of thousands more may be blocked.
func (f *feeder) deferBlocked(st *surveys.Stepper, candidates []candidate, room func(weir.ChannelID) int) []surveys.Change {
	var out []surveys.Change
	for _, i := range candidates {
		if room(i.channel) > 0 {
			continue
		}
		// A millisecond apart, so that they are due in the order that they had.
		p, till := i.respondent.Progress, st.Now.Add(blockedDelay+time.Duration(len(out))*time.Millisecond)
		if p.Status == surveys.Pending {
			p.DelayedUntil = till
		} else {
			p.DueAt = till
		}
		out = append(out, st.Build(i.respondent, p, surveys.Effects{}))
	}
	if 2*len(out) < len(candidates) || !f.anyRoom(st.Plan, room) {
		return nil
	}
	f.schedule.wakeAt(st.Now.Add(blockedPause))
	return out
}

// anyRoom reports whether any channel of the survey has room.
func (f *feeder) anyRoom(plan *surveys.Plan, room func(weir.ChannelID) int) bool {
	for _, name := range plan.Channels {
		if room(f.view.channelIDs[name]) > 0 {
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
func (f *feeder) backlogOf(sv *surveyState, retries []candidate, loads map[weir.ChannelID]*channelLoad) int {
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
	t := f.life.tallies[sv.survey.ID]
	for _, arm := range sv.plan.Arms {
		if works(f.view.channelIDs[sv.plan.Channels[arm.Modes[0]]]) {
			return n + max(0, min(t.decision.Start, t.Pending))
		}
	}
	return n
}

// takeTurn determines what a survey would enqueue, and writes at once, together, what needs no
// channel.
func (f *feeder) takeTurn(ctx context.Context, sv *surveyState, loads map[weir.ChannelID]*channelLoad) (t turn, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = turn{}, nil
			// A panic in the rules of one survey must not end the round of the others.
			f.life.skipBroken(sv, p)
		}
	}()
	if t, err = f.plan(ctx, sv, loads); err != nil {
		return turn{}, err
	}
	return t, f.writer.write(ctx, sv, t.changes)
}

// plan determines what a survey would do.
func (f *feeder) plan(ctx context.Context, sv *surveyState, loads map[weir.ChannelID]*channelLoad) (t turn, _ error) {
	if err := f.loadLimit(ctx, sv); err != nil {
		return t, err
	}
	window, ok := sv.plan.Schedule.Window(f.now)
	open := ok && !window.Open.After(f.now)
	room := func(id weir.ChannelID) int {
		t := loads[id]
		if t == nil || !t.why.IsZero() || !open || f.view.hasMismatch(sv, t.channel) {
			return 0
		}
		n, _ := t.pacingLoad(f.memory.pace(id).rate.PerMinute()).Room(sv.contactSize(f.view.channelIDs, id), feedAhead, window.Close.Sub(f.now))
		return n
	}
	retries, changes, err := f.dueCandidates(ctx, sv, room)
	if t.changes = changes; err != nil || !open {
		return t, err
	}
	t.backlog = f.backlogOf(sv, retries, loads)
	rejected, err := f.rejectFull(ctx, sv)
	if err != nil {
		return t, err
	}
	starts, delayed, err := f.startCandidates(ctx, sv, room)
	if err != nil {
		return t, err
	}
	t.changes = slices.Concat(t.changes, rejected, delayed)
	budget := sv.limit.Left(f.now, sv.plan.LimitPerMinute)
	var channels []weir.ChannelID
	for _, mode := range surveys.Modes() {
		if id := f.view.channelIDs[sv.plan.Channels[mode]]; id != 0 {
			channels = append(channels, id)
		}
	}
	t.bids, t.rateLimited = groupBids(sv, channels, retries, starts, f.life.tallies[sv.survey.ID].decision.Start, budget, room)
	for _, b := range t.bids {
		b.contactSize = sv.contactSize(f.view.channelIDs, b.channel)
	}
	return t, nil
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
func (f *feeder) loadLimit(ctx context.Context, sv *surveyState) error {
	if sv.limitLoaded {
		return nil
	}
	err := f.io.loadMinute(ctx, sv.survey.ID, &sv.limit, f.now)
	sv.limitLoaded = err == nil
	return err
}

// dueCandidates reads the respondents that are due. It returns those that need a channel, and the
// changes of the others: their contacts are overdue, or they have no next step.
func (f *feeder) dueCandidates(ctx context.Context, sv *surveyState, room func(weir.ChannelID) int) (out []candidate, changes []surveys.Change, _ error) {
	page, next, err := call2(ctx, func(ctx context.Context) ([]surveys.Respondent, time.Time, error) {
		return f.io.Store.DueRespondents(ctx, sv.survey.ID, f.now, duePage)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read due respondents: %w", err)
	}
	f.schedule.wakeAt(next)
	if len(page) == 0 {
		return nil, nil, nil
	}
	st, err := f.view.stepper(ctx, sv)
	if err == nil {
		err = f.io.readTalks(ctx, sv, true, pointers(page))
	}
	if err != nil {
		return nil, nil, err
	}
	contacts, err := f.io.readContacts(ctx, page, hasContact)
	if err != nil {
		return nil, nil, err
	}
	for _, who := range page {
		c, i := f.stepDue(st, who, contacts)
		out, changes = append(out, i...), append(changes, c...)
	}
	f.writer.cancelCollected(ctx)
	if slices.ContainsFunc(changes, func(c surveys.Change) bool { return c.Move.Is.Status.Final() }) {
		f.schedule.wakeAt(f.now) // the survey may be done
	}
	if len(page) == duePage {
		// Without a change, the next round would read the same page again.
		f.schedule.moreWork = f.schedule.moreWork || len(changes) > 0
		changes = append(changes, f.deferBlocked(st, out, room)...)
	}
	return out, changes, nil
}

// stepDue takes the next step of a respondent that is due: a change, or a
// candidate if the step needs a channel.
func (f *feeder) stepDue(st *surveys.Stepper, who surveys.Respondent, contacts map[weir.Ref]weir.Contact) ([]surveys.Change, []candidate) {
	if who.Progress.Contact != surveys.Idle {
		if c, ok := f.life.checkOverdue(st, who, contacts); ok {
			return []surveys.Change{c}, nil
		}
		return nil, nil
	}
	// Its bucket has filled since it was started: no further contact is spent on it.
	if !who.Counted && slices.Contains(f.life.tallies[who.Survey].full, who.Bucket) {
		if c, ok := st.Step(who, st.Plan.Reject); ok {
			return []surveys.Change{c}, nil
		}
	}
	if who.Unsaid {
		if p, ok := st.Plan.Unsaid(who.Progress, f.now); ok {
			return []surveys.Change{st.Build(who, p, surveys.Effects{})}, nil
		}
	}
	if !who.Due(f.now) { // the question was sent later than it was to be
		return []surveys.Change{st.Build(who, who.Progress, surveys.Effects{})}, nil
	}
	p, e, err := st.Try(who.Progress, surveys.Certain(func(p surveys.Progress) (surveys.Progress, surveys.Effects) { return st.Plan.Timeout(p, f.now) }))
	switch {
	case err != nil:
		return []surveys.Change{st.DeferFailed(who)}, nil
	case e.Enqueue == nil && p == who.Progress:
		return nil, nil
	case e.Enqueue == nil:
		return []surveys.Change{st.Build(who, p, e)}, nil
	}
	ch, _ := st.ChannelFor(e.Enqueue.Mode)
	return nil, []candidate{{respondent: who, progress: p, effects: e, channel: ch.ID}}
}

// startCandidates reads respondents that can be started and assigns them to arms. The changes
// delay those that cannot be started now.
func (f *feeder) startCandidates(ctx context.Context, sv *surveyState, room func(weir.ChannelID) int) (out []candidate, changes []surveys.Change, _ error) {
	t := f.life.tallies[sv.survey.ID]
	freeRoom := 0
	for _, arm := range sv.plan.Arms {
		freeRoom = max(freeRoom, room(f.view.channelIDs[sv.plan.Channels[arm.Modes[0]]]))
	}
	limit := startPage
	if len(sv.plan.Arms) == 1 && !sv.closedHours {
		limit = min(limit, freeRoom+1, t.decision.Start) // one more than there is room for shows that the survey wants more
	}
	if t.decision.Start <= 0 || freeRoom <= 0 || sv.budget.running {
		return nil, nil, nil
	}
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return f.io.Store.Startable(ctx, sv.survey.ID, f.now, t.full, limit)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read startable respondents: %w", err)
	}
	// Fewer than were asked for: what is left is delayed, the first until firstDelayed.
	if len(page) < limit && !sv.firstDelayed.IsZero() {
		if sv.firstDelayed.After(f.now) {
			f.schedule.wakeAt(sv.firstDelayed)
		} else {
			sv.firstDelayed = time.Time{}
		}
	}
	st, err := f.view.stepper(ctx, sv)
	if err != nil {
		return nil, nil, err
	}
	hours := f.io.hoursOf(sv.plan)
	sv.closedHours = false
	affordable := f.affordable(sv, st)
	for _, who := range page {
		if opens := hours.opens(&who, f.now); opens.After(f.now) {
			p := who.Progress
			p.DelayedUntil, sv.closedHours = opens, true
			changes = append(changes, st.Build(who, p, surveys.Effects{}))
			continue
		}
		if ok, put := affordable(&who); !ok {
			if put != nil {
				changes = append(changes, *put)
			}
			continue
		}
		p, e, err := st.Start(&who)
		if err != nil {
			changes = append(changes, st.DeferFailed(who))
			continue
		}
		if e.Enqueue == nil {
			continue
		}
		ch, _ := st.ChannelFor(e.Enqueue.Mode)
		out = append(out, candidate{respondent: who, progress: p, effects: e, channel: ch.ID})
	}
	if sv.closedHours && len(page) == limit {
		f.schedule.wakeAt(f.now.Add(blockedPause)) // hundreds of thousands more may be outside their hours
	}
	if len(page) == startPage {
		f.schedule.moreWork = f.schedule.moreWork || len(changes) > 0
		changes = append(changes, f.deferBlocked(st, out, room)...)
	}
	return out, changes, nil
}

// rejectFull returns the ends of respondents that are not needed because their bucket is full.
func (f *feeder) rejectFull(ctx context.Context, sv *surveyState) ([]surveys.Change, error) {
	t := f.life.tallies[sv.survey.ID]
	if len(t.full) == 0 || t.Pending == 0 {
		return nil, nil
	}
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return f.io.Store.Rejectable(ctx, sv.survey.ID, t.full, openPage)
	})
	if err != nil {
		return nil, fmt.Errorf("read respondents to reject: %w", err)
	}
	changes, err := f.writer.stepsOf(ctx, sv, page, func(st *surveys.Stepper, p surveys.Respondent) (surveys.Change, bool) {
		return st.Step(p, sv.plan.Reject)
	})
	f.schedule.moreWork = f.schedule.moreWork || len(changes) > 0
	return changes, err
}

// enqueue writes the contacts that a bid was granted.
func (f *feeder) enqueue(ctx context.Context, b *bid) error {
	if b.size() == 0 {
		return nil
	}
	st, err := f.view.stepper(ctx, b.survey)
	if err != nil {
		return err
	}
	var changes []surveys.Change
	for _, i := range slices.Concat(b.retries, b.starts) {
		c := st.Build(i.respondent, i.progress, i.effects)
		c.NewAttempt = c.Move.Enqueue != nil
		changes = append(changes, c)
		// A respondent that is delayed now leaves room for the next.
		f.schedule.moreWork = f.schedule.moreWork || c.Move.Is.FailedSteps > c.Move.Was.FailedSteps
	}
	// A full page: there may be more behind it.
	if len(b.retries) == duePage || len(b.starts) == startPage {
		f.schedule.moreWork = true
	}
	return f.writer.write(ctx, b.survey, changes)
}
