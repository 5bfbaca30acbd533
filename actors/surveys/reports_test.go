package surveys_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/events"
	"weir/people"
	"weir/surveys"
)

// Scenario 43: a respondent that says stop, answers or is reported done while a
// retry waits in the channel is not contacted by that retry.
func TestReports_AnswerCancelsWaitingRetry(t *testing.T) {
	for name, c := range map[string]struct {
		say    string
		report surveys.Disposition
		status surveys.Status
	}{
		"answer": {say: "yes", status: surveys.Active}, "stop": {say: " Stop!", status: surveys.Failed},
		"report": {report: surveys.Complete, status: surveys.Completed}, "refusal": {report: surveys.Refused, status: surveys.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, noAnswer, func(l *lab) {
				ch := l.store.addChannel("texts", "text", 5)
				s := l.addSurvey("s", smsSurvey("10m 2h"), 1)
				l.command("s", surveys.Launch)
				l.advance(5 * time.Minute)
				l.store.locked(func() { l.channels.dispatchNothing = true })
				l.advance(10 * time.Minute)
				r := l.respondents(s.ID)[0]
				if r.Progress.Contact != surveys.Waiting || r.Serial != 2 {
					l.t.Fatalf("no retry waits: %+v", r.Progress)
				}
				if c.say != "" {
					l.channels.receiveMessage(ch.ID, r.Phone[1:], c.say) // providers omit the plus sign
				} else {
					l.report(s, r.ID, surveys.Report{Disposition: c.report})
				}
				l.advance(time.Second)
				l.store.locked(func() { l.channels.dispatchNothing = false })
				l.channels.dispatchAll()
				l.advance(5 * time.Minute)
				got := l.respondents(s.ID)[0]
				reason := ""
				for _, e := range l.store.log[s.ID] {
					if e.Event == "finished" {
						reason = e.Reason
					}
				}
				if stop := name == "stop"; got.OptedOut != stop || (reason == "opted out") != stop {
					l.t.Errorf("opted out: %v; the log's reason: %q", got.OptedOut, reason)
				}
				if r.Updated.IsZero() || !got.Updated.After(r.Updated) || got.Updated.After(time.Now()) {
					l.t.Errorf("last changed at %v, before at %v", got.Updated, r.Updated)
				}
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
func TestReports_ContactIsCanceledBeforeRespondentEnds(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", smsSurvey("10m"), 1)
		l.channels.dispatchNothing = true
		l.command("s", surveys.Launch)
		l.advance(time.Minute)
		r := l.respondents(s.ID)[0]
		l.store.locked(func() { l.channels.cancelFails[ch.ID] = true })
		if _, err := l.system.Report(l.t.Context(), l.store.survey(s.ID), r.ID, surveys.Report{Stop: true}); weir.CodeOf(err) != weir.CodeUnavailable {
			l.t.Errorf("reply: %v", err)
		}
		l.channels.receiveMessage(ch.ID, r.Phone, "stop")
		l.advance(time.Minute)
		if got := l.respondents(s.ID)[0]; got.Status != surveys.Active {
			l.t.Errorf("%+v", got.Progress)
		}
		l.store.locked(func() { l.channels.cancelFails[ch.ID] = false })
		l.advance(10 * time.Second)
		if got := l.respondents(s.ID)[0]; got.Status != surveys.Failed || l.store.contacts[r.Contact].Outcome != weir.Canceled {
			l.t.Errorf("%+v", got.Progress)
		}
	})
}

// Scenario 45: one number in two surveys on two channels.
func TestReports_MessageIsRoutedToItsSurvey(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		second := l.store.addChannel("more", "text", 5)
		a := l.addSurvey("a", smsSurvey("1d"), 0)
		d := smsSurvey("1d")
		d.Modes[surveys.SMS] = surveys.ModeSpec{Channel: "more", Retries: "1d"}
		b := l.addSurvey("b", d, 0)
		ra, rb := l.store.addPerson(a.ID, "+15552000001", nil), l.store.addPerson(b.ID, "+15552000001", nil)
		l.store.locked(func() {
			l.store.surveys[b.ID].Application.URL = "https://app.test"
		})
		l.command("a", surveys.Launch)
		l.command("b", surveys.Launch)
		l.advance(5 * time.Minute)
		l.channels.receiveMessage(second.ID, "15552000001", "hello there")
		l.channels.receiveMessage(second.ID, "15559999999", "a stranger")
		l.channels.receiveMessage(second.ID, "not a number", "a short code")
		l.advance(time.Second)
		if x, y := l.store.respondent(ra), l.store.respondent(rb); x.Disposition != surveys.Queued || y.Disposition != surveys.Started || len(l.store.outbox) > 0 {
			l.t.Errorf("%s, %s", x.Disposition, y.Disposition)
		}
		if l.store.eventCount("weir.survey.message") != 1 {
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
func TestReports_ApplicationsAnswerIsAppliedOnce(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", smsSurvey("1d"), 1)
		l.store.locked(func() { l.store.surveys[s.ID].Application.URL = "https://app.test" })
		l.command("s", surveys.Launch)
		l.advance(5 * time.Minute)
		r := l.respondents(s.ID)[0]
		l.channels.receiveMessage(ch.ID, r.Phone, "hello")
		l.advance(time.Second)
		var e events.Event
		for _, e = range l.store.events {
			if e.Type == "weir.survey.message" {
				break
			}
		}
		for range 3 {
			if err := l.system.ApplyResponse(l.t.Context(), e, []byte(`{"disposition":"started","messages":["how old are you?","really?"],"answers":{"name":"Ana","age":34.10,"nid":9007199254740993,"ok":true}}`)); err != nil {
				l.t.Fatal(err)
			}
		}
		got := l.respondents(s.ID)[0]
		if got.Disposition != surveys.Started || got.Attributes["name"] != "Ana" || got.Attributes["age"] != "34.10" || got.Attributes["nid"] != "9007199254740993" || got.Attributes["ok"] != "true" || len(l.channels.replies) != 1 {
			l.t.Errorf("%+v, %v; replies %+v", got.Disposition, got.Attributes, l.channels.replies)
		}
		if reply := l.channels.replies[0]; reply.Priority != weir.Reply || reply.To != r.Phone || len(reply.Messages) != 2 || reply.Owner != (weir.Owner{Group: s.ID, ID: int64(r.ID)}) {
			l.t.Errorf("%+v", reply)
		}
		l.advance(time.Minute)
		if got, want := l.respondents(s.ID)[0].Totals, (surveys.Totals{Sent: 3, Received: 1, Serial: 1}); got != want {
			l.t.Errorf("the totals are %+v, want %+v", got, want)
		}
		before := l.respondents(s.ID)[0].Rev
		for _, body := range []string{"", " ", "{}", "OK", "<html>", `{"disposition":"queued"}`, `{"disposition":"unheard of"}`, `{"answers":{"Bad Name":"x"}}`, `{"answers":{"a":[]}}`, `{"messages":[""]}`} {
			if err := l.system.ApplyResponse(l.t.Context(), e, []byte(body)); err != nil || l.respondents(s.ID)[0].Rev != before {
				l.t.Errorf("%q would be delivered again: %v", body, err)
			}
		}
		l.store.locked(func() {
			l.store.failOperation = func(string) error { return &weir.Error{Code: weir.CodeUnavailable, Message: "down"} }
		})
		if err := l.system.ApplyResponse(l.t.Context(), e, []byte(`{"stop":true}`)); weir.CodeOf(err) != weir.CodeUnavailable {
			l.t.Errorf("it could not be applied: %v", err)
		}
		l.store.locked(func() { l.store.failOperation = nil })
		if err := l.system.ApplyResponse(l.t.Context(), e, []byte(`{"stop":true,"messages":["goodbye"]}`)); err != nil {
			l.t.Error(err)
		}
		if got := l.respondents(s.ID)[0]; got.Status != surveys.Failed || got.Disposition != surveys.Breakoff {
			l.t.Errorf("%+v", got.Progress)
		}
	})
}

// What a person answers about a time zone may be none: the rest of the answer counts.
func TestReports_AnswerWithoutATimeZoneCounts(t *testing.T) {
	for given, want := range map[string]string{`"EAT"`: "UTC", `"Africa/Nairoby"`: "UTC", `3`: "UTC", `["UTC"]`: "UTC", `""`: "UTC", `" asia/karachi"`: "Asia/Karachi"} {
		t.Run(given, func(t *testing.T) {
			inLab(t, noAnswer, func(l *lab) {
				ch := l.store.addChannel("texts", "text", 5)
				s := l.addSurvey("s", smsSurvey("1d"), 0)
				l.store.addPerson(s.ID, phone(s.ID, 0), map[string]string{"time_zone": "UTC"})
				l.store.locked(func() { l.store.surveys[s.ID].Application.URL = "https://app.test" })
				l.command("s", surveys.Launch)
				l.advance(5 * time.Minute)
				l.channels.receiveMessage(ch.ID, phone(s.ID, 0), "hello")
				l.advance(time.Second)
				e := l.store.events[slices.IndexFunc(l.store.events, func(e events.Event) bool { return e.Type == "weir.survey.message" })]
				if err := l.system.ApplyResponse(l.t.Context(), e, []byte(`{"disposition":"completed","answers":{"time_zone":`+given+`,"well":"yes"}}`)); err != nil {
					l.t.Fatal(err)
				}
				got := l.respondents(s.ID)[0]
				if got.Disposition != surveys.Complete || got.Attributes["well"] != "yes" || got.Attributes["time_zone"] != want {
					l.t.Errorf("after %s: %v, %v", given, got.Disposition, got.Attributes)
				}
			})
		})
	}
}

// Who reacts to the question has not answered, and is asked again.
func TestReports_ReactionIsNoReply(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		d := smsSurvey("10m")
		d.Answer = &surveys.Answer{}
		s := l.addSurvey("s", d, 1)
		l.command("s", surveys.Launch)
		l.advance(5 * time.Minute)
		was := l.respondents(s.ID)[0]
		l.channels.receiveMessage(ch.ID, was.Phone, "Loved “hello”")
		l.advance(time.Second)
		e := l.store.events[slices.IndexFunc(l.store.events, func(e events.Event) bool { return e.Type == "weir.survey.message" })]
		if err := l.system.ApplyMessage(l.t.Context(), e); err != nil {
			l.t.Fatal(err)
		}
		got := l.respondents(s.ID)[0]
		if got.Disposition != was.Disposition || got.Status != surveys.Active || got.Totals.Received != 1 || got.Attributes["answer"] != "" {
			l.t.Errorf("%+v, %v", got.Progress, got.Attributes)
		}
		l.advance(10 * time.Minute)
		if got := l.respondents(s.ID)[0]; got.Totals.Sent != 2 {
			l.t.Errorf("%d messages were sent", got.Totals.Sent)
		}
	})
}

