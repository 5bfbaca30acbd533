package surveys_test

import (
	"testing"
	"time"

	"weir"
	"weir/surveys"
)

// A write that the store rejects for one respondent holds up neither the other
// respondents of its survey nor other surveys.
func TestWrite_RejectedChangeBlocksNoOther(t *testing.T) {
	for _, code := range []weir.Code{weir.CodeInvalid, weir.CodeInternal} {
		t.Run(string(code), func(t *testing.T) {
			inLabFor(t, time.Minute, noAnswer, func(l *lab) {
				l.store.addChannel("texts", "text", 50)
				a, b := l.addSurvey("a", smsSurvey("10m"), 20), l.addSurvey("b", smsSurvey("10m"), 20)
				poison := l.store.members[a.ID][7]
				l.store.locked(func() {
					l.store.rejectMove = func(m surveys.Move) error {
						if m.Was.ID == poison && m.Enqueue != nil {
							return &weir.Error{Code: code, Message: "the store refuses this"}
						}
						return nil
					}
				})
				l.command("a", surveys.Launch)
				l.command("b", surveys.Launch)
				l.advance(3 * time.Hour)
				if st := l.store.survey(b.ID); st.State != surveys.Done {
					l.t.Errorf("the other survey is %s, %v", st.State, l.statusCounts(b.ID))
				}
				if by := l.statusCounts(a.ID); by[surveys.Failed] != 19 || by[surveys.Pending] != 1 {
					l.t.Errorf("the survey has %v", by)
				}
				l.advance(24 * time.Hour)
				if st := l.store.survey(a.ID); st.State != surveys.Done {
					l.t.Errorf("the survey is %s, %v", st.State, l.statusCounts(a.ID))
				}
			})
		})
	}
}

// A key that belongs to another contact is skipped, and does not make rounds
// follow each other at once.
func TestWrite_SkipsAContactKeyInUse(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 50)
		s := l.addSurvey("s", smsSurvey("10m"), 3)
		l.store.locked(func() {
			key := surveys.ContactKey(l.store.members[s.ID][1].String(), 1)
			l.store.enqueue(ch.ID, weir.Spec{Key: key, To: "+15550001"})
		})
		l.command("s", surveys.Launch)
		l.store.locked(func() { l.store.calls = 0 })
		l.advance(20 * time.Second)
		l.store.locked(func() {
			if l.store.calls > 300 {
				l.t.Errorf("%d statements in 20 seconds", l.store.calls)
			}
		})
		l.advance(time.Hour)
		if st := l.store.survey(s.ID); st.State != surveys.Done || l.statusCounts(s.ID)[surveys.Failed] != 3 {
			l.t.Errorf("the survey is %s, %v", st.State, l.statusCounts(s.ID))
		}
	})
}

// While the contacts of one channel cannot be canceled, the rounds continue for
// the others: they do not wait for each of hundreds of contacts.
func TestWrite_HangingCancelBarelyDelaysRounds(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 10)
		l.store.addChannel("more", "text", 10)
		d := smsSurvey("10m")
		d.Modes[surveys.SMS] = surveys.ModeSpec{Channel: "more", Retries: "10m"}
		s := l.addSurvey("s", smsSurvey("10m"), 400)
		l.command("s", surveys.Launch)
		l.channels.mu.Lock()
		l.channels.dispatchNothing = true
		l.channels.mu.Unlock()
		l.store.locked(func() { // all of them wait in the channel
			l.store.channels[texts.ID].Capacity = 400
		})
		l.advance(2 * time.Minute)
		l.channels.mu.Lock()
		l.channels.cancelHangs, l.channels.dispatchNothing = map[weir.ChannelID]bool{texts.ID: true}, false
		l.channels.mu.Unlock()
		l.command("s", surveys.Stop)
		l.advance(time.Second)
		other := l.addSurvey("other", d, 5)
		l.command("other", surveys.Launch)
		l.advance(20 * time.Second)
		if by := l.statusCounts(other.ID); by[surveys.Active] != 5 {
			l.t.Errorf("20 seconds after its launch the other survey has %v", by)
		}
		l.channels.mu.Lock()
		l.channels.cancelHangs = nil
		l.channels.mu.Unlock()
		l.advance(time.Minute)
		if st := l.store.survey(s.ID); st.State != surveys.Done {
			l.t.Errorf("the survey is %s, %v", st.State, l.statusCounts(s.ID))
		}
	})
}

// The limit per minute holds also across a commit that is in doubt.
func TestWrite_RateLimitHoldsAfterCommitInDoubt(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 500)
		d := smsSurvey("10m")
		d.LimitPerMinute = 10
		s := l.addSurvey("s", d, 100)
		l.store.locked(func() {
			tries := 0
			l.store.replaceResult = func() error {
				if tries++; tries <= 3 {
					return &weir.Error{Code: weir.CodeUnavailable, Message: "unknown outcome"}
				}
				return nil
			}
		})
		l.command("s", surveys.Launch)
		l.advance(50 * time.Second)
		if n := l.statusCounts(s.ID)[surveys.Active]; n != 10 {
			l.t.Errorf("%d were contacted within a minute, want 10", n)
		}
	})
}
