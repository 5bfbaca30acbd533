package surveys_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/surveys"
)

// waitingRetry returns a respondent whose second attempt is queued.
func waitingRetry(t *testing.T, d surveys.Definition) *respondentLog {
	t.Helper()
	l := startRespondent(t, d)
	l.accepted(0)
	l.ended(1, weir.Completed)
	if l.timeout() != 10 || l.p.Serial != 2 {
		t.Fatal("the retry is not at 10 minutes")
	}
	l.log = nil
	return l
}

// Scenario 43: a respondent who answers while a retry is queued gets no retry, also
// if the application does not reply, if the answer is "stop", and if it used another mode.
func TestConversation_ReplyCancelsWaitingRetry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		d    surveys.Disposition
		want []string
		due  float64
	}{
		{"something came in", "", []string{"withdraw 2"}, 22},
		{"started", surveys.Started, []string{"withdraw 2"}, 22},
		{"interim partial", surveys.InterimPartial, []string{"withdraw 2"}, 22},
		{"completed", surveys.Complete, []string{"withdraw 2", "completed, completed"}, 0},
		{"refused", surveys.Refused, []string{"withdraw 2", "completed, refused"}, 0},
		{"ineligible", surveys.Ineligible, []string{"withdraw 2", "completed, ineligible"}, 0},
		{"rejected", surveys.RejectedQuota, []string{"withdraw 2", "rejected, rejected"}, 0},
		{"breakoff", surveys.Breakoff, []string{"withdraw 2", "failed, breakoff"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := waitingRetry(t, smsOnly("10m 2h"))
			if err := l.replied(12, tt.d); err != nil {
				t.Fatal(err)
			}
			l.expect(tt.want...)
			if tt.due == 0 != l.p.DueAt.IsZero() || tt.due != 0 && !l.p.DueAt.Equal(at(tt.due)) {
				t.Errorf("the next step is at %v", l.p.DueAt)
			}
			l.ended(13, weir.Canceled)
			if made := l.pl.AttemptsMade(l.p); made.SMS != 1 || l.p.Attempts.SMS != 1 || l.p.Tries != 1 {
				t.Errorf("the withdrawn retry counts: %+v, %d tries", made, l.p.Tries)
			}
		})
	}
}

func TestConversation_LateCancelCountsAsAttempt(t *testing.T) {
	t.Parallel()
	l := waitingRetry(t, smsOnly("10m 2h"))
	if err := l.replied(12, surveys.Started); err != nil {
		t.Fatal(err)
	}
	l.accepted(12.5)
	l.ended(13, weir.Completed)
	if made := l.pl.AttemptsMade(l.p); made.SMS != 2 || l.p.Tries != 2 {
		t.Errorf("attempts %+v, %d tries", made, l.p.Tries)
	}
	if want := at(132.5); !l.p.DueAt.Equal(want) {
		t.Errorf("the next step is at %v, want %v", l.p.DueAt, want)
	}
}

// The last retry was canceled too late, was dispatched, and failed. The respondent has just
// answered, so Weir still waits.
func TestConversation_FailureOfCanceledRetryEndsNoRespondent(t *testing.T) {
	t.Parallel()
	l := waitingRetry(t, smsOnly("10m"))
	if err := l.replied(12, ""); err != nil {
		t.Fatal(err)
	}
	l.ended(13, weir.Failed)
	if l.p.Status != surveys.Active || l.pl.AttemptsMade(l.p).SMS != 2 {
		t.Errorf("%s, %s, attempts %+v", l.p.Status, l.p.Disposition, l.pl.AttemptsMade(l.p))
	}
	l.timeout()
	l.expect("withdraw 2", "failed, breakoff")
}

// A respondent who answers before the first contact is still contacted, unless the
// answer ended the conversation.
func TestConversation_EarlyAnswerPreventsNoContact(t *testing.T) {
	t.Parallel()
	d := smsOnly("10m")
	d.CountPartial = true
	pl := plan(t, d)
	p, e, err := pl.Replied(surveys.NewProgress(), start(), 0, surveys.InterimPartial)
	if err != nil || p.Status != surveys.Pending || !p.Counted || e.Enqueue != nil {
		t.Errorf("%v %+v %+v", err, p, e)
	}
	p, e, err = pl.Start(p, start(), 0)
	if err != nil || p.Disposition != surveys.InterimPartial || e.Enqueue.Priority != weir.High {
		t.Errorf("%v %+v %+v", err, p, e)
	}
	p, e, err = pl.Replied(surveys.NewProgress(), start(), 0, surveys.Complete)
	if err != nil || p.Status != surveys.Completed || !p.Counted || !e.Finished {
		t.Errorf("%v %+v %+v", err, p, e)
	}
}

