package conformance

import (
	"slices"
	"testing"
	"time"

	"weir"
	"weir/surveys"
)

func testMoves(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	list := d.people(v.ID, 1, 6)
	at := now()
	first := turn(list[0], func(r *surveys.Respondent) {
		r.Progress = surveys.Progress{
			Status: surveys.Active, Disposition: surveys.Contacted, Arm: 1, Step: 2, Tries: 3, Attempts: surveys.Counts{IVR: 1, SMS: 2},
			Unconfirmed: true, Contact: surveys.Dispatched, Serial: 4, WindowEnd: at.Add(time.Hour), DueAt: at.Add(time.Minute), Counted: true,
			OptedOut: true, FailedSteps: 5, DelayedUntil: at.Add(time.Second),
			Totals: surveys.Totals{Sent: 6, Received: 7, CallSeconds: 8, Serial: 4},
		}
		r.Attributes = map[string]string{"sex": "m", "näme": "\"ü\"\n"}
		r.Contact, r.Reached, r.Started, r.Finished, r.Updated = weir.Ref{Channel: 7, ID: 8}, at, at.Add(1e9), at.Add(2e9), at.Add(3e9)
	})
	first.Attempt = &surveys.Made{Mode: surveys.SMS, Outcome: weir.NoAnswer}
	first.Log = []surveys.LogEntry{
		{At: at, Event: "ended", Mode: surveys.SMS, Channel: "c", Attempt: 2, Outcome: weir.NoAnswer},
		{At: at, Event: "disposition", From: surveys.Queued, To: surveys.Contacted},
	}
	first.Mode = surveys.SMS
	second := activate(list[1], at)
	second.Attempt = first.Attempt
	second.Is.Bucket = surveys.NoBucket
	second.Is.Attributes = nil
	d.work(v.ID, first, second)
	same(t, "the respondents", d.read(list[0].ID, list[1].ID), []surveys.Respondent{first.Is, second.Is})
	d.sums(v.ID)
	sums, err := d.Counts(d.ctx(), v.ID)
	d.ok(err)
	same(t, "attempts", sums.Attempts, map[surveys.Made]int{*first.Attempt: 2})
	d.activity(v.ID, map[surveys.Mode]surveys.Passed{surveys.SMS: {Started: 1}, "": {Started: 1}})
	third := turn(first.Is, func(r *surveys.Respondent) { r.Disposition = surveys.Complete })
	third.Mode = surveys.SMS
	d.work(v.ID, third)
	d.activity(v.ID, map[surveys.Mode]surveys.Passed{surveys.SMS: {Started: 1, Answered: 1, Completed: 1}, "": {Started: 1}})
	d.activity(v.ID+1, map[surveys.Mode]surveys.Passed{})
	lines, err := d.Log(d.ctx(), v.ID, 0, 10)
	d.ok(err)
	if len(lines) != 2 || lines[0].ID >= lines[1].ID {
		t.Fatalf("the log: %+v", lines)
	}
	want := first.Log[1]
	want.ID, want.Respondent = lines[1].ID, list[0].ID
	rest, err := d.Log(d.ctx(), v.ID, lines[0].ID, 10)
	d.ok(err)
	same(t, "the log's second line", rest, []surveys.LogEntry{want})
	recent, next, err := d.Recent(d.ctx(), surveys.LogFilter{Survey: v.ID, Limit: 10})
	d.ok(err)
	if next != 0 {
		t.Errorf("the last page goes on at %d", next)
	}
	same(t, "the log, newest first", recent, []surveys.LogEntry{lines[1], lines[0]})
	recent, _, err = d.Recent(d.ctx(), surveys.LogFilter{Survey: v.ID, Before: lines[1].ID, Limit: 10})
	d.ok(err)
	same(t, "the log before its second line", recent, lines[:1])
	d.recentOf(v.ID, list, lines)

	// One stale move among good ones, and a second one of the same respondent.
	stale, good := activate(list[1], at), activate(list[2], at)
	stale.Log = first.Log
	got, err := d.Work(d.ctx(), surveys.Work{Survey: v.ID, Moves: []surveys.Move{stale, good, good, activate(list[3], at)}})
	d.ok(err)
	slices.Sort(got.Stale)
	same(t, "stale", got.Stale, []surveys.RespondentID{list[1].ID, list[2].ID})
	d.activity(v.ID, map[surveys.Mode]surveys.Passed{surveys.SMS: {Started: 1, Answered: 1, Completed: 1}, "": {Started: 3}})
	same(t, "the good one", d.read(good.Is.ID), []surveys.Respondent{good.Is})
	same(t, "the stale one", d.read(list[1].ID), []surveys.Respondent{second.Is})
	if lines, err = d.Log(d.ctx(), v.ID, 0, 10); err != nil || len(lines) != 2 {
		t.Errorf("%d lines in the log (%v)", len(lines), err)
	}
	d.sums(v.ID)
	other := d.survey("b")
	got, err = d.Work(d.ctx(), surveys.Work{Survey: other.ID, Moves: []surveys.Move{activate(list[4], at)}})
	d.ok(err)
	same(t, "of another survey", got.Stale, []surveys.RespondentID{list[4].ID})
	d.sums(other.ID)
	got, err = d.Work(d.ctx(), surveys.Work{Survey: v.ID})
	if err != nil || len(got.Stale) > 0 {
		t.Errorf("no work: %+v (%v)", got, err)
	}
}