// A survey of one question takes the first message once, however often it is delivered, and
// thanks once.
func TestReports_FirstMessageIsTheAnswer(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		d := smsSurvey("1m 1m 1m")
		d.Answer = &surveys.Answer{Thanks: "Thank you"}
		s := l.addSurvey("s", d, 1)
		l.command("s", surveys.Launch)
		l.advance(30 * time.Second)
		r := l.respondents(s.ID)[0]
		for _, text := range []string{"help", "yes", "no"} {
			l.channels.receiveMessage(ch.ID, r.Phone, text)
			l.advance(time.Second)
		}
		var messages []events.Event
		for _, e := range l.store.events {
			if e.Type == "weir.survey.message" {
				messages = append(messages, e)
			}
		}
		if len(messages) != 3 {
			l.t.Fatalf("%d events of messages", len(messages))
		}
		if err := l.system.ApplyMessage(l.t.Context(), messages[0]); err != nil || l.respondents(s.ID)[0].Disposition != surveys.Started {
			l.t.Errorf("a question for help completes: %v", err)
		}
		l.store.locked(func() {
			l.store.failOperation = func(string) error { return &weir.Error{Code: weir.CodeUnavailable, Message: "down"} }
		})
		if err := l.system.ApplyMessage(l.t.Context(), messages[1]); weir.CodeOf(err) != weir.CodeUnavailable {
			l.t.Errorf("it could not be applied: %v", err)
		}
		l.store.locked(func() { l.store.failOperation = nil })
		for _, e := range slices.Concat(messages[1:2], messages, messages) {
			if err := l.system.ApplyMessage(l.t.Context(), e); err != nil {
				l.t.Error(err)
			}
		}
		l.advance(time.Hour)
		got := l.respondents(s.ID)[0]
		if got.Disposition != surveys.Complete || got.Attributes["answer"] != "yes" || got.Totals.Sent != 2 {
			l.t.Errorf("%s, answer %q, %d messages sent", got.Disposition, got.Attributes["answer"], got.Totals.Sent)
		}
		if n := len(l.channels.replies); n != 1 || l.channels.replies[0].Messages[0] != "Thank you" {
			l.t.Errorf("%d replies: %+v", n, l.channels.replies)
		}
	})
}

