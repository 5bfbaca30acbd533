package surveys_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/surveys"
)

func start() time.Time { return time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC) } // a Monday

// respondentLog simulates the life of one respondent and records the effects.
type respondentLog struct {
	t    *testing.T
	pl   *surveys.Plan
	p    surveys.Progress
	last surveys.Effects
	log  []string
}

func startRespondent(t *testing.T, d surveys.Definition) *respondentLog {
	t.Helper()
	l := &respondentLog{t: t, pl: plan(t, d), p: surveys.NewProgress()}
	p, e, err := l.pl.Start(l.p, start(), 0)
	if err != nil {
		t.Fatal(err)
	}
	l.record(p, e)
	return l
}

func (l *respondentLog) record(p surveys.Progress, e surveys.Effects) {
	l.p, l.last = p, e
	if o := e.Enqueue; o != nil {
		l.log = append(l.log, fmt.Sprintf("%s %d", o.Mode, o.Attempt))
	}
	if e.Cancel != 0 {
		l.log = append(l.log, fmt.Sprintf("withdraw %d", e.Cancel))
	}
	if e.Overdue != 0 {
		l.log = append(l.log, fmt.Sprintf("overdue %d", e.Overdue))
	}
	if e.Finished {
		l.log = append(l.log, fmt.Sprintf("%s, %s", l.p.Status, l.p.Disposition))
	}
}

func at(minutes float64) time.Time { return start().Add(time.Duration(minutes * float64(time.Minute))) }

func (l *respondentLog) accepted(minutes float64) {
	p, e := l.pl.ContactAccepted(l.p, at(minutes), l.p.Serial)
	l.record(p, e)
}

func (l *respondentLog) ended(minutes float64, o weir.Outcome) {
	p, e := l.pl.ApplyOutcome(l.p, at(minutes), l.p.Serial, o)
	l.record(p, e)
}

// timeout advances the time to the next step, and returns its minute after start.
func (l *respondentLog) timeout() float64 {
	due := l.p.DueAt
	p, e := l.pl.Timeout(l.p, due)
	l.record(p, e)
	return due.Sub(start()).Minutes()
}

func (l *respondentLog) replied(minutes float64, d surveys.Disposition) error {
	p, e, err := l.pl.Replied(l.p, at(minutes), 0, d)
	l.record(p, e)
	return err
}

func (l *respondentLog) expect(want ...string) {
	l.t.Helper()
	if diff := cmp.Diff(want, l.log); diff != "" {
		l.t.Error(diff)
	}
}

// Scenario 82, and the example of the rule: "10m 2h" without another mode means
// contacts at 0, after 10 minutes, after 2 hours, and failed after 2 more.
func TestRespondent_FailsAfterItsRetriesWithoutAnotherMode(t *testing.T) {
	t.Parallel()
	l := startRespondent(t, smsOnly("10m 2h"))
	clock := 0.0
	for _, want := range []float64{10, 130, 250} {
		l.accepted(clock)
		l.ended(clock+1, weir.Completed)
		if clock = l.timeout(); clock != want {
			t.Fatalf("the next step is at %v minutes, want %v", clock, want)
		}
	}
	l.expect("sms 1", "sms 2", "sms 3", "failed, unresponsive")
	if diff := cmp.Diff(surveys.Counts{SMS: 3}, l.pl.AttemptsMade(l.p)); diff != "" {
		t.Error(diff)
	}
}

// Scenario 82: neither retries nor another mode.
func TestRespondent_WithoutRetriesWaitsTheFallbackDelay(t *testing.T) {
	t.Parallel()
	l := startRespondent(t, smsOnly(""))
	l.accepted(0)
	if got := l.timeout(); got != 120 {
		t.Errorf("given up after %v minutes", got)
	}
	// The contact is still open: nothing is consumed.
	l.ended(121, weir.Completed)
	if got := l.timeout(); got != 240 {
		t.Errorf("given up after %v minutes", got)
	}
	l.expect("sms 1", "overdue 1", "failed, unresponsive")
}

