package surveys_test

import (
	"fmt"
	"testing"
	"time"

	"weir"
	"weir/operators"
	"weir/surveys"
	"weir/surveys/calendar"
)

// Scenario 18: two equal surveys get the same, even if each of their windows
// has time for only one contact and another survey has the channel to itself in
// between.
func TestFairshare_ShortWindowsFavorNoSurvey(t *testing.T) {
	for name, allTheTime := range map[string]bool{"another in between": false, "another all the time": true} {
		t.Run(name, func(t *testing.T) {
			long := func(weir.Contact) contactResult {
				return contactResult{duration: 31 * time.Minute, outcome: weir.NoAnswer}
			}
			inLabFor(t, 10*time.Minute, long, func(l *lab) {
				l.store.addChannel("texts", "text", 1)
				given := map[int64]int{}
				l.channels.onDispatch = func(c weir.Contact) { given[c.Owner.Group]++ }
				equal, other := smsSurvey(""), smsSurvey("")
				equal.Schedule.Windows = halfHours(0)
				if !allTheTime {
					other.Schedule.Windows = halfHours(2)
				}
				one, two := l.addSurvey("one", equal, 60).ID, l.addSurvey("two", equal, 60).ID
				l.addSurvey("other", other, 500)
				for _, name := range []string{"one", "two", "other"} {
					l.command(name, surveys.Launch)
				}
				l.advance(8 * 24 * time.Hour)
				if a, b := given[one], given[two]; a+b < 15 || max(a-b, b-a) > 1 {
					l.t.Errorf("two equal surveys were given %d and %d", a, b)
				}
			})
		})
	}
}

// A page of surveys asks for the reason of each: together they read the running
// surveys once per interval, not once each.
func TestWhy_ReadsTheRunningSurveysOnce(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 1)
		for _, name := range []string{"one", "two", "three"} {
			l.addSurvey(name, smsSurvey(""), 50)
			l.command(name, surveys.Launch)
		}
		l.advance(90 * time.Second)
		reads := 0
		l.store.locked(func() {
			l.store.failOperation = func(operation string) error {
				if operation == "Surveys" {
					reads++
				}
				return nil
			}
		})
		for _, name := range []string{"one", "two", "three"} {
			s, err := l.store.Survey(l.t.Context(), name)
			if err != nil {
				l.t.Fatal(err)
			}
			if why, err := l.system.Why(l.t.Context(), s); err != nil || why.Code != operators.WhyCapacity {
				l.t.Errorf("%s: %+v, %v", name, why, err)
			}
		}
		if reads != 1 {
			l.t.Errorf("the surveys were read %d times", reads)
		}
	})
}

// halfHours returns windows of half an hour, every four hours.
func halfHours(hour int) (out []calendar.WindowSpec) {
	for ; hour < 24; hour += 4 {
		out = append(out, calendar.WindowSpec{From: fmt.Sprintf("%02d:00", hour), To: fmt.Sprintf("%02d:30", hour)})
	}
	return out
}

// A survey whose contacts take several slots gets its share, by weight, of a
// channel that another survey keeps busy with small contacts.
func TestFairshare_HoldsForLargeContacts(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 20)
		small, large := smsSurvey("10h"), smsSurvey("10h")
		large.Questionnaires["q"][surveys.SMS][0].Messages = []string{"one", "two", "three"}
		large.Weight = 2
		a, b := l.addSurvey("a", small, 900), l.addSurvey("b", large, 900)
		slots := map[int64]int{}
		l.channels.onDispatch = func(c weir.Contact) { slots[c.Owner.Group] += c.Size() }
		l.command("a", surveys.Launch)
		l.command("b", surveys.Launch)
		l.advance(30 * time.Minute)
		l.store.mu.Lock()
		defer l.store.mu.Unlock()
		if n := slots[a.ID] + slots[b.ID]; n < 500 {
			l.t.Errorf("%d slots were used in 30 minutes of 20 slots", n)
		}
		if share := float64(slots[b.ID]) / float64(slots[a.ID]+slots[b.ID]); share < 0.6 || share > 0.73 {
			l.t.Errorf("the survey with large contacts and twice the weight has %.2f of the slots: %v", share, slots)
		}
	})
}

// countMoves counts the moves that are written from now on; the function returns the
// count so far.
func (l *lab) countMoves() func() int {
	n := 0
	l.store.locked(func() { l.store.onMove = func(surveys.Move) { n++ } })
	return func() int {
		l.store.mu.Lock()
		defer l.store.mu.Unlock()
		return n
	}
}

// Retries that wait for a paused channel cost nothing, however many there are.
func TestFairshare_BacklogOfPausedChannelCostsNothing(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 1000)
		s := l.addSurvey("s", smsSurvey("10m 10m"), 900)
		l.command("s", surveys.Launch)
		l.advance(5 * time.Minute)
		l.store.locked(func() { l.store.channels[texts.ID].Paused = true })
		l.advance(15 * time.Minute)
		n := l.countMoves()
		l.advance(30 * time.Minute)
		if n := n(); n > 100 {
			l.t.Errorf("%d moves in half an hour in which no respondent could be contacted", n)
		}
		l.store.locked(func() { l.store.channels[texts.ID].Paused = false })
		l.advance(2 * time.Hour)
		if st := l.store.survey(s.ID); st.State != surveys.Done {
			l.t.Errorf("the survey is %s, %v", st.State, l.statusCounts(s.ID))
		}
	})
}

// Respondents whose channel is paused are skipped in favor of those whose
// channel works, even if only some of a page are blocked; and at a bounded rate
// of moves.
func TestFairshare_BlockedRespondentsDoNotHideOthers(t *testing.T) {
	answer := func(c weir.Contact) contactResult { return noAnswer(c) }
	inLab(t, answer, func(l *lab) {
		calls := l.store.addChannel("calls", "voice", 1000)
		l.store.addChannel("texts", "text", 1000)
		d := smsSurvey("10m")
		d.Modes[surveys.IVR] = surveys.ModeSpec{Channel: "calls", Retries: "8m"}
		d.Questionnaires["q"][surveys.IVR] = []surveys.Content{{Call: &weir.Call{CallFlowID: 7}}}
		d.Arms = []surveys.Arm{{Modes: []surveys.Mode{surveys.IVR}, Ratio: 50}, {Modes: []surveys.Mode{surveys.SMS}, Ratio: 50}}
		s := l.addSurvey("s", d, 900)
		l.command("s", surveys.Launch)
		l.advance(5 * time.Minute)
		l.store.locked(func() { l.store.channels[calls.ID].Paused = true })
		l.advance(7 * time.Minute) // calls are due after 8 minutes, texts after 10
		texts := 0
		for _, p := range l.respondents(s.ID) {
			if p.Arm == 1 && p.Attempts.SMS == 2 {
				texts++
			}
		}
		if texts < 380 {
			l.t.Errorf("%d were tried again by text", texts)
		}
		n := l.countMoves()
		l.advance(10 * time.Minute)
		if n := n(); n > 10*900 {
			l.t.Errorf("%d moves in ten minutes", n)
		}
	})
}