// outreach returns a move that enqueues a contact on a channel.
func outreach(channel weir.ChannelID, r surveys.Respondent) surveys.Move {
	m := activate(r, now().Add(time.Hour))
	m.Channel = channel
	m.Enqueue = &weir.Spec{
		Key: surveys.ContactKey(r.ID.String(), m.Is.Serial), To: r.Phone, Priority: weir.Normal, Survey: "a", Messages: []string{"hello"},
		Owner: weir.Owner{Group: r.Survey, ID: int64(r.ID), Serial: m.Is.Serial},
	}
	return m
}

func testEnqueue(t *testing.T, d *surveyBench) {
	v, channel := d.survey("a"), d.Channel(t, "c")
	list := d.people(v.ID, 1, 4)
	begin := now()
	got := d.work(v.ID, outreach(channel, list[0]), outreach(channel, list[1]), activate(list[2], begin))
	if len(got.Contacts) != 2 {
		t.Fatalf("%d contacts were enqueued, want 2", len(got.Contacts))
	}
	after := d.read(list[0].ID, list[1].ID, list[2].ID)
	for i, c := range got.Contacts {
		if after[i].Contact != c.Ref || c.Owner.ID != int64(after[i].ID) || c.Ref.Channel != channel {
			t.Errorf("contact %d: %+v of %+v", i, c, after[i])
		}
	}
	if after[2].Contact != (weir.Ref{}) {
		t.Errorf("who got no contact has %v", after[2].Contact)
	}
	ready, err := d.ReadySlots(d.ctx(), channel, nil, 1, 10)
	if err != nil || ready.Others != 2 {
		t.Errorf("%+v are ready, want 2 (%v)", ready, err)
	}
	begun, err := d.EnqueuedSince(d.ctx(), v.ID, begin.Add(-time.Minute))
	d.ok(err)
	sum := 0
	for second, n := range begun {
		sum += n
		if second.Before(begin.Add(-2*time.Second)) || second.Nanosecond() != 0 {
			t.Errorf("%d were begun at %v", n, second)
		}
	}
	if sum != 2 {
		t.Errorf("%d were begun, want 2", sum)
	}
	if begun, err = d.EnqueuedSince(d.ctx(), v.ID, now().Add(time.Minute)); err != nil || len(begun) != 0 {
		t.Errorf("begun in the future: %v (%v)", begun, err)
	}
	// Enqueuing the same contact again finds that contact and creates nothing.
	same1 := outreach(channel, after[0])
	same1.Is.Serial = after[0].Serial
	same1.Enqueue.Key, same1.Enqueue.Owner = got.Contacts[0].Key, got.Contacts[0].Owner
	again := d.work(v.ID, same1, outreach(channel, list[3]))
	if len(again.Contacts) != 1 || again.Contacts[0].Owner.ID != int64(list[3].ID) {
		t.Errorf("enqueued again: %+v", again.Contacts)
	}
	if r := d.read(list[0].ID)[0]; r.Contact != got.Contacts[0].Ref || r.Rev != 2 {
		t.Errorf("the respondent: %+v", r)
	}
	d.sums(v.ID)
}