// Scenario 82: after the last retry the fallback delay, then the next mode with
// its own retry schedule.
func TestRespondent_FallsBackToTheNextMode(t *testing.T) {
	t.Parallel()
	d := definition()
	d.FallbackDelay = "45m"
	l := startRespondent(t, d)
	clock := 0.0
	for _, want := range []float64{10, 130, 175} {
		l.accepted(clock)
		l.ended(clock+1, weir.NoAnswer)
		if clock = l.timeout(); clock != want {
			t.Fatalf("the next step is at %v minutes, want %v", clock, want)
		}
	}
	for _, want := range []float64{235, 295} {
		l.accepted(clock)
		l.ended(clock+1, weir.Completed)
		if clock = l.timeout(); clock != want {
			t.Fatalf("the next step is at %v minutes, want %v", clock, want)
		}
	}
	l.expect("ivr 1", "ivr 2", "ivr 3", "sms 1", "sms 2", "failed, unresponsive")
	if diff := cmp.Diff(surveys.Counts{IVR: 3, SMS: 2}, l.pl.AttemptsMade(l.p)); diff != "" {
		t.Error(diff)
	}
}

// Scenario 83: the delay counts from the acceptance by the provider, however long
// the contact waited, and is moved into the schedule.
func TestRespondent_DelayStartsWhenProviderAccepts(t *testing.T) {
	t.Parallel()
	d := smsOnly("2h 1d")
	d.Schedule = office("America/Mexico_City") // 15:00 to 23:00 UTC
	l := startRespondent(t, d)
	if o := l.last.Enqueue; !o.NotBefore.Equal(at(3*60)) || !o.NotAfter.Equal(at(11*60)) {
		t.Errorf("the window of the contact is %v to %v", o.NotBefore, o.NotAfter)
	}
	l.accepted(10 * 60)
	if want := at(27 * 60); !l.p.DueAt.Equal(want) { // 24:00 UTC is not open, 15:00 next day is
		t.Errorf("due at %v, want %v", l.p.DueAt, want)
	}
	l.accepted(10 * 60) // reported twice
	l.ended(10*60+1, weir.Completed)
	if want := at(27 * 60); !l.p.DueAt.Equal(want) {
		t.Errorf("due at %v, want %v", l.p.DueAt, want)
	}
	// Processed too late: it is delayed until the next window, and consumes nothing.
	p, e := l.pl.Timeout(l.p, at(36*60))
	if !p.DueAt.Equal(at(51*60)) || e != (surveys.Effects{}) || p.Tries != 1 {
		t.Errorf("outside the schedule: due %v, %+v", p.DueAt, e)
	}
}

// Scenarios 22 to 26: an expired contact is enqueued again in the next window. It is
// no attempt, and consumes no retry. This holds for the mobile web, too.
func TestRespondent_ExpiredContactsConsumeNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range surveys.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			d := definition()
			d.Schedule = office("UTC") // 9 to 17
			d.Modes = map[surveys.Mode]surveys.ModeSpec{mode: {Channel: "c", Retries: "10m"}}
			d.Arms = []surveys.Arm{{Modes: []surveys.Mode{mode}}}
			d.Questionnaires["q"][surveys.MobileWeb] = d.Questionnaires["q"][surveys.SMS]
			d.Questionnaires["q"][surveys.CATI] = d.Questionnaires["q"][surveys.IVR]
			l := startRespondent(t, d)
			for day := range 3 {
				if mode == surveys.IVR && day == 2 {
					l.accepted(float64(day*24*60 + 200)) // a call can expire at the provider, too
				}
				l.ended(float64(day*24*60+300), weir.Expired)
				o := l.last.Enqueue
				if o == nil || o.Attempt != 1 || o.Serial != day+2 || !o.NotBefore.Equal(at(float64((day+1)*24*60-180))) || o.Priority != weir.Normal {
					t.Fatalf("after expiring %d times: %+v", day+1, o)
				}
				if made := l.pl.AttemptsMade(l.p); made.Total() != 0 || l.p.Attempts.Total() != 1 {
					t.Errorf("attempts made %+v, begun %+v", made, l.p.Attempts)
				}
			}
			l.expect(string(mode)+" 1", string(mode)+" 1", string(mode)+" 1", string(mode)+" 1")
		})
	}
}