// Answers may move a respondent into a full bucket: then it is rejected. A
// report after the end is refused, unless it repeats the end.
func TestReports_MayFillABucketAndEndARespondent(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 1)
		d := smsSurvey("1d")
		d.Quotas = surveys.Quotas{
			{Where: map[string]surveys.Match{"sex": {In: []string{"f"}}}, Quota: 1}, {Where: map[string]surveys.Match{"sex": {In: []string{"m"}}}, Quota: 9},
		}
		s := l.addSurvey("s", d, 0)
		for i := range 4 {
			l.store.addPerson(s.ID, phone(s.ID, i), map[string]string{"sex": "?"})
		}
		if _, err := l.system.Report(l.t.Context(), s, 1, surveys.Report{}); weir.CodeOf(err) != weir.CodeConflict {
			l.t.Errorf("of a draft: %v", err)
		}
		l.command("s", surveys.Launch)
		l.advance(10 * time.Minute)
		people := l.respondents(s.ID)
		f := map[string]string{"sex": "f"}
		if got := l.report(s, people[0].ID, surveys.Report{Disposition: surveys.Complete, Answers: f}); got.Bucket != 0 || !got.Counted || got.Status != surveys.Completed {
			l.t.Errorf("the first: %+v", got)
		}
		if got := l.report(s, people[1].ID, surveys.Report{Disposition: surveys.Started, Answers: f}); got.Status != surveys.Rejected || got.Disposition != surveys.RejectedQuota {
			l.t.Errorf("the second: %+v", got)
		}
		if got := l.report(s, people[2].ID, surveys.Report{Disposition: surveys.Started, Answers: map[string]string{"sex": "M"}}); got.Status != surveys.Active || got.Bucket != 1 {
			l.t.Errorf("the third: %+v", got)
		}
		again := l.report(s, people[0].ID, surveys.Report{Disposition: surveys.Complete})
		if again.Rev != l.store.respondent(people[0].ID).Rev {
			l.t.Errorf("said twice: %+v", again)
		}
		live := l.store.survey(s.ID)
		for name, c := range map[string]struct {
			id   surveys.RespondentID
			h    surveys.Report
			code weir.Code
		}{
			"over":        {people[0].ID, surveys.Report{Disposition: surveys.Refused}, weir.CodeConflict},
			"backwards":   {people[2].ID, surveys.Report{Disposition: surveys.Unresponsive}, weir.CodeInvalid},
			"impossible":  {people[3].ID, surveys.Report{Disposition: surveys.Partial, Stop: false}, ""},
			"none":        {99999, surveys.Report{Disposition: surveys.Complete}, weir.CodeNotFound},
			"empty words": {people[2].ID, surveys.Report{Messages: []string{" "}}, weir.CodeInvalid},
		} {
			if _, err := l.system.Report(l.t.Context(), live, c.id, c.h); weir.CodeOf(err) != c.code {
				l.t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A report is applied as a whole or not at all: a message that cannot be sent
// prevents the rest, too.
func TestReports_AreAppliedWhollyOrNotAtAll(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("calls", "voice", 1)
		l.store.addChannel("texts", "text", 1)
		d := callSurvey("1d", "")
		delete(d.Modes, surveys.SMS)
		d.Arms[0].Modes = []surveys.Mode{surveys.IVR}
		delete(d.Questionnaires["q"], surveys.SMS)
		calls, texts := l.addSurvey("c", d, 1), l.addSurvey("t", smsSurvey("1d"), 1)
		l.command("c", surveys.Launch)
		l.command("t", surveys.Launch)
		l.advance(10 * time.Minute)
		for _, tc := range []struct {
			survey   surveys.Survey
			messages string
			code     weir.Code
		}{{calls, "thanks", weir.CodeConflict}, {texts, " ", weir.CodeInvalid}} {
			was := l.respondents(tc.survey.ID)[0]
			_, err := l.system.Report(l.t.Context(), l.store.survey(tc.survey.ID), was.ID, surveys.Report{Disposition: surveys.Complete, Messages: []string{tc.messages}})
			if now := l.respondents(tc.survey.ID)[0]; weir.CodeOf(err) != tc.code || now.Rev != was.Rev {
				l.t.Errorf("%v; became %s", err, now.Disposition)
			}
		}
	})
}