func testRefusedMoves(t *testing.T, d *surveyBench) {
	v, channel := d.survey("a"), d.Channel(t, "c")
	list := d.people(v.ID, 1, 4)
	taken := d.work(v.ID, outreach(channel, list[0])).Contacts[0]
	thief := outreach(channel, list[1])
	thief.Enqueue.Key = taken.Key
	got, err := d.Work(d.ctx(), surveys.Work{Survey: v.ID, Moves: []surveys.Move{thief, outreach(channel, list[2])}})
	d.ok(err)
	same(t, "refused", got.Refused, []surveys.RespondentID{list[1].ID})
	same(t, "refused as stale", got.Stale, got.Refused)
	if len(got.Contacts) != 1 {
		t.Errorf("written: %+v", got)
	}
	same(t, "who was refused", d.read(list[1].ID), list[1:2])

	gone := outreach(1<<40, list[3])
	got, err = d.Work(d.ctx(), surveys.Work{Survey: v.ID, Moves: []surveys.Move{activate(list[1], now()), gone}})
	wantCode(t, err, weir.CodeConflict)
	same(t, "refused for a channel that is not there", got.Refused, []surveys.RespondentID{list[3].ID})
	d.Close(t, channel)
	got, err = d.Work(d.ctx(), surveys.Work{Survey: v.ID, Moves: []surveys.Move{outreach(channel, list[3]), activate(list[1], now())}})
	wantCode(t, err, weir.CodeConflict)
	same(t, "refused for a channel that is being deleted", got.Refused, []surveys.RespondentID{list[3].ID})
	same(t, "unchanged", d.read(list[1].ID, list[3].ID), []surveys.Respondent{list[1], list[3]})
	d.sums(v.ID)
}

func testStartable(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	list := d.people(v.ID, 1, 30) // men, women, others in turn
	at := now()
	delay := func(i int, till time.Time) {
		d.work(v.ID, turn(list[i], func(r *surveys.Respondent) { r.FailedSteps, r.DelayedUntil = 1, till }))
	}
	delay(0, at.Add(time.Hour))
	delay(3, at.Add(-time.Hour))
	d.work(v.ID, activate(list[1], at))
	for _, q := range []struct {
		name  string
		full  []int
		limit int
		want  []int
	}{
		{"all", nil, 5, []int{2, 3, 4, 5, 6}},
		{"women and others", []int{0}, 4, []int{2, 4, 5, 7}},
		{"men", []int{1, surveys.NoBucket}, 100, []int{3, 6, 9, 12, 15, 18, 21, 24, 27}},
		{"nobody", []int{0, 1, surveys.NoBucket}, 100, nil},
	} {
		got, err := d.Startable(d.ctx(), v.ID, at, q.full, q.limit)
		d.ok(err)
		same(t, q.name, respondentIDs(got), pick(list, q.want))
	}
	got, err := d.Startable(d.ctx(), v.ID, at, nil, 100)
	d.ok(err)
	if len(got) != 28 {
		t.Errorf("%d may be started, want 28", len(got))
	}
	got, err = d.Startable(d.ctx(), v.ID, at.Add(2*time.Hour), nil, 5)
	d.ok(err)
	same(t, "once the time has come", respondentIDs(got), pick(list, []int{0, 2, 3, 4, 5}))
	got, err = d.Rejectable(d.ctx(), v.ID, []int{0}, 100)
	d.ok(err)
	if len(got) != 10 {
		t.Errorf("%d may be rejected, want 10", len(got))
	}
	for _, r := range got {
		if r.Bucket != 0 || r.Status != surveys.Pending {
			t.Errorf("to be rejected: %+v", r)
		}
	}
	if got, err = d.Rejectable(d.ctx(), v.ID, []int{0, 1}, 15); err != nil || len(got) != 15 {
		t.Errorf("%d may be rejected, want 15 (%v)", len(got), err)
	}
	if got, err = d.Rejectable(d.ctx(), v.ID, nil, 15); err != nil || len(got) != 0 {
		t.Errorf("%d may be rejected, want none (%v)", len(got), err)
	}
}

