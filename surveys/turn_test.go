package surveys_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
	"weir/limits"
	"weir/people"
	"weir/surveys"
	"weir/surveys/pacing"
)

// turnOf returns a stepper of a survey by text whose window is open.
func turnOf(t interface{ Fatal(args ...any) }) *surveys.Stepper {
	d := smsDefinition()
	d.Questionnaires["q"][surveys.SMS][0].Messages = []string{"Hello"}
	plan, wrong := d.Compile(surveys.Defaults{Batch: 1000, LimitPerMinute: 1000, InitialSuccessRate: 1})
	if plan == nil {
		t.Fatal(wrong)
	}
	texts := weir.Channel{ID: 3, Name: "texts"}
	return &surveys.Stepper{
		Survey: &surveys.Survey{ID: 1, Name: "s", State: surveys.Running, Definition: d}, Plan: plan,
		Now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Random: func() float64 { return 0.5 },
		ChannelFor:  func(surveys.Mode) (weir.Channel, bool) { return texts, true },
		ChannelName: func(weir.ChannelID) string { return texts.Name },
		Zone:        func(*surveys.Respondent) *time.Location { return time.UTC },
		OnPanic:     func(p any) { t.Fatal("a rule panicked", p) },
	}
}

// factsOf returns the facts of a survey without respondents.
func factsOf(st *surveys.Stepper, room, start, perMinute int) *surveys.Facts {
	return &surveys.Facts{
		ToStart: start, PerMinute: perMinute, Open: true, Hours: surveys.NewHours(st.Plan, nil, &people.Zones{}),
		Tally: surveys.Tally{Pending: 10_000},
		Rooms: map[surveys.Mode]surveys.Room{surveys.SMS: {Channel: 3, Contacts: room, Size: 1, Works: true}},
	}
}

// fresh returns respondents that can be started.
func fresh(from, n int) (list []surveys.Respondent) {
	for i := range n {
		list = append(list, surveys.Respondent{
			ID: surveys.RespondentID(from + i), Survey: 1, Rev: 1, Phone: fmt.Sprintf("+1555%07d", from+i), Bucket: surveys.NoBucket, Progress: surveys.NewProgress(),
		})
	}
	return list
}

// due returns respondents whose first contact brought nothing and who are due again.
func due(t interface{ Fatal(args ...any) }, st *surveys.Stepper, from, n int) []surveys.Respondent {
	list := fresh(from, n)
	begun := *st
	begun.Now = st.Now.Add(-3 * time.Hour)
	for i := range list {
		p, e, err := begun.Start(&list[i])
		if err != nil {
			t.Fatal(err)
		}
		list[i] = begun.Build(list[i], p, e).Move.Is
		list[i].Progress, _ = st.Plan.ContactEnded(list[i].Progress, begun.Now.Add(time.Minute), surveys.Ending{At: begun.Now.Add(time.Minute), Serial: 1, Outcome: weir.NoAnswer})
	}
	return list
}

// A turn never enqueues more than its room, its pacing or the limit per minute allow, changes no
// respondent twice, and leaves room unused only if it has nobody for it.
func TestTurn_ObeysItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := turnOf(t)
		f := factsOf(st, rapid.IntRange(0, 50).Draw(t, "room"), rapid.IntRange(0, 50).Draw(t, "start"), rapid.IntRange(0, 50).Draw(t, "per minute"))
		f.Due = due(t, st, 1, rapid.IntRange(0, surveys.DuePage).Draw(t, "due"))
		if f.StartLimit = f.StartsToRead(st.Plan, rapid.Bool().Draw(t, "closed hours")); f.StartLimit > 0 {
			f.Startable = fresh(1000, rapid.IntRange(0, f.StartLimit).Draw(t, "startable"))
		}
		room, wants := f.Rooms[surveys.SMS].Contacts, len(f.Due)+min(len(f.Startable), f.ToStart)
		turn := st.Decide(f)
		surveys.ShareRoom(pacing.FairShare{}, turn.Bids)
		enqueued, seen := 0, map[surveys.RespondentID]bool{}
		note := func(list []surveys.Change) {
			for _, c := range list {
				if seen[c.Move.Was.ID] {
					t.Fatalf("respondent %v is changed twice", c.Move.Was.ID)
				}
				seen[c.Move.Was.ID] = true
				if c.Move.Enqueue != nil {
					enqueued++
				}
			}
		}
		if note(turn.Changes); enqueued > 0 {
			t.Fatal("a change enqueues before the room is shared")
		}
		for _, b := range turn.Bids {
			granted, _ := st.Grant(b)
			note(granted)
		}
		if most := min(room, wants, f.PerMinute); enqueued > most {
			t.Fatalf("%d contacts are enqueued; at most %d may be", enqueued, most)
		} else if enqueued < min(most, len(f.Due)) {
			t.Fatalf("%d contacts are enqueued; %d could be", enqueued, most)
		}
		if wants > f.PerMinute && room > f.PerMinute && !turn.RateLimited {
			t.Fatal("the limit per minute is not said to hold the survey back")
		}
	})
}

// Surveys that bid for one channel get no more than it has room for.
func TestShareRoom_GrantsNoMoreThanTheRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(0, 40).Draw(t, "room")
		var share pacing.FairShare
		for range rapid.IntRange(1, 5).Draw(t, "rounds") {
			var bids []*surveys.Bid
			wants := 0
			for i := range rapid.IntRange(1, 4).Draw(t, "surveys") {
				st := turnOf(t)
				st.Survey.Name = fmt.Sprint("s", i)
				f := factsOf(st, room, 50, 1000)
				f.Startable, f.StartLimit = fresh(1, rapid.IntRange(0, 50).Draw(t, "startable")), 50
				turn := st.Decide(f)
				for _, b := range turn.Bids {
					wants += b.Size()
				}
				bids = append(bids, turn.Bids...)
			}
			share = surveys.ShareRoom(share, bids)
			granted := 0
			for _, b := range bids {
				granted += b.Size()
			}
			if granted != min(room, wants) {
				t.Fatalf("%d of %d contacts are granted; there is room for %d", granted, wants, room)
			}
		}
	})
}