// Two concurrent reports are both applied.
func TestReports_AreRetriedAfterAConflict(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 1)
		s := l.addSurvey("s", smsSurvey("1d"), 1)
		l.command("s", surveys.Launch)
		l.advance(10 * time.Minute)
		id := l.respondents(s.ID)[0].ID
		overtaken := 0
		l.store.locked(func() {
			l.store.failOperation = func(op string) error {
				if op == "Work" && overtaken < 3 {
					overtaken++
					l.store.people[id].Rev++
				}
				return nil
			}
		})
		if got := l.report(s, id, surveys.Report{Disposition: surveys.Complete}); got.Status != surveys.Completed || overtaken != 3 {
			l.t.Errorf("%+v, overtaken %d times", got, overtaken)
		}
	})
}

// A respondent that sends a stop message is done, and its waiting contact
// canceled, when the message is acknowledged: without a round, whichever
// process received it.
func TestReports_StopMessageIsAppliedBeforeItsAnswer(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		a, b := l.addSurvey("a", smsSurvey("10m"), 1), l.addSurvey("b", smsSurvey("10m"), 0)
		l.channels.dispatchNothing = true
		l.command("a", surveys.Launch)
		l.advance(time.Minute)
		r := l.respondents(a.ID)[0]
		twin := l.store.addPerson(b.ID, r.Phone, nil)
		l.store.locked(func() { l.store.surveys[b.ID].State = surveys.Running })
		l.system.Close() // no more rounds
		l.channels.receiveMessage(ch.ID, r.Phone, "STOP")
		m := weir.Incoming{From: r.Phone, Body: "STOP", GUID: "m"}
		for range 2 { // the provider may send it again
			if _, err := l.system.Incoming(l.t.Context(), ch.ID, m); err != nil {
				l.t.Fatal(err)
			}
		}
		got := l.respondents(a.ID)[0]
		if got.Status != surveys.Failed || l.store.contacts[r.Contact].Outcome != weir.Canceled {
			l.t.Errorf("%+v; the contact: %+v", got.Progress, l.store.contacts[r.Contact].Progress)
		}
		if l.store.respondent(twin).Status != surveys.Pending {
			l.t.Errorf("another survey: %+v", l.store.respondent(twin).Progress)
		}
		for _, n := range l.store.outbox {
			if n.Kind == surveys.MessageReceived {
				l.t.Errorf("the outbox entry is left for another: %+v", n)
			}
		}
	})
}

