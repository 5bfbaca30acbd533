package surveybroker_test

import (
	"testing"
	"time"

	"weir"
	"weir/surveys"
)

// A respondent that sends a stop message is done, and its waiting contact
// canceled, when the message is acknowledged: without a round, whichever
// process received it.
func TestStopIsTakenBeforeItIsAcknowledged(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		a, b := l.survey("a", byText("10m"), 1), l.survey("b", byText("10m"), 0)
		l.lines.idle = true
		l.step("a", surveys.Launch)
		l.pass(time.Minute)
		r := l.all(a.ID)[0]
		twin := l.store.addPerson(b.ID, r.Phone, nil)
		l.store.change(func() { l.store.surveys[b.ID].State = surveys.Running })
		l.sys.Close() // no more rounds
		l.lines.say(ch.ID, r.Phone, "STOP")
		m := weir.Incoming{From: r.Phone, Body: "STOP", GUID: "m"}
		for range 2 { // the provider may send it again
			if err := l.sys.Incoming(l.t.Context(), ch.ID, m); err != nil {
				l.t.Fatal(err)
			}
		}
		got := l.all(a.ID)[0]
		if got.Status != surveys.Failed || l.store.contacts[r.Contact].Outcome != weir.Canceled {
			l.t.Errorf("%+v; the contact: %+v", got.Progress, l.store.contacts[r.Contact].Progress)
		}
		if l.store.person(twin).Status != surveys.Pending {
			l.t.Errorf("another survey: %+v", l.store.person(twin).Progress)
		}
		for _, n := range l.store.notices {
			if n.Kind == surveys.MessageReceived {
				l.t.Errorf("the notice is left for another: %+v", n)
			}
		}
	})
}

// A stop message that cannot be applied at once is not acknowledged. A message
// that requests nothing waits for a round.
func TestOnlyStopIsTakenAtOnce(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.survey("s", byText("10m"), 1)
		l.lines.idle = true
		l.step("s", surveys.Launch)
		l.pass(time.Minute)
		r := l.all(s.ID)[0]
		l.sys.Close()
		for _, text := range []string{"yes", "stop", "a stranger"} {
			l.lines.say(ch.ID, r.Phone, text)
		}
		l.store.change(func() { l.lines.stuck[ch.ID] = true })
		for text, want := range map[string]weir.Code{"yes": "", "stop": weir.CodeUnavailable, "a stranger": ""} {
			if err := l.sys.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: r.Phone, Body: text, GUID: "m"}); weir.CodeOf(err) != want {
				l.t.Errorf("%s: %v", text, err)
			}
		}
		if err := l.sys.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: "+15559999999", Body: "stop"}); err != nil {
			l.t.Error(err)
		}
		if got := l.all(s.ID)[0]; got.Status != surveys.Active || len(l.store.notices) != 3 {
			l.t.Errorf("%+v, %d notices", got.Progress, len(l.store.notices))
		}
	})
}