// An answer in the waiting contact itself proves that the contact took place.
func TestConversation_AnswerProvesThatTheContactTookPlace(t *testing.T) {
	t.Parallel()
	l := startRespondent(t, definition())
	p, e, err := l.pl.Replied(l.p, at(1), l.p.Serial, surveys.Started)
	if l.record(p, e); err != nil || e.Cancel != 0 || l.pl.AttemptsMade(p).IVR != 1 {
		t.Errorf("%v, %+v, attempts %+v", err, e, l.pl.AttemptsMade(p))
	}
	if !p.DueAt.Equal(at(11)) {
		t.Errorf("the next step is at %v", p.DueAt)
	}
}

func TestConversation_OptOutEndsTheRespondent(t *testing.T) {
	t.Parallel()
	for d, want := range map[surveys.Disposition]surveys.Disposition{
		surveys.Registered: surveys.Refused, surveys.Queued: surveys.Refused, surveys.Contacted: surveys.Refused,
		surveys.Started: surveys.Breakoff, surveys.InterimPartial: surveys.Partial,
	} {
		l := waitingRetry(t, smsOnly("10m 2h"))
		l.p.Disposition = d
		l.record(l.pl.OptOut(l.p))
		l.expect("withdraw 2", "failed, "+string(want))
		if !l.p.OptedOut {
			t.Errorf("%s is not told from a refusal", want)
		}
		again, e := l.pl.OptOut(l.p)
		if diff := cmp.Diff(l.p, again); diff != "" || e != (surveys.Effects{}) {
			t.Errorf("stopped twice: %+v\n%s", e, diff)
		}
	}
	pending, e := plan(t, definition()).OptOut(surveys.NewProgress())
	if pending.Status != surveys.Failed || pending.Disposition != surveys.Refused || e.Cancel != 0 {
		t.Errorf("who says stop before being contacted is %s, %s", pending.Status, pending.Disposition)
	}
}

func TestConversation_StopWordsStandAlone(t *testing.T) {
	t.Parallel()
	d := definition()
	d.StopWords = []string{"STOP", "No más!", "arrêter"}
	pl := plan(t, d)
	for message, want := range map[string]bool{
		"stop": true, " Stop.\n": true, "¡NO MÁS!": true, "\u200eArrêter": true, "\"stop\"": true, "no  más": true, "No\n más": true, "no mas": true, "arreter": true,
		"": false, "...": false, "please stop": false, "stop it": false, "stopp": false,
	} {
		if got := pl.IsOptOut(message); got != want {
			t.Errorf("%q is a stop word: %v", message, got)
		}
	}
	d.StopWords, d.AnswerWords = nil, []string{"end"}
	if pl := plan(t, d); pl.IsOptOut("End!") || !pl.IsOptOut("quit") {
		t.Error("a word that is an answer is a stop word")
	}
	d.StopWords = []string{}
	if plan(t, d).IsOptOut("stop") {
		t.Error("a survey without stop words has one")
	}
}

func TestDisposition_IsFinalWhenGivenUp(t *testing.T) {
	t.Parallel()
	for d, want := range map[surveys.Disposition]surveys.Disposition{
		surveys.Queued: surveys.Unreached, surveys.Contacted: surveys.Unresponsive, surveys.Started: surveys.Breakoff, surveys.InterimPartial: surveys.Partial,
		surveys.Complete: surveys.Complete, surveys.Ineligible: surveys.Ineligible, surveys.RejectedQuota: surveys.RejectedQuota, surveys.Refused: surveys.Refused,
	} {
		if got := d.GivenUp(); got != want {
			t.Errorf("%s given up is %s, want %s", d, got, want)
		}
	}
}

