package surveybroker_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/events"
	"weir/surveys"
)

// Scenario 43: a respondent that says stop, answers or is reported done while a
// retry waits in the channel is not contacted by that retry.
func TestAnswersTakeWaitingRetriesBack(t *testing.T) {
	for name, c := range map[string]struct {
		say    string
		report surveys.Disposition
		status surveys.Status
	}{
		"answer": {say: "yes", status: surveys.Active}, "stop": {say: " Stop!", status: surveys.Failed},
		"report": {report: surveys.Complete, status: surveys.Completed}, "refusal": {report: surveys.Refused, status: surveys.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, quiet, func(l *lab) {
				ch := l.store.addChannel("texts", "text", 5)
				s := l.survey("s", byText("10m 2h"), 1)
				l.step("s", surveys.Launch)
				l.pass(5 * time.Minute)
				l.store.change(func() { l.lines.idle = true })
				l.pass(10 * time.Minute)
				r := l.all(s.ID)[0]
				if r.Progress.Contact != surveys.Waiting || r.Serial != 2 {
					l.t.Fatalf("no retry waits: %+v", r.Progress)
				}
				if c.say != "" {
					l.lines.say(ch.ID, r.Phone[1:], c.say) // providers omit the plus sign
				} else {
					l.hear(s, r.ID, surveys.Report{Disposition: c.report})
				}
				l.pass(time.Second)
				l.store.change(func() { l.lines.idle = false })
				l.lines.sweep()
				l.pass(5 * time.Minute)
				got := l.all(s.ID)[0]
				if !l.store.contacts[r.Contact].SentAt.IsZero() || got.Status != c.status || got.Attempts.SMS != 1 {
					l.t.Errorf("%+v; the retry: %+v", got.Progress, l.store.contacts[r.Contact].Progress)
				}
			})
		})
	}
}

// If the contact cannot be canceled now, the report is refused and the
// respondent does not become done. It does as soon as the contact can be
// canceled.
func TestNobodyIsOverWhoseContactWaits(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.survey("s", byText("10m"), 1)
		l.lines.idle = true
		l.step("s", surveys.Launch)
		l.pass(time.Minute)
		r := l.all(s.ID)[0]
		l.store.change(func() { l.lines.stuck[ch.ID] = true })
		if _, err := l.sys.Report(l.t.Context(), l.store.surveyNow(s.ID), r.ID, surveys.Report{Stop: true}); weir.CodeOf(err) != weir.CodeUnavailable {
			l.t.Errorf("heard: %v", err)
		}
		l.lines.say(ch.ID, r.Phone, "stop")
		l.pass(time.Minute)
		if got := l.all(s.ID)[0]; got.Status != surveys.Active {
			l.t.Errorf("%+v", got.Progress)
		}
		l.store.change(func() { l.lines.stuck[ch.ID] = false })
		l.pass(10 * time.Second)
		if got := l.all(s.ID)[0]; got.Status != surveys.Failed || l.store.contacts[r.Contact].Outcome != weir.Canceled {
			l.t.Errorf("%+v", got.Progress)
		}
	})
}

// Scenario 45: one number in two surveys on two channels.
func TestMessagesFindTheirSurvey(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		second := l.store.addChannel("more", "text", 5)
		a := l.survey("a", byText("1d"), 0)
		d := byText("1d")
		d.Modes[surveys.SMS] = surveys.ModeSpec{Channel: "more", Retries: "1d"}
		b := l.survey("b", d, 0)
		ra, rb := l.store.addPerson(a.ID, "+15552000001", nil), l.store.addPerson(b.ID, "+15552000001", nil)
		l.store.change(func() {
			l.store.surveys[b.ID].Application.URL = "https://app.test"
		})
		l.step("a", surveys.Launch)
		l.step("b", surveys.Launch)
		l.pass(5 * time.Minute)
		l.lines.say(second.ID, "15552000001", "hello there")
		l.lines.say(second.ID, "15559999999", "a stranger")
		l.lines.say(second.ID, "not a number", "a short code")
		l.pass(time.Second)
		if x, y := l.store.person(ra), l.store.person(rb); x.Disposition != surveys.Queued || y.Disposition != surveys.Started || len(l.store.notices) > 0 {
			l.t.Errorf("%s, %s", x.Disposition, y.Disposition)
		}
		if l.store.told("weir.survey.message") != 1 {
			l.t.Fatalf("%+v", l.store.events)
		}
		for _, e := range l.store.events {
			if e.Type != "weir.survey.message" {
				continue
			}
			var got map[string]any
			if err := json.Unmarshal(e.Data, &got); err != nil {
				l.t.Fatal(err)
			}
			delete(got, "received_at")
			want := map[string]any{"survey": "b", "respondent": rb.String(), "channel": "more", "text": "hello there", "serial": 1.0}
			if diff := cmp.Diff(want, got); diff != "" || e.Subject != "survey/b/respondent/"+rb.String() || e.Source != "surveys" {
				l.t.Error(e.Subject, diff)
			}
		}
	})
}

