package surveys

import (
	"context"
	"slices"
	"time"

	"weir"
	"weir/surveys"
)

// feed enqueues due steps and starts respondents, as far as channels have room. It returns the
// backlogs of the surveys. Each survey decides and bids by itself; then the channels' room is shared.
func feed(ctx context.Context, r *roundState, list []runningSurvey) (backlogs map[int64]int, _ error) {
	slices.SortFunc(list, func(a, b runningSurvey) int { return int(a.survey.ID - b.survey.ID) })
	// Credits are lost with the process. The next one starts at the other end
	// of the list, so that restarts favor no survey.
	if r.io.StartNumber%2 == 0 {
		slices.Reverse(list)
	}
	loads, err := measureChannels(ctx, r, list)
	if err != nil {
		return nil, err
	}
	backlogs = map[int64]int{}
	var limited []*surveyState
	bids := map[int64][]*surveys.Bid{}
	byChannel := map[weir.ChannelID][]*surveys.Bid{}
	for i := range list {
		sv := &list[i]
		t, err := takeTurn(ctx, r, sv, loads)
		if err != nil {
			return backlogs, err
		}
		backlogs[sv.survey.ID], bids[sv.survey.ID] = t.Backlog, t.Bids
		if t.RateLimited {
			limited = append(limited, sv.surveyState)
		}
		for _, b := range t.Bids {
			byChannel[b.Channel] = append(byChannel[b.Channel], b)
		}
	}
	shareRooms(r, byChannel)
	for _, sv := range list {
		if err := enqueue(ctx, r, sv.surveyState, bids[sv.survey.ID]); err != nil {
			return backlogs, err
		}
	}
	for _, sv := range limited {
		if at := sv.limit.Next(r.now, sv.plan.LimitPerMinute); at.After(r.now) {
			r.wakeAt(at)
		}
	}
	return backlogs, nil
}

// shareRooms divides the room of the channels between the surveys.
func shareRooms(r *roundState, byChannel map[weir.ChannelID][]*surveys.Bid) {
	for id, bids := range byChannel {
		room := 0
		for _, b := range bids {
			room = max(room, b.Room.Contacts)
		}
		r.io.Metrics.credit.WithLabelValues(r.channels[id].Name).Set(float64(room))
		pace := r.memory.pace(id)
		pace.share = surveys.ShareRoom(pace.share, bids)
	}
}

// takeTurn reads what a survey has to know, decides what it does, and writes at once what needs no
// channel.
func takeTurn(ctx context.Context, r *roundState, sv *runningSurvey, loads map[weir.ChannelID]*channelLoad) (t surveys.Turn, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = surveys.Turn{}, nil
			// A panic in the rules of one survey must not end the round of the others.
			r.skipBroken(sv.surveyState, p)
		}
	}()
	if err := readFacts(ctx, r, sv.surveyState, sv.facts, loads); err != nil {
		return t, err
	}
	st, err := r.stepper(ctx, sv.surveyState)
	if err != nil {
		return t, err
	}
	t = st.Decide(sv.facts)
	if sv.facts.StartLimit > 0 {
		sv.closedHours = t.ClosedHours
	}
	sv.facts = nil // the pages of all surveys together would be without a bound
	r.wakeAt(t.Wake)
	r.continueIf(t.MoreWork)
	r.cancel(ctx, t.Recancel)
	_, err = writeChanges(ctx, r, sv.surveyState, st, t.Changes)
	return t, err
}

// enqueue writes the contacts that a survey was granted of what it bid for.
func enqueue(ctx context.Context, r *roundState, sv *surveyState, bids []*surveys.Bid) error {
	st, err := r.stepper(ctx, sv)
	if err != nil {
		return err
	}
	var changes []surveys.Change
	for _, b := range bids {
		granted, more := st.Grant(b)
		changes = append(changes, granted...)
		r.continueIf(more)
	}
	_, err = writeChanges(ctx, r, sv, st, changes)
	return err
}

// readFacts reads what a survey decides by: what its channels have room for, and the pages of
// respondents that follow from that.
func readFacts(ctx context.Context, r *roundState, sv *surveyState, f *surveys.Facts, loads map[weir.ChannelID]*channelLoad) error {
	if !sv.limitLoaded {
		if err := r.io.loadMinute(ctx, sv.survey.ID, &sv.limit, r.now); err != nil {
			return err
		}
		sv.limitLoaded = true
	}
	f.PerMinute = sv.limit.Left(r.now, sv.plan.LimitPerMinute)
	window, ok := sv.plan.Schedule.Window(r.now)
	f.Open = ok && !window.Open.After(r.now)
	f.Rooms = map[surveys.Mode]surveys.Room{}
	for mode, name := range sv.plan.Channels {
		f.Rooms[mode] = roomOf(r, sv, loads[r.channelIDs[name]], f.Open, window.Close)
	}
	due, contacts, next, err := r.io.readDue(ctx, sv, r.now)
	f.Due, f.Contacts = due, contacts
	if r.wakeAt(next); err != nil || !f.Open {
		return err
	}
	if len(f.Full) > 0 && f.Tally.Pending > 0 {
		if f.Rejectable, err = r.io.readRejectable(ctx, sv, f.Full); err != nil {
			return err
		}
	}
	limit := f.StartsToRead(sv.plan, sv.closedHours)
	if limit == 0 || sv.budget.Running {
		return nil
	}
	if f.Startable, err = r.io.readStartable(ctx, sv, r.now, f.Full, limit); err != nil {
		return err
	}
	// Fewer than were asked for: what is left is delayed, the first until firstDelayed.
	if len(f.Startable) < limit && !sv.firstDelayed.IsZero() {
		if sv.firstDelayed.After(r.now) {
			r.wakeAt(sv.firstDelayed)
		} else {
			sv.firstDelayed = time.Time{}
		}
	}
	f.StartLimit, f.Hours, f.Funds = limit, r.io.hoursOf(sv.plan), r.io.fundsOf(sv)
	return nil
}