func TestDisposition_GoesForwardOnly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to surveys.Disposition
		want     bool
	}{
		{surveys.Registered, surveys.Complete, true},
		{surveys.Queued, surveys.Started, true},
		{surveys.Started, surveys.Contacted, false},
		{surveys.InterimPartial, surveys.Started, false},
		{surveys.InterimPartial, surveys.Refused, false},
		{surveys.InterimPartial, surveys.Partial, true},
		{surveys.Started, surveys.Partial, true}, // through interim partial
		{surveys.Contacted, surveys.Unreached, false},
		{surveys.Complete, surveys.Partial, false},
		{surveys.Refused, surveys.Complete, false},
	} {
		if got := tt.from.CanBecome(tt.to); got != tt.want {
			t.Errorf("%s leads to %s: %v", tt.from, tt.to, got)
		}
	}
	for _, d := range surveys.Dispositions() {
		if !d.CanBecome(d) || d.Final() != (d.Advance(surveys.Complete) == d && d.Advance(surveys.Unreached) == d && d.Advance(surveys.Partial) == d) {
			t.Errorf("%s: final %v", d, d.Final())
		}
		if !d.GivenUp().Final() || !d.OptedOut().Final() || !d.CanBecome(d.GivenUp()) || !d.CanBecome(d.OptedOut()) {
			t.Errorf("%s ends as %s or %s", d, d.GivenUp(), d.OptedOut())
		}
	}
}

func TestConversation_RefusesInvalidReports(t *testing.T) {
	t.Parallel()
	l := waitingRetry(t, smsOnly("10m 2h"))
	for _, d := range []surveys.Disposition{surveys.Registered, surveys.Queued, surveys.Unresponsive, surveys.Unreached, "asleep"} {
		if err := l.replied(12, d); !errors.Is(err, surveys.ErrDisposition) {
			t.Errorf("%s is accepted: %v", d, err)
		}
	}
	l.log = nil
	if err := l.replied(12, surveys.InterimPartial); err != nil {
		t.Fatal(err)
	}
	if err := l.replied(13, surveys.Started); err != nil || l.p.Disposition != surveys.InterimPartial {
		t.Errorf("a late report: %v, %s", err, l.p.Disposition)
	}
	if err := l.replied(13, surveys.Refused); !errors.Is(err, surveys.ErrDisposition) {
		t.Errorf("refused after an interim partial: %v", err)
	}
	if err := l.replied(14, surveys.Complete); err != nil {
		t.Fatal(err)
	}
	before := l.p
	if err := l.replied(15, surveys.Complete); err != nil || l.last != (surveys.Effects{}) {
		t.Errorf("completed twice: %v, %+v", err, l.last)
	}
	if err := l.replied(15, surveys.Started); !errors.Is(err, surveys.ErrFinal) {
		t.Errorf("started after completed: %v", err)
	}
	if _, _, err := l.pl.Reject(l.p); !errors.Is(err, surveys.ErrFinal) {
		t.Errorf("rejected after completed: %v", err)
	}
	if diff := cmp.Diff(before, l.p); diff != "" {
		t.Error(diff)
	}
}

// Scenario 84: a respondent that became final between selection and processing does
// not change.
func TestConversation_TimeoutOfAFinishedRespondentDoesNothing(t *testing.T) {
	t.Parallel()
	l := waitingRetry(t, smsOnly("10m 2h"))
	if err := l.replied(12, surveys.Complete); err != nil {
		t.Fatal(err)
	}
	p, e := l.pl.Timeout(l.p, at(10_000))
	if diff := cmp.Diff(l.p, p); diff != "" || e != (surveys.Effects{}) {
		t.Errorf("%+v\n%s", e, diff)
	}
}

// Scenarios 36 to 38, from the survey's view: a late report about an older contact
// does not affect the newer one.
func TestConversation_LateReportsChangeNothing(t *testing.T) {
	t.Parallel()
	l := startRespondent(t, smsOnly("10m 2h"))
	l.accepted(0)
	l.ended(1, weir.Lost)
	l.timeout()
	for _, o := range []weir.Outcome{weir.Failed, weir.Expired, weir.Canceled} {
		if p, e := l.pl.ApplyOutcome(l.p, at(11), 1, o); !cmp.Equal(p, l.p) || e != (surveys.Effects{}) {
			t.Errorf("%s changed %+v: %+v", o, p, e)
		}
	}
	p, e := l.pl.ContactAccepted(l.p, at(11), 1)
	if !cmp.Equal(p, l.p) || e != (surveys.Effects{}) {
		t.Errorf("the late acceptance changed %+v: %+v", p, e)
	}
	// A late delivery proves that the respondent was reached.
	p, _ = l.pl.ApplyOutcome(l.p, at(11), 1, weir.Completed)
	if p.Disposition != surveys.Contacted || p.Contact != surveys.Waiting || !p.DueAt.Equal(l.p.DueAt) {
		t.Errorf("%+v", p)
	}
}