// An application's answer is applied once, however often it is delivered.
func TestAnswered(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.survey("s", byText("1d"), 1)
		l.store.change(func() { l.store.surveys[s.ID].Application.URL = "https://app.test" })
		l.step("s", surveys.Launch)
		l.pass(5 * time.Minute)
		r := l.all(s.ID)[0]
		l.lines.say(ch.ID, r.Phone, "hello")
		l.pass(time.Second)
		var e events.Event
		for _, e = range l.store.events {
			if e.Type == "weir.survey.message" {
				break
			}
		}
		for range 3 {
			if err := l.sys.ApplyResponse(l.t.Context(), e, []byte(`{"disposition":"started","messages":["how old are you?","really?"],"answers":{"name":"Ana","age":34,"ok":true}}`)); err != nil {
				l.t.Fatal(err)
			}
		}
		got := l.all(s.ID)[0]
		if got.Disposition != surveys.Started || got.Attributes["name"] != "Ana" || got.Attributes["age"] != "34" || got.Attributes["ok"] != "true" || len(l.lines.replies) != 1 {
			l.t.Errorf("%+v, %v; replies %+v", got.Disposition, got.Attributes, l.lines.replies)
		}
		if reply := l.lines.replies[0]; reply.Priority != weir.Reply || reply.To != r.Phone || len(reply.Messages) != 2 || reply.For != (weir.Respondent{}) {
			l.t.Errorf("%+v", reply)
		}
		before := l.all(s.ID)[0].Rev
		for _, body := range []string{"", " ", "{}", "OK", "<html>", `{"disposition":"queued"}`, `{"disposition":"unheard of"}`, `{"answers":{"Bad Name":"x"}}`, `{"answers":{"a":[]}}`, `{"messages":[""]}`} {
			if err := l.sys.ApplyResponse(l.t.Context(), e, []byte(body)); err != nil || l.all(s.ID)[0].Rev != before {
				l.t.Errorf("%q would be delivered again: %v", body, err)
			}
		}
		l.store.change(func() {
			l.store.fault = func(string) error { return &weir.Error{Code: weir.CodeUnavailable, Message: "down"} }
		})
		if err := l.sys.ApplyResponse(l.t.Context(), e, []byte(`{"stop":true}`)); weir.CodeOf(err) != weir.CodeUnavailable {
			l.t.Errorf("nobody could take it: %v", err)
		}
		l.store.change(func() { l.store.fault = nil })
		if err := l.sys.ApplyResponse(l.t.Context(), e, []byte(`{"stop":true,"messages":["goodbye"]}`)); err != nil {
			l.t.Error(err)
		}
		if got := l.all(s.ID)[0]; got.Status != surveys.Failed || got.Disposition != surveys.Breakoff {
			l.t.Errorf("%+v", got.Progress)
		}
	})
}