// Scenario 101: a contact that expired early is enqueued again at once. A provider whose
// clock is ahead must not cause a retry loop.
func TestRespondent_EarlyExpiryIsRepeatedAtOnceOneTime(t *testing.T) {
	t.Parallel()
	d := smsOnly("10m")
	d.Schedule = office("UTC")
	l := startRespondent(t, d)
	l.ended(60, weir.Expired)
	if got := l.last.Enqueue.NotBefore; !got.Equal(at(60)) {
		t.Errorf("the first time again at %v", got)
	}
	l.ended(70, weir.Expired)
	if got := l.last.Enqueue.NotBefore; !got.Equal(at(85)) {
		t.Errorf("the second time again at %v", got)
	}
	l.ended(299, weir.Expired) // a minute before the end
	if got := l.last.Enqueue.NotBefore; !got.Equal(at(21 * 60)) {
		t.Errorf("again at %v", got)
	}
}

func TestRespondent_FailsWithNoWindowLeft(t *testing.T) {
	t.Parallel()
	d := smsOnly("10m")
	d.Schedule = office("UTC")
	d.Schedule.EndDate = "2026-01-05"
	l := startRespondent(t, d)
	l.ended(300, weir.Expired)
	l.expect("sms 1", "failed, failed")
	if l.p.Attempts.Total() != 0 || l.p.Tries != 0 {
		t.Errorf("attempts begun: %+v, %d tries", l.p.Attempts, l.p.Tries)
	}
	if _, _, err := l.pl.Start(surveys.NewProgress(), at(300), 0); !errors.Is(err, surveys.ErrNoWindow) {
		t.Errorf("started after the last window: %v", err)
	}
}

// Scenario 86: the last failed call ends the respondent at once; with a retry or
// another mode left the respondent waits.
func TestRespondent_LastFailedCallEndsRespondentAtOnce(t *testing.T) {
	t.Parallel()
	for _, o := range []weir.Outcome{weir.Busy, weir.NoAnswer, weir.Failed, weir.Lost, weir.DeadLetter} {
		d := definition()
		d.Arms[0].Modes = []surveys.Mode{surveys.IVR}
		l := startRespondent(t, d)
		for i := range 3 {
			l.accepted(float64(i * 200))
			l.ended(float64(i*200+1), o)
			if i < 2 && l.p.Status != surveys.Active {
				t.Fatalf("%s: ended after %d attempts", o, i+1)
			} else if i < 2 {
				l.timeout()
			}
		}
		l.expect("ivr 1", "ivr 2", "ivr 3", "failed, failed")
		with := startRespondent(t, definition())
		with.p.Tries = 3
		with.ended(1, o)
		with.expect("ivr 1")
		if with.p.Status != surveys.Active || with.p.DueAt.IsZero() {
			t.Errorf("%s: another mode is left, and it is %s", o, with.p.Status)
		}
	}
}

// A respondent who answers by text is not given up because a message failed.
func TestRespondent_FailedMessageDoesNotEndAConversation(t *testing.T) {
	t.Parallel()
	l := startRespondent(t, smsOnly(""))
	l.accepted(0)
	if err := l.replied(1, surveys.Started); err != nil {
		t.Fatal(err)
	}
	l.ended(2, weir.Failed)
	if l.p.Status != surveys.Active {
		t.Errorf("%s, %s", l.p.Status, l.p.Disposition)
	}
	l.timeout()
	l.expect("sms 1", "failed, breakoff")
}