// Scenarios 68 and 70: stopping a survey cancels queued contacts and contacts in
// flight, and its respondents get no further contacts.
func TestConversation_CancelIncludesDispatchedContact(t *testing.T) {
	t.Parallel()
	waiting, out := startRespondent(t, definition()), startRespondent(t, definition())
	out.accepted(0)
	idle := startRespondent(t, definition())
	idle.accepted(0)
	idle.ended(1, weir.NoAnswer)
	for name, l := range map[string]*respondentLog{"waiting": waiting, "out": out, "idle": idle} {
		p, e := l.pl.Cancel(l.p)
		want := surveys.Effects{Finished: true, Cancel: 1, CancelInFlight: true}
		if name == "idle" {
			want = surveys.Effects{Finished: true}
		}
		if diff := cmp.Diff(want, e); diff != "" || p.Status != surveys.Canceled || p.Disposition != surveys.Queued {
			t.Errorf("%s: %s, %s\n%s", name, p.Status, p.Disposition, diff)
		}
		p, _ = l.pl.ApplyOutcome(p, at(2), 1, weir.Canceled)
		if q, e := l.pl.Timeout(p, at(10_000)); !cmp.Equal(p, q) || e != (surveys.Effects{}) || p.Contact != surveys.Idle {
			t.Errorf("%s goes on: %+v, %+v", name, q, e)
		}
		if made := l.pl.AttemptsMade(p).Total(); name == "idle" && made != 1 || name != "idle" && made != 0 {
			t.Errorf("%s made %d attempts", name, made)
		}
	}
}

func TestRespondent_CountsOnce(t *testing.T) {
	t.Parallel()
	for _, partial := range []bool{false, true} {
		d := smsOnly("10m 2h")
		d.CountPartial = partial
		l := startRespondent(t, d)
		counts := 0
		for i, disposition := range []surveys.Disposition{surveys.Started, surveys.InterimPartial, surveys.InterimPartial, surveys.Complete} {
			before := l.p.Counted
			if err := l.replied(float64(i), disposition); err != nil {
				t.Fatal(err)
			}
			if l.p.Counted && !before {
				counts++
				if want := map[bool]surveys.Disposition{false: surveys.Complete, true: surveys.InterimPartial}[partial]; l.p.Disposition != want {
					t.Errorf("counts when %s", l.p.Disposition)
				}
			}
		}
		if counts != 1 || !l.p.Counted {
			t.Errorf("counted %d times", counts)
		}
	}
	d := smsOnly("")
	l := startRespondent(t, d)
	l.p.Disposition = surveys.InterimPartial
	l.record(l.pl.OptOut(l.p))
	if l.p.Disposition != surveys.Partial || l.p.Counted {
		t.Error("a partial counts where partials do not")
	}
}

// Scenario 85: a respondent whose step fails is delayed for longer each time, and
// given up in the end.
func TestRespondent_BacksOffAfterFailedSteps(t *testing.T) {
	t.Parallel()
	pl := plan(t, definition())
	p, now, waits := surveys.NewProgress(), start(), []time.Duration(nil)
	for p.Status == surveys.Pending {
		p, _ = pl.DeferFailed(p, now, 0.5)
		waits = append(waits, p.DelayedUntil.Sub(now))
		now = p.DelayedUntil
	}
	want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute}
	if diff := cmp.Diff(want, waits[:7]); diff != "" || slices.Max(waits) != time.Hour {
		t.Errorf("%v\n%s", waits, diff)
	}
	if p.Status != surveys.Failed || p.Disposition != surveys.Unreached {
		t.Errorf("it ends as %s, %s", p.Status, p.Disposition)
	}
	// The delay has jitter; a success resets it.
	l := startRespondent(t, definition())
	l.accepted(0)
	l.ended(1, weir.NoAnswer)
	low, _ := l.pl.DeferFailed(l.p, at(10), 0)
	high, _ := l.pl.DeferFailed(l.p, at(10), 0.999)
	if low.DueAt.Sub(at(10)) != 22500*time.Millisecond || high.DueAt.Sub(at(10)) < 37*time.Second {
		t.Errorf("from %v to %v", low.DueAt, high.DueAt)
	}
	if p, e := l.pl.Timeout(low, low.DueAt); e.Enqueue == nil || p.FailedSteps != 0 {
		t.Errorf("after one failed step: %+v, %+v", p, e)
	}
}