func TestTurn_OfWhatNeedsNoChannel(t *testing.T) {
	for name, c := range map[string]struct {
		facts func(*surveys.Stepper, *surveys.Facts)
		check func(*surveys.Stepper, *surveys.Turn) bool
	}{
		"a closed window starts nobody": {
			func(_ *surveys.Stepper, f *surveys.Facts) { f.Open, f.Startable, f.StartLimit = false, fresh(1, 3), 3 },
			func(_ *surveys.Stepper, t *surveys.Turn) bool { return len(t.Changes) == 0 && len(t.Bids) == 0 },
		},
		"respondents of full buckets are rejected": {
			func(_ *surveys.Stepper, f *surveys.Facts) { f.Rejectable = fresh(1, 3) },
			func(_ *surveys.Stepper, t *surveys.Turn) bool {
				return len(t.Changes) == 3 && t.MoreWork && !slices.ContainsFunc(t.Changes, func(c surveys.Change) bool { return c.Move.Is.Status != surveys.Rejected })
			},
		},
		"whom the budget does not pay for is left out": {
			func(_ *surveys.Stepper, f *surveys.Facts) {
				f.Startable, f.StartLimit, f.Funds = fresh(1, 3), 3, &surveys.Funds{Left: 6, Cost: sevenEach}
			},
			func(_ *surveys.Stepper, t *surveys.Turn) bool { return len(t.Changes) == 0 && t.Bids[0].Size() == 0 },
		},
		"and delayed if others can be paid for": {
			func(_ *surveys.Stepper, f *surveys.Facts) {
				f.Startable, f.StartLimit, f.Funds = fresh(1, 3), 3, &surveys.Funds{Left: 6, Cost: sevenEach, Payable: true}
			},
			func(st *surveys.Stepper, t *surveys.Turn) bool {
				return len(t.Changes) == 3 && t.Changes[0].Move.Is.DelayedUntil.After(st.Now) && t.Wake.After(st.Now)
			},
		},
		"a contact that was deleted is lost": {
			func(st *surveys.Stepper, f *surveys.Facts) { f.Due = waiting(st) },
			func(_ *surveys.Stepper, t *surveys.Turn) bool {
				return len(t.Changes) == 1 && t.Changes[0].Move.Attempt.Outcome == weir.Lost && len(t.Recancel) == 0
			},
		},
		"a cancellation that a crash lost is repeated": {
			func(st *surveys.Stepper, f *surveys.Facts) {
				f.Due = waiting(st)
				f.Due[0].Progress.Contact = surveys.Canceling
				f.Contacts = map[weir.Ref]weir.Contact{f.Due[0].Contact: {Ref: f.Due[0].Contact, Progress: weir.Progress{State: weir.Queued}}}
			},
			func(_ *surveys.Stepper, t *surveys.Turn) bool { return len(t.Recancel) == 1 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := turnOf(t)
			f := factsOf(st, 10, 10, 1000)
			c.facts(st, f)
			if turn := st.Decide(f); !c.check(st, &turn) {
				t.Errorf("the turn is %+v", turn)
			}
		})
	}
}

func sevenEach(surveys.Mode, *weir.Spec) (limits.Money, bool) { return 7, true }

// waiting returns a respondent whose contact is overdue in its channel.
func waiting(st *surveys.Stepper) []surveys.Respondent {
	r := fresh(1, 1)[0]
	begun := *st
	begun.Now = st.Now.Add(-30 * time.Hour)
	p, e, _ := begun.Start(&r)
	r = begun.Build(r, p, e).Move.Is
	r.Contact = weir.Ref{Channel: 3, ID: 9}
	return []surveys.Respondent{r}
}

func TestJudge_SaysWhatBecomesOfASurvey(t *testing.T) {
	pl := turnOf(t).Plan
	for _, c := range []struct {
		state         surveys.State
		decision      surveys.Decision
		pending       int
		braked, spent bool
		want          surveys.Verdict
	}{
		{state: surveys.Running, want: surveys.Verdict{GoesOn: true}},
		{state: surveys.Paused},
		{state: surveys.Running, decision: surveys.Decision{Done: true}, want: surveys.Verdict{Step: surveys.Finish, Cause: surveys.Exhausted}},
		{state: surveys.Running, decision: surveys.Decision{Done: true}, pending: 1, want: surveys.Verdict{Step: surveys.Stop, Cause: surveys.Exhausted}},
		{state: surveys.Paused, decision: surveys.Decision{Stop: true}, want: surveys.Verdict{Step: surveys.Stop, Cause: surveys.WindowOver}},
		{state: surveys.Running, decision: surveys.Decision{Stop: true}, braked: true, spent: true, want: surveys.Verdict{Step: surveys.Stop, Cause: surveys.WindowOver}},
		{state: surveys.Running, braked: true, spent: true, want: surveys.Verdict{Step: surveys.Pause}},
		{state: surveys.Running, spent: true, want: surveys.Verdict{Step: surveys.Stop, Cause: surveys.BudgetSpent}},
	} {
		if v := pl.Judge(c.state, c.decision, surveys.Tally{Pending: c.pending}, c.braked, c.spent); v != c.want {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}