// Scenario 15, and the complete rule.
func TestRespondent_PriorityFollowsTheDisposition(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		d        surveys.Disposition
		attempts surveys.Counts
		want     weir.Priority
	}{
		{surveys.Queued, surveys.Counts{SMS: 1}, weir.Normal},
		{surveys.Queued, surveys.Counts{SMS: 2}, weir.High},
		{surveys.Queued, surveys.Counts{IVR: 1, SMS: 1}, weir.High},
		{surveys.Contacted, surveys.Counts{SMS: 1}, weir.High},
		{surveys.Started, surveys.Counts{SMS: 1}, weir.High},
		{surveys.InterimPartial, surveys.Counts{IVR: 1}, weir.High},
		{surveys.Registered, surveys.Counts{}, weir.Normal},
		{surveys.Unreached, surveys.Counts{MobileWeb: 1}, weir.Normal},
	} {
		if got := (surveys.Progress{Disposition: tt.d, Attempts: tt.attempts}).Priority(); got != tt.want {
			t.Errorf("%s after %+v: %v, want %v", tt.d, tt.attempts, got, tt.want)
		}
	}
	// A retry is enqueued with high priority, because the attempt being started counts.
	l := startRespondent(t, smsOnly("10m"))
	if l.last.Enqueue.Priority != weir.Normal {
		t.Error("a first attempt is not normal")
	}
	l.accepted(0)
	l.ended(1, weir.Lost)
	if l.timeout(); l.last.Enqueue.Priority != weir.High {
		t.Error("a retry is not high")
	}
}

// The report that a contact was accepted may be lost; its end implies it.
func TestRespondent_EndImpliesAcceptance(t *testing.T) {
	t.Parallel()
	l := startRespondent(t, smsOnly("10m"))
	l.ended(5, weir.Completed)
	if !l.p.DueAt.Equal(at(15)) || l.pl.AttemptsMade(l.p).SMS != 1 {
		t.Errorf("due at %v, attempts %+v", l.p.DueAt, l.pl.AttemptsMade(l.p))
	}
}

// The answer of the person may be the first report of a contact: the delay to the next
// step counts from there, and a failure of the call afterwards does not change it.
func TestRespondent_DelayStartsWithAnAnswer(t *testing.T) {
	t.Parallel()
	l := startRespondent(t, smsOnly("10m"))
	p, e := l.pl.CallAnswered(l.p, at(5), l.p.Serial)
	l.record(p, e)
	l.ended(6, weir.Failed)
	if !l.p.DueAt.Equal(at(15)) || l.p.Contact != surveys.Idle || l.p.Disposition != surveys.Contacted {
		t.Errorf("due at %v, %+v", l.p.DueAt, l.p)
	}
}

// A paused survey cancels a waiting contact, and the call turns out to be answered: the
// person must not be called again before the delay.
func TestRespondent_AnswerAfterACancelStartsTheDelay(t *testing.T) {
	t.Parallel()
	l := startRespondent(t, smsOnly("10m"))
	p, e := l.pl.CancelWaiting(l.p, at(4))
	l.record(p, e)
	p, e = l.pl.CallAnswered(l.p, at(5), l.p.Serial)
	l.record(p, e)
	// The acceptance came before the answer, and its report after it: it changes nothing.
	if p, e = l.pl.ContactAccepted(l.p, at(4), l.p.Serial); !cmp.Equal(p, l.p) || e != (surveys.Effects{}) {
		t.Errorf("the late acceptance changed %+v: %+v", p, e)
	}
	// So does a repetition of the answer.
	if p, e = l.pl.CallAnswered(l.p, at(9), l.p.Serial); !cmp.Equal(p, l.p) || e != (surveys.Effects{}) {
		t.Errorf("the repeated answer changed %+v: %+v", p, e)
	}
	l.ended(6, weir.Failed)
	if !l.p.DueAt.Equal(at(15)) || l.p.Contact != surveys.Idle || l.p.Tries != 1 {
		t.Errorf("due at %v, %+v", l.p.DueAt, l.p)
	}
}