func pick(list []surveys.Respondent, of []int) []surveys.RespondentID {
	var out []surveys.RespondentID
	for _, i := range of {
		out = append(out, list[i].ID)
	}
	return out
}

func testDue(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	list := d.people(v.ID, 1, 8)
	at := now()
	for i := range 4 {
		d.work(v.ID, activate(list[i], at.Add(time.Duration(4-i)*time.Minute)))
	}
	d.work(v.ID, activate(list[4], time.Time{}))
	done := activate(list[5], at)
	d.work(v.ID, done)
	d.work(v.ID, turn(done.Is, func(r *surveys.Respondent) { r.Status, r.Disposition = surveys.Completed, surveys.Complete }))
	for _, q := range []struct {
		after, limit int
		want         []int
		next         int
	}{
		{0, 10, nil, 1}, {2, 10, []int{3, 2}, 3}, {9, 2, []int{3, 2}, 3}, {9, 4, []int{3, 2, 1, 0}, 0}, {9, 10, []int{3, 2, 1, 0}, 0},
	} {
		got, next, err := d.DueRespondents(d.ctx(), v.ID, at.Add(time.Duration(q.after)*time.Minute), q.limit)
		d.ok(err)
		same(t, "due", respondentIDs(got), pick(list, q.want))
		want := time.Time{}
		if q.next != 0 {
			want = at.Add(time.Duration(q.next) * time.Minute)
		}
		if !next.Equal(want) {
			t.Errorf("after %d, %d at most: next %v, want %v", q.after, q.limit, next, want)
		}
	}
	latest, err := d.LatestDue(d.ctx(), v.ID, 3)
	d.ok(err)
	same(t, "latest due", respondentIDs(latest), pick(list, []int{0, 1, 2}))
	open, err := d.Open(d.ctx(), v.ID, 100)
	d.ok(err)
	ids := respondentIDs(open)
	slices.Sort(ids)
	same(t, "open", ids, pick(list, []int{0, 1, 2, 3, 4, 6, 7}))
	if open, err = d.Open(d.ctx(), v.ID, 6); err != nil || len(open) != 6 {
		t.Errorf("%d are open, want 6 (%v)", len(open), err)
	}
}

// recentOf reads the log of one respondent, which has all of the lines, and of time ranges.
func (d *surveyBench) recentOf(survey int64, list []surveys.Respondent, lines []surveys.LogEntry) {
	d.t.Helper()
	recent, next, err := d.Recent(d.ctx(), surveys.LogFilter{Survey: survey, Respondent: list[0].ID, Limit: 1})
	d.ok(err)
	same(d.t, "a respondent's log", recent, lines[1:])
	if next != lines[1].ID {
		d.t.Errorf("a respondent's log goes on at %d, want %d", next, lines[1].ID)
	}
	for name, f := range map[string]surveys.LogFilter{
		"of another respondent": {Respondent: list[1].ID}, "in the future": {Since: now().Add(time.Hour)}, "in the past": {Until: now().Add(-time.Hour)},
	} {
		f.Survey, f.Limit = survey, 10
		if recent, next, err := d.Recent(d.ctx(), f); err != nil || len(recent) != 0 || next != 0 {
			d.t.Errorf("%s: %+v, %d (%v)", name, recent, next, err)
		}
	}
}

// activity compares what respondents came to, in all quarters of an hour.
func (d *surveyBench) activity(survey int64, want map[surveys.Mode]surveys.Passed) {
	d.t.Helper()
	list, err := d.Activity(d.ctx(), survey)
	d.ok(err)
	got := map[surveys.Mode]surveys.Passed{}
	for _, a := range list {
		if got[a.Mode] = got[a.Mode].Add(a.Passed); !a.At.Equal(a.At.Truncate(surveys.ActivityStep)) || time.Since(a.At) > time.Hour {
			d.t.Errorf("activity at %v", a.At)
		}
	}
	same(d.t, "activity", got, want)
}
