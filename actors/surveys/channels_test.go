package surveys_test

import (
	"fmt"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/surveys"
	"weir/surveys/calendar"
)

// A channel that was created again under the same name, with a type that does
// not carry what the survey sends, gets no contacts. The survey reports why it
// stands still, and continues when the channel is right.
func TestChannels_WrongTypeGetsNoContacts(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", smsSurvey("10m"), 30)
		l.command("s", surveys.Launch)
		l.advance(30 * time.Second)
		dispatched := 0
		l.store.locked(func() {
			l.store.channels[texts.ID].Type = "voice"
			l.channels.onDispatch = func(weir.Contact) { dispatched++ }
		})
		l.advance(2 * time.Minute) // what was enqueued before is dispatched
		l.store.locked(func() { dispatched = 0 })
		n := l.countMoves()
		l.advance(time.Hour)
		l.store.locked(func() {
			if dispatched > 0 {
				l.t.Errorf("%d contacts were dispatched to a channel that cannot carry them", dispatched)
			}
		})
		if n := n(); n > 100 {
			l.t.Errorf("%d moves in an hour in which no respondent could be contacted", n)
		}
		st, err := l.system.Stats(l.t.Context(), l.store.survey(s.ID))
		if err != nil || len(st.Using) != 1 || st.Using[0].Health == weir.Up || st.Using[0].Reason == "" {
			l.t.Errorf("the survey says of its channel %+v (%v)", st.Using, err)
		}
		l.store.locked(func() { l.store.channels[texts.ID].Type = "text" })
		l.advance(3 * time.Hour)
		if st := l.store.survey(s.ID); st.State != surveys.Done || l.statusCounts(s.ID)[surveys.Failed] != 30 {
			l.t.Errorf("the survey is %s, %v", st.State, l.statusCounts(s.ID))
		}
	})
}

// A survey that must not end yet, because respondents are becoming visible,
// retries after a while, not as fast as it can.
func TestSurvey_RetriesItsEndDuringAnImport(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", smsSurvey("10m"), 2)
		l.command("s", surveys.Launch)
		asked := 0
		l.store.locked(func() {
			l.store.failOperation = func(op string) error {
				if op != "UpdateSurvey" {
					return nil
				}
				if asked++; asked < 1000 {
					return weir.Errorf(weir.CodePrecondition, "an import is becoming visible")
				}
				return nil
			}
		})
		l.advance(25 * time.Minute)
		l.store.locked(func() {
			if asked == 0 || asked > 600 {
				l.t.Errorf("asked %d times in some minutes", asked)
			}
			l.store.failOperation = nil
		})
		l.advance(time.Minute)
		if st := l.store.survey(s.ID); st.State != surveys.Done {
			l.t.Errorf("the survey is %s", st.State)
		}
	})
}

// Contacts that wait in a channel when the schedule of a running survey changes
// are not dispatched in the windows of the old schedule: they are canceled,
// count as no attempt, and are enqueued again in the windows of the new one.
func TestSurvey_NewScheduleRecallsWaitingContacts(t *testing.T) {
	inLabFor(t, time.Minute, noAnswer, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", smsSurvey("10m"), 40)
		l.command("s", surveys.Launch)
		l.advance(10 * time.Second)
		l.store.locked(func() { l.store.channels[texts.ID].Paused = true }) // five are in flight, some wait
		l.advance(2 * time.Minute)
		waiting := 0
		l.store.locked(func() {
			waiting = len(l.store.waiting[texts.ID])
			v := l.store.surveys[s.ID]
			v.Definition.Schedule.Windows = []calendar.WindowSpec{{From: "08:00", To: "10:00"}}
			v.Version++
		})
		if waiting == 0 {
			l.t.Fatal("no respondent waits")
		}
		early := 0
		l.advance(2 * time.Hour) // it is past eleven
		l.store.locked(func() {
			l.channels.onDispatch = func(weir.Contact) {
				if h := time.Now().UTC().Hour(); h < 8 || h >= 10 {
					early++
				}
			}
			l.store.channels[texts.ID].Paused = false
		})
		l.channels.dispatchAll()
		l.advance(72 * time.Hour)
		l.store.locked(func() {
			if early > 0 {
				l.t.Errorf("%d contacts went out outside of the windows", early)
			}
		})
		if st := l.store.survey(s.ID); st.State != surveys.Done {
			l.t.Errorf("the survey is %s, %v", st.State, l.statusCounts(s.ID))
		}
		for _, p := range l.respondents(s.ID) {
			if p.Attempts.SMS != 2 {
				l.t.Errorf("respondent %s had %d attempts", p.ID, p.Attempts.SMS)
			}
		}
	})
}