// Answers may move a respondent into a full bucket: then it is rejected. A
// report after the end is refused, unless it repeats the end.
func TestHearing(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 1)
		d := byText("1d")
		d.Quotas = surveys.Quotas{
			{Where: map[string]surveys.Match{"sex": {In: []string{"f"}}}, Quota: 1}, {Where: map[string]surveys.Match{"sex": {In: []string{"m"}}}, Quota: 9},
		}
		s := l.survey("s", d, 0)
		for i := range 4 {
			l.store.addPerson(s.ID, phone(s.ID, i), map[string]string{"sex": "?"})
		}
		if _, err := l.sys.Report(l.t.Context(), s, 1, surveys.Report{}); weir.CodeOf(err) != weir.CodeConflict {
			l.t.Errorf("of a draft: %v", err)
		}
		l.step("s", surveys.Launch)
		l.pass(10 * time.Minute)
		people := l.all(s.ID)
		f := map[string]string{"sex": "f"}
		if got := l.hear(s, people[0].ID, surveys.Report{Disposition: surveys.Complete, Answers: f}); got.Bucket != 0 || !got.Counted || got.Status != surveys.Completed {
			l.t.Errorf("the first: %+v", got)
		}
		if got := l.hear(s, people[1].ID, surveys.Report{Disposition: surveys.Started, Answers: f}); got.Status != surveys.Rejected || got.Disposition != surveys.RejectedQuota {
			l.t.Errorf("the second: %+v", got)
		}
		if got := l.hear(s, people[2].ID, surveys.Report{Disposition: surveys.Started, Answers: map[string]string{"sex": "M"}}); got.Status != surveys.Active || got.Bucket != 1 {
			l.t.Errorf("the third: %+v", got)
		}
		again := l.hear(s, people[0].ID, surveys.Report{Disposition: surveys.Complete})
		if again.Rev != l.store.person(people[0].ID).Rev {
			l.t.Errorf("said twice: %+v", again)
		}
		live := l.store.surveyNow(s.ID)
		for name, c := range map[string]struct {
			id   surveys.RespondentID
			h    surveys.Report
			code weir.Code
		}{
			"over":        {people[0].ID, surveys.Report{Disposition: surveys.Refused}, weir.CodeConflict},
			"backwards":   {people[2].ID, surveys.Report{Disposition: surveys.Unresponsive}, weir.CodeInvalid},
			"impossible":  {people[3].ID, surveys.Report{Disposition: surveys.Partial, Stop: false}, ""},
			"nobody":      {99999, surveys.Report{Disposition: surveys.Complete}, weir.CodeNotFound},
			"empty words": {people[2].ID, surveys.Report{Messages: []string{" "}}, weir.CodeInvalid},
		} {
			if _, err := l.sys.Report(l.t.Context(), live, c.id, c.h); weir.CodeOf(err) != c.code {
				l.t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A report is applied as a whole or not at all: a message that cannot be sent
// prevents the rest, too.
func TestHearingIsAllOrNothing(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("calls", "voice", 1)
		l.store.addChannel("texts", "text", 1)
		d := byPhone("1d", "")
		delete(d.Modes, surveys.SMS)
		d.Arms[0].Modes = []surveys.Mode{surveys.IVR}
		delete(d.Questionnaires["q"], surveys.SMS)
		calls, texts := l.survey("c", d, 1), l.survey("t", byText("1d"), 1)
		l.step("c", surveys.Launch)
		l.step("t", surveys.Launch)
		l.pass(10 * time.Minute)
		for _, tc := range []struct {
			survey   surveys.Survey
			messages string
			code     weir.Code
		}{{calls, "thanks", weir.CodeConflict}, {texts, " ", weir.CodeInvalid}} {
			was := l.all(tc.survey.ID)[0]
			_, err := l.sys.Report(l.t.Context(), l.store.surveyNow(tc.survey.ID), was.ID, surveys.Report{Disposition: surveys.Complete, Messages: []string{tc.messages}})
			if now := l.all(tc.survey.ID)[0]; weir.CodeOf(err) != tc.code || now.Rev != was.Rev {
				l.t.Errorf("%v; became %s", err, now.Disposition)
			}
		}
	})
}

// Two concurrent reports are both applied.
func TestHearingIsTriedAgain(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 1)
		s := l.survey("s", byText("1d"), 1)
		l.step("s", surveys.Launch)
		l.pass(10 * time.Minute)
		id := l.all(s.ID)[0].ID
		overtaken := 0
		l.store.change(func() {
			l.store.fault = func(op string) error {
				if op == "Work" && overtaken < 3 {
					overtaken++
					l.store.people[id].Rev++
				}
				return nil
			}
		})
		if got := l.hear(s, id, surveys.Report{Disposition: surveys.Complete}); got.Status != surveys.Completed || overtaken != 3 {
			l.t.Errorf("%+v, overtaken %d times", got, overtaken)
		}
	})
}