// answered returns a survey of one question whose respondent was asked.
func answered(t *testing.T, a surveys.Answer) *respondentLog {
	t.Helper()
	d := smsOnly("10m 2h")
	d.Answer = &a
	l := startRespondent(t, d)
	l.accepted(0)
	return l
}

func TestAnswered_FirstMessageCompletes(t *testing.T) {
	t.Parallel()
	who := surveys.Person{ID: "r1", Attributes: map[string]string{"first_name": "Ana"}}
	for _, tt := range []struct{ name, message, answer string }{
		{"an answer", " Yes, well ", "Yes, well"},
		{"with a word that may refuse", "I will never stop", "I will never stop"},
		{"long", strings.Repeat("é", 501), strings.Repeat("é", 500)},
		{"nothing", " \n", ""},
		{"nothing that is visible", " \u200b\u200b\u2060\ufe0f\u00ad\u3164\u2800\u2003\x00\n", ""},
		{"one visible sign", "\u200b5\u200b", "\u200b5\u200b"},
		{"an emoji", "👍🏽", "👍🏽"},
		{"a reaction", "Liked “How are you, Ana?”", ""},
		{"a reaction of another phone", "\u200a\u200b👍\u200b to “\u200aHow are you, Ana? Reply STOP to end\u200a”\u200a", ""},
		{"an answer about what one likes", "Liked the nurse, not the “queue”, much", "Liked the nurse, not the “queue”, much"},
		{"a stop word", "Stop!", ""},
		{"a question for help", "help", ""},
		{"a refusal that is taken back", "start", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := answered(t, surveys.Answer{Attribute: "well", Thanks: "{{first_name}}, we noted {{well}}"})
			report, ok := l.pl.Answered("s", who, l.p, tt.message)
			if tt.answer == "" {
				if ok {
					t.Errorf("it is an answer: %+v", report)
				}
				return
			}
			want := surveys.Report{Disposition: surveys.Complete, Answers: map[string]string{"well": tt.answer}, Messages: []string{"Ana, we noted " + tt.answer}, Key: "thanks"}
			if diff := cmp.Diff(want, report); diff != "" || !ok {
				t.Error(ok, diff)
			}
		})
	}
}

func TestAnswered_OnlyOfWhoWasAsked(t *testing.T) {
	t.Parallel()
	l := answered(t, surveys.Answer{})
	if _, ok := l.pl.Answered("s", surveys.Person{}, surveys.NewProgress(), "hello?"); ok {
		t.Error("who was not asked has answered")
	}
	if r, ok := l.pl.Answered("s", surveys.Person{}, l.p, "yes"); !ok || r.Answers["answer"] != "yes" || len(r.Messages) > 0 {
		t.Errorf("without a name and thanks: %+v", r)
	}
	if err := l.replied(1, surveys.Complete); err != nil {
		t.Fatal(err)
	}
	if r, ok := l.pl.Answered("s", surveys.Person{}, l.p, "no"); !ok || len(r.Answers) > 0 {
		t.Errorf("a later message changes the answer: %+v", r)
	}
	gone := answered(t, surveys.Answer{})
	gone.p, _ = gone.pl.OptOut(gone.p)
	if r, ok := gone.pl.Answered("s", surveys.Person{}, gone.p, "yes"); ok {
		t.Errorf("who refused has answered: %+v", r)
	}
	none := waitingRetry(t, smsOnly("10m 2h"))
	if r, ok := none.pl.Answered("s", surveys.Person{}, none.p, "yes"); ok {
		t.Errorf("the survey evaluates no answers: %+v", r)
	}
}