// A stop message that cannot be applied at once is not acknowledged. A message
// that requests nothing waits for a round.
func TestReports_OnlyStopMessagesAreAppliedAtOnce(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", smsSurvey("10m"), 1)
		l.channels.dispatchNothing = true
		l.command("s", surveys.Launch)
		l.advance(time.Minute)
		r := l.respondents(s.ID)[0]
		l.system.Close()
		for _, text := range []string{"yes", "stop", "a stranger"} {
			l.channels.receiveMessage(ch.ID, r.Phone, text)
		}
		l.store.locked(func() { l.channels.cancelFails[ch.ID] = true })
		for text, want := range map[string]weir.Code{"yes": "", "stop": weir.CodeUnavailable, "a stranger": ""} {
			if _, err := l.system.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: r.Phone, Body: text, GUID: "m"}); weir.CodeOf(err) != want {
				l.t.Errorf("%s: %v", text, err)
			}
		}
		if _, err := l.system.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: "+15559999999", Body: "stop"}); err != nil {
			l.t.Error(err)
		}
		if got := l.respondents(s.ID)[0]; got.Status != surveys.Active || len(l.store.outbox) != 3 {
			l.t.Errorf("%+v, %d outbox entries", got.Progress, len(l.store.outbox))
		}
	})
}