// A message of a respondent in many surveys, such as a member of a panel, belongs to
// the survey that contacts it, however many newer surveys there are.
func TestReports_MessageOfAPanelMemberFindsItsSurvey(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", smsSurvey("10m"), 0)
		l.store.addPerson(s.ID, "+15552000001", nil)
		l.command("s", surveys.Launch)
		for i := range 60 {
			l.store.addPerson(l.addSurvey(fmt.Sprintf("week-%d", i), smsSurvey("10m"), 0).ID, "+15552000001", nil)
		}
		l.advance(10 * time.Second)
		l.channels.receiveMessage(texts.ID, "+15552000001", "STOP")
		l.advance(10 * time.Second)
		if p := l.respondents(s.ID)[0]; p.Status != surveys.Failed || p.Disposition != surveys.Refused {
			l.t.Errorf("who said STOP is %s, %s", p.Status, p.Disposition)
		}
	})
}

// Scenario 74: a channel that is down starts no respondent and holds retries;
// other modes continue. Outage and recovery are published once, also over restarts.
func TestChannels_DownChannelStartsNobody(t *testing.T) {
	inLabFor(t, 2*time.Minute, noAnswer, func(l *lab) {
		calls := l.store.addChannel("calls", "voice", 5)
		l.store.addChannel("texts", "text", 5)
		l.channels.status[calls.ID] = channels.Status{Health: weir.Down, Reason: "unplugged"}
		first, second := l.addSurvey("first", callSurvey("10m", "10m"), 10), l.addSurvey("second", smsSurvey(""), 10)
		l.command("first", surveys.Launch)
		l.command("second", surveys.Launch)
		l.advance(time.Second)
		dispatched := map[weir.ChannelID]int{}
		l.store.locked(func() { l.channels.onDispatch = func(c weir.Contact) { dispatched[c.Channel]++ } })
		l.advance(10 * time.Minute)
		l.system.Close()
		l.start()
		l.advance(3 * time.Hour)
		if dispatched[calls.ID] > 5 || l.store.eventCount("weir.channel.state") != 1 {
			l.t.Errorf("while it is down: %v, published %d times", dispatched, l.store.eventCount("weir.channel.state"))
		}
		if st := l.store.survey(second.ID); st.State != surveys.Done {
			l.t.Errorf("the survey that does not use it is %s", st.State)
		}
		l.store.locked(func() { delete(l.channels.status, calls.ID) })
		l.advance(8 * time.Hour)
		if st := l.store.survey(first.ID); st.State != surveys.Done || l.store.eventCount("weir.channel.state") != 2 {
			l.t.Errorf("after the recovery it is %s, published %d times", st.State, l.store.eventCount("weir.channel.state"))
		}
	})
}

// Scenario 74: a survey whose channel is down is still found done.
func TestSurvey_CompletesWhileItsChannelIsDown(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", smsSurvey("1h"), 1)
		l.command("s", surveys.Launch)
		l.advance(5 * time.Minute)
		l.store.locked(func() { l.channels.status[texts.ID] = channels.Status{Health: weir.Erring, Reason: "unreachable"} })
		l.advance(10 * time.Minute)
		l.report(s, l.respondents(s.ID)[0].ID, surveys.Report{Disposition: surveys.Complete})
		l.advance(time.Minute)
		if st := l.store.survey(s.ID); st.State != surveys.Done {
			l.t.Errorf("it is %s", st.State)
		}
	})
}
