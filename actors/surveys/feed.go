package surveys

import (
	"context"
	"fmt"
	"slices"
	"time"

	"weir"
	"weir/surveys"
)

// feed enqueues due steps and starts respondents, as far as channels have room. It returns the
// backlogs of the surveys. Each survey decides and bids by itself; then the channels' room is shared.
func feed(ctx context.Context, r *round, list []runningSurvey) (backlogs map[int64]int, _ error) {
	slices.SortFunc(list, func(a, b runningSurvey) int { return int(a.survey.ID - b.survey.ID) })
	// Credits are lost with the process. The next one starts at the other end
	// of the list, so that restarts favor no survey.
	if r.io.Start%2 == 0 {
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
	for _, sv := range list {
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
	share(r, byChannel)
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

// share divides the room of the channels between the surveys.
func share(r *round, byChannel map[weir.ChannelID][]*surveys.Bid) {
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
func takeTurn(ctx context.Context, r *round, sv runningSurvey, loads map[weir.ChannelID]*channelLoad) (t surveys.Turn, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = surveys.Turn{}, nil
			// A panic in the rules of one survey must not end the round of the others.
			r.skipBroken(sv.surveyState, p)
		}
	}()
	st, err := r.stepper(ctx, sv.surveyState)
	if err == nil {
		err = readFacts(ctx, r, sv.surveyState, sv.facts, loads)
	}
	if err != nil {
		return t, err
	}
	t = st.Decide(sv.facts)
	if sv.facts.StartLimit > 0 {
		sv.closedHours = t.ClosedHours
	}
	r.wakeAt(t.Wake)
	r.continueIf(t.MoreWork)
	r.cancel(ctx, t.Recancel)
	_, err = write(ctx, r, sv.surveyState, st, t.Changes)
	return t, err
}

// enqueue writes the contacts that a survey was granted of what it bid for.
func enqueue(ctx context.Context, r *round, sv *surveyState, bids []*surveys.Bid) error {
	var changes []surveys.Change
	var st *surveys.Stepper
	for _, b := range bids {
		if b.Size() == 0 {
			continue
		}
		var err error
		if st, err = r.stepper(ctx, sv); err != nil {
			return err
		}
		granted, more := st.Grant(b)
		changes = append(changes, granted...)
		r.continueIf(more)
	}
	if len(changes) == 0 {
		return nil
	}
	_, err := write(ctx, r, sv, st, changes)
	return err
}

// readFacts reads what a survey decides by: what its channels have room for, and the pages of
// respondents that follow from that.
func readFacts(ctx context.Context, r *round, sv *surveyState, f *surveys.Facts, loads map[weir.ChannelID]*channelLoad) error {
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
	if err := readDue(ctx, r, sv, f); err != nil || !f.Open {
		return err
	}
	if err := readRejectable(ctx, r, sv, f); err != nil {
		return err
	}
	return readStartable(ctx, r, sv, f)
}

// roomOf returns what a channel has room for, of a survey whose window is open until it closes.
func roomOf(r *round, sv *surveyState, t *channelLoad, open bool, closes time.Time) (room surveys.Room) {
	if t == nil {
		return room
	}
	id := t.channel.ID
	room = surveys.Room{Channel: id, Size: contactSize(r, sv, id), Works: t.why.IsZero()}
	if room.Works && open && !r.hasMismatch(sv, t.channel) {
		room.Contacts, _ = t.pacingLoad(r.memory.pace(id).rate.PerMinute()).Room(room.Size, feedAhead, closes.Sub(r.now))
	}
	return room
}

// contactSize returns the max slots of a survey's contacts on a channel.
func contactSize(r *round, sv *surveyState, id weir.ChannelID) int {
	size := 1
	for mode, name := range sv.plan.Channels {
		if r.channelIDs[name] == id {
			size = max(size, sv.plan.Size(mode))
		}
	}
	return size
}

// readDue reads a page of the respondents that are due, with what their next steps need.
func readDue(ctx context.Context, r *round, sv *surveyState, f *surveys.Facts) error {
	page, next, err := call2(ctx, func(ctx context.Context) ([]surveys.Respondent, time.Time, error) {
		return r.io.Store.DueRespondents(ctx, sv.survey.ID, r.now, surveys.DuePage)
	})
	if err != nil {
		return fmt.Errorf("read due respondents: %w", err)
	}
	r.wakeAt(next)
	if err := r.io.readTalks(ctx, sv, true, pointers(page)); err != nil {
		return err
	}
	f.Due = page
	f.Contacts, err = r.io.readContacts(ctx, page, hasContact)
	return err
}

// readRejectable reads a page of the respondents that are not needed because their bucket is full.
func readRejectable(ctx context.Context, r *round, sv *surveyState, f *surveys.Facts) error {
	if len(f.Full) == 0 || f.Tally.Pending == 0 {
		return nil
	}
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return r.io.Store.Rejectable(ctx, sv.survey.ID, f.Full, openPage)
	})
	if err != nil {
		return fmt.Errorf("read respondents to reject: %w", err)
	}
	f.Rejectable = page
	return r.io.readTalks(ctx, sv, false, pointers(page))
}

// readStartable reads respondents that can be started, with what bounds that.
func readStartable(ctx context.Context, r *round, sv *surveyState, f *surveys.Facts) error {
	limit := f.StartsToRead(sv.plan, sv.closedHours)
	if limit == 0 || sv.budget.Running {
		return nil
	}
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return r.io.Store.Startable(ctx, sv.survey.ID, r.now, f.Full, limit)
	})
	if err != nil {
		return fmt.Errorf("read startable respondents: %w", err)
	}
	// Fewer than were asked for: what is left is delayed, the first until firstDelayed.
	if len(page) < limit && !sv.firstDelayed.IsZero() {
		if sv.firstDelayed.After(r.now) {
			r.wakeAt(sv.firstDelayed)
		} else {
			sv.firstDelayed = time.Time{}
		}
	}
	f.Startable, f.StartLimit, f.Hours, f.Funds = page, limit, r.io.hoursOf(sv.plan), r.io.fundsOf(sv)
	return nil
}