// A survey with stop words of its own decides about messages of the respondents whom it is
// contacting, and about no others: theirs are judged by the general words.
func TestReports_IncomingSaysWhatAMessageMeans(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		d := smsSurvey("10m")
		d.StopWords, d.AnswerWords, d.Purpose = []string{"basta"}, []string{"help"}, "research"
		s := l.addSurvey("s", d, 1)
		l.channels.dispatchNothing = true
		l.command("s", surveys.Launch)
		l.advance(time.Minute)
		active := l.respondents(s.ID)[0]
		l.system.Close() // no more rounds
		pending := l.store.addPerson(s.ID, "+12025550199", nil)
		says := func(from, text string, want surveys.Heard) {
			l.t.Helper()
			l.channels.receiveMessage(ch.ID, from, text)
			if got, err := l.system.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: from, Body: text, GUID: "m"}); err != nil || got != want {
				l.t.Errorf("%q means %v (%v), want %v", text, got, err, want)
			}
		}
		of := func(h surveys.Heard) surveys.Heard { h.Purpose = "research"; return h }
		answer, optOut := of(surveys.Heard{Decides: true}), of(surveys.Heard{Decides: true, Says: people.SaidStop})
		says("+15559999999", "basta", surveys.Heard{})
		says(l.store.respondent(pending).Phone, "unsubscribe", of(surveys.Heard{}))
		says(active.Phone, "unsubscribe", answer)
		says(active.Phone, "start", of(surveys.Heard{Decides: true, Says: people.SaidStart}))
		says(active.Phone, "info", of(surveys.Heard{Decides: true, Says: people.SaidHelp}))
		says(active.Phone, "basta ya", of(surveys.Heard{Decides: true, Says: people.SaidMaybe, Found: "basta"}))
		says(active.Phone, "Help.", answer) // a word that answers a question
		for range 2 {                       // the provider may send it again, when the respondent has ended
			says(active.Phone, "Basta!", optOut)
		}
		says(active.Phone, "unsubscribe", of(surveys.Heard{}))
	})
}