// A contact was canceled too late, and its end is all that is reported of it: it was an
// attempt, and the next one follows after the delay.
func TestRespondent_EndAfterACancelIsAnAttempt(t *testing.T) {
	t.Parallel()
	l := startRespondent(t, smsOnly("10m"))
	p, e := l.pl.CancelWaiting(l.p, at(4))
	l.record(p, e)
	l.ended(6, weir.Failed)
	if !l.p.DueAt.Equal(at(16)) || l.p.Contact != surveys.Idle || l.p.Tries != 1 {
		t.Errorf("due at %v, %+v", l.p.DueAt, l.p)
	}
}

// A provider had a message for a while, and certainly did not send it: the contact
// was queued again and expired there.
func TestRespondent_ExpiryAfterAcceptanceIsNoAttempt(t *testing.T) {
	t.Parallel()
	d := smsOnly("10m")
	d.Schedule = office("UTC")
	l := startRespondent(t, d)
	l.accepted(1)
	l.ended(300, weir.Expired)
	if o := l.last.Enqueue; o == nil || o.Attempt != 1 || l.pl.AttemptsMade(l.p).SMS != 0 {
		t.Errorf("%+v, attempts %+v", o, l.pl.AttemptsMade(l.p))
	}
}

func TestRespondent_StartsOnce(t *testing.T) {
	t.Parallel()
	l := startRespondent(t, definition())
	if _, _, err := l.pl.Start(l.p, start(), 0); !errors.Is(err, surveys.ErrNotPending) {
		t.Errorf("started twice: %v", err)
	}
}

// A delay ends with the start: the next step is not put off by it again.
func TestRespondent_StartEndsTheDelayOfAPendingRespondent(t *testing.T) {
	t.Parallel()
	pl := plan(t, definition())
	p, _ := pl.DeferFailed(surveys.NewProgress(), start(), 0.5)
	if !p.DelayedUntil.After(start()) {
		t.Fatalf("not delayed: %+v", p)
	}
	if p, _, err := pl.Start(p, p.DelayedUntil, 0); err != nil || !p.DelayedUntil.IsZero() {
		t.Errorf("started, and delayed until %v (%v)", p.DelayedUntil, err)
	}
}

// Only the end of the latest contact, reported for the first time, agrees on a call-back.
func TestRespondent_CallBackOfAnotherInterviewIsIgnored(t *testing.T) {
	t.Parallel()
	d := definition()
	d.Modes = map[surveys.Mode]surveys.ModeSpec{surveys.CATI: {Channel: "people", Retries: "10m 2h"}}
	d.Arms = []surveys.Arm{{Modes: []surveys.Mode{surveys.CATI}}}
	d.Questionnaires = map[string]map[surveys.Mode][]surveys.Content{"q": {surveys.CATI: {{Messages: []string{"Ask"}}}}}
	l := startRespondent(t, d)
	end := surveys.Ending{At: at(5), Serial: l.p.Serial, Outcome: weir.NoAnswer}
	ended, _ := l.pl.ContactEnded(l.p, at(5), end)
	end.Result.CallBack = at(600)
	if repeated, _ := l.pl.ContactEnded(ended, at(6), end); repeated != ended {
		t.Errorf("the end is reported again: %+v, was %+v", repeated, ended)
	}
	second, _ := l.pl.Timeout(ended, ended.DueAt)
	if older, _ := l.pl.ContactEnded(second, at(20), end); older != second {
		t.Errorf("the end of an older interview: %+v, was %+v", older, second)
	}
	if agreed, _ := l.pl.ContactEnded(l.p, at(5), end); !agreed.DueAt.Equal(at(600)) {
		t.Errorf("agreed for %v, due at %v", at(600), agreed.DueAt)
	}
}
