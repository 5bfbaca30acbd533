package surveybroker_test

import (
	"testing"
	"time"

	"weir"
	"weir/surveys"
)

// A write that the store rejects for one respondent holds up neither the other
// respondents of its survey nor other surveys.
func TestWhatTheStoreRefusesHoldsNobodyUp(t *testing.T) {
	for _, code := range []weir.Code{weir.CodeInvalid, weir.CodeInternal} {
		t.Run(string(code), func(t *testing.T) {
			inLabFor(t, time.Minute, quiet, func(l *lab) {
				l.store.addChannel("texts", "text", 50)
				a, b := l.survey("a", byText("10m"), 20), l.survey("b", byText("10m"), 20)
				poison := l.store.members[a.ID][7]
				l.store.change(func() {
					l.store.refuse = func(m surveys.Move) error {
						if m.Was.ID == poison && m.Enqueue != nil {
							return &weir.Error{Code: code, Message: "the store refuses this"}
						}
						return nil
					}
				})
				l.step("a", surveys.Launch)
				l.step("b", surveys.Launch)
				l.pass(3 * time.Hour)
				if st := l.store.surveyNow(b.ID); st.State != surveys.Done {
					l.t.Errorf("the other survey is %s, %v", st.State, l.by(b.ID))
				}
				if by := l.by(a.ID); by[surveys.Failed] != 19 || by[surveys.Pending] != 1 {
					l.t.Errorf("the survey has %v", by)
				}
				l.pass(24 * time.Hour)
				if st := l.store.surveyNow(a.ID); st.State != surveys.Done {
					l.t.Errorf("the survey is %s, %v", st.State, l.by(a.ID))
				}
			})
		})
	}
}

// A key that belongs to another contact is skipped, and does not make rounds
// follow each other at once.
func TestAKeyThatIsTaken(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 50)
		s := l.survey("s", byText("10m"), 3)
		l.store.change(func() {
			key := surveys.ContactKey(l.store.members[s.ID][1].String(), 1)
			l.store.enqueue(ch.ID, weir.Spec{Key: key, To: "+15550001"})
		})
		l.step("s", surveys.Launch)
		l.store.change(func() { l.store.calls = 0 })
		l.pass(20 * time.Second)
		l.store.change(func() {
			if l.store.calls > 300 {
				l.t.Errorf("%d statements in 20 seconds", l.store.calls)
			}
		})
		l.pass(time.Hour)
		if st := l.store.surveyNow(s.ID); st.State != surveys.Done || l.by(s.ID)[surveys.Failed] != 3 {
			l.t.Errorf("the survey is %s, %v", st.State, l.by(s.ID))
		}
	})
}

// While the contacts of one channel cannot be canceled, the rounds continue for
// the others: they do not wait for each of hundreds of contacts.
func TestAHungChannelCostsARoundLittle(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 10)
		l.store.addChannel("more", "text", 10)
		d := byText("10m")
		d.Modes[surveys.SMS] = surveys.ModeSpec{Channel: "more", Retries: "10m"}
		s := l.survey("s", byText("10m"), 400)
		l.step("s", surveys.Launch)
		l.lines.mu.Lock()
		l.lines.idle = true
		l.lines.mu.Unlock()
		l.store.change(func() { // all of them wait in the channel
			l.store.channels[texts.ID].Capacity = 400
		})
		l.pass(2 * time.Minute)
		l.lines.mu.Lock()
		l.lines.hung, l.lines.idle = map[weir.ChannelID]bool{texts.ID: true}, false
		l.lines.mu.Unlock()
		l.step("s", surveys.Stop)
		l.pass(time.Second)
		other := l.survey("other", d, 5)
		l.step("other", surveys.Launch)
		l.pass(20 * time.Second)
		if by := l.by(other.ID); by[surveys.Active] != 5 {
			l.t.Errorf("20 seconds after its launch the other survey has %v", by)
		}
		l.lines.mu.Lock()
		l.lines.hung = nil
		l.lines.mu.Unlock()
		l.pass(time.Minute)
		if st := l.store.surveyNow(s.ID); st.State != surveys.Done {
			l.t.Errorf("the survey is %s, %v", st.State, l.by(s.ID))
		}
	})
}

// The limit per minute holds also across a commit that is in doubt.
func TestTheLimitHoldsOverADoubtfulWrite(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 500)
		d := byText("10m")
		d.LimitPerMinute = 10
		s := l.survey("s", d, 100)
		l.store.change(func() {
			doubts := 0
			l.store.doubt = func() error {
				if doubts++; doubts <= 3 {
					return &weir.Error{Code: weir.CodeUnavailable, Message: "nobody knows"}
				}
				return nil
			}
		})
		l.step("s", surveys.Launch)
		l.pass(50 * time.Second)
		if n := l.by(s.ID)[surveys.Active]; n != 10 {
			l.t.Errorf("%d were contacted within a minute, want 10", n)
		}
	})
}
