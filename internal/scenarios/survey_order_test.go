package scenarios_test

import (
	"strconv"
	"testing"
	"time"
)

// answeredRespondents prepares a respondent who has no open contact any more, has written,
// and whose application answers with two messages.
func answeredRespondents(w *world, capacity, reserve int) []string {
	w.Helper()
	w.channel("texts", capacity, fields{"settings": fields{"reply_reserve": reserve}})
	ids := w.launchSurvey("s", bySMS("2h"), 0, 6)
	w.sent(capacity - reserve)
	w.finish(textKey("s", ids[0], 1))
	w.sent(capacity - reserve + 1)
	w.expectRespondent("s", ids[0], "active, contacted")
	w.receiveMessage("texts", number(0), "hello")
	w.reportDisposition("s", ids[0], fields{"disposition": "started", "messages": []string{"question 1", "question 2"}, "key": "k"})
	return ids
}

// Scenario 12: the reply to an incoming message takes slots, although the
// respondent has no open contact any more. With slots reserved for replies it is
// dispatched at once; new contacts get none of these slots, and each delivered
// part frees its own.
func TestSurveyOrder_RepliesGoAtOnceAndTakeSlots(t *testing.T) {
	onSurveys(t, func(w *world) {
		ids := answeredRespondents(w, 4, 2)
		w.atOnce(func() { w.speaks("question 1") })
		w.inFlight("texts", 4)
		for part, left := range []int{3, 2} {
			if status := w.report("question 1", strconv.Itoa(part), "completed"); status != 200 {
				t.Errorf("part %d: %d", part, status)
			}
			w.waitIdle()
			w.expectInFlight("texts", left)
		}
		w.reportDisposition("s", ids[0], fields{"messages": []string{"question 1", "question 2"}, "key": "k"})
		w.sent(4)
		w.finish(textKey("s", ids[1], 1))
		w.sent(5)
		w.expectNoFaults()
	})
}

// Scenario 12: without reserved slots a reply is the next to be dispatched, and new
// contacts are held back until it is in flight.
func TestSurveyOrder_RepliesComeBeforeNewContacts(t *testing.T) {
	onSurveys(t, func(w *world) {
		ids := answeredRespondents(w, 3, 0)
		w.sent(4)
		w.finish(textKey("s", ids[1], 1))
		w.sent(4) // it needs two slots
		w.finish(textKey("s", ids[2], 1))
		w.sent(5)
		w.expectInFlight("texts", 3)
		if w.sends("question 1") != 1 {
			t.Errorf("the lab saw %v", w.lab.sentKeys())
		}
		w.report("question 1", "1", "completed")
		w.sent(6)
		w.expectNoFaults()
	})
}

// Scenario 15: a first attempt has normal priority, a retry high, and so does a first
// attempt with a respondent who has been reached.
func TestSurveyOrder_PriorityFollowsTheRespondent(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("texts", 1)
		ids := w.launchSurvey("s", bySMS("10m"), 0, 2)
		priority := func(id string) any { return w.contact(w.respondent("s", id)["contact"].(string))["priority"] }
		w.sent(1)
		w.until("the second waits", func() bool { return w.respondent("s", ids[1])["contact"] != nil })
		if got := [2]any{priority(ids[0]), priority(ids[1])}; got != [2]any{"normal", "normal"} {
			t.Errorf("first attempts are %v", got)
		}
		// The second respondent turns out to have been reached by other means: the waiting
		// contact is canceled, and the next contact is a first attempt again.
		w.reportDisposition("s", ids[1], fields{"disposition": "contacted"})
		w.report(textKey("s", ids[0], 1), "all", "no_answer")
		w.until("both are tried again", func() bool {
			return w.respondent("s", ids[0])["serial"] == 2.0 && w.respondent("s", ids[1])["serial"] == 2.0
		})
		if got := [2]any{priority(ids[0]), priority(ids[1])}; got != [2]any{"high", "high"} {
			t.Errorf("a second attempt, and a first one of a respondent who was reached, are %v", got)
		}
		if got := [2]string{w.respondentState("s", ids[0]), w.respondentState("s", ids[1])}; got != [2]string{"active, queued", "active, contacted"} {
			t.Errorf("they are %v", got)
		}
		if n := w.attemptsMade("s", ids[1], "sms"); n > 1 {
			t.Errorf("the second was tried %d times", n)
		}
		w.expectNoFaults()
	})
}

// Scenario 45: two surveys have the same number, each on its own channel: messages
// that arrive on the second channel belong to the second survey.
func TestSurveyOrder_IncomingGoesToTheSurveyOfItsChannel(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 5)
		w.channel("more", 5)
		body := bySMS("2h", fields{"application": fields{"url": "http://app.test/"}})
		first := w.launchSurvey("first", body, 0, 1)[0]
		body["modes"].(fields)["sms"].(fields)["channel"] = "more"
		second := w.launchSurvey("second", body, 0, 1)[0]
		// The first survey is the last one that contacted this person.
		w.speaks(textKey("second", second, 1))
		w.finish(textKey("second", second, 1))
		w.expectRespondent("second", second, "active, contacted")
		w.speaks(textKey("first", first, 1))
		w.finish(textKey("first", first, 1))
		w.expectRespondent("first", first, "active, contacted")

		w.receiveMessage("more", number(0), "for the second")
		w.until("the message is offered", func() bool { return len(w.publishedEvents("weir.survey.message")) == 1 })
		w.receiveMessage("texts", number(0), "for the first")
		w.until("the message is offered", func() bool { return len(w.publishedEvents("weir.survey.message")) == 2 })
		for i, want := range []struct{ survey, id, channel, text string }{{"second", second, "more", "for the second"}, {"first", first, "texts", "for the first"}} {
			e := w.publishedEvents("weir.survey.message")[i]
			if e["survey"] != want.survey || e["respondent"] != want.id || e["channel"] != want.channel || e["text"] != want.text {
				t.Errorf("message %d: %v, want %v", i, e, want)
			}
		}
		w.receiveMessage("more", number(0), "STOP")
		w.expectRespondent("second", second, "failed, breakoff")
		if got := w.respondentState("first", first); got != "active, started" {
			t.Errorf("the respondent of the other survey is %s", got)
		}
		w.expectNoFaults()
	})
}

// Scenario 43: a respondent answers while a retry is queued: the retry is not
// sent, whatever the answer is and however it arrives.
func TestSurveyOrder_AnAnswerTakesTheWaitingRetryBack(t *testing.T) {
	answers := map[string]struct {
		answer func(w *world, id string)
		after  string
	}{
		"with a conversation": {func(w *world, id string) {
			w.reportDisposition("s", id, fields{"disposition": "started", "messages": []string{"next"}})
		}, "active, started"},
		"without more to say":  {func(w *world, id string) { w.receiveMessage("texts", number(0), "thanks") }, "active, started"},
		"stop":                 {func(w *world, id string) { w.receiveMessage("texts", number(0), " Stop! ") }, "failed, refused"},
		"completed":            {func(w *world, id string) { w.reportDisposition("s", id, fields{"disposition": "completed"}) }, "completed, completed"},
		"by text, to a call":   {func(w *world, id string) { w.receiveMessage("texts", number(0), "call me not") }, "active, started"},
		"stop in an interview": {func(w *world, id string) { w.reportDisposition("s", id, fields{"stop": true}) }, "failed, refused"},
	}
	for name, c := range answers {
		t.Run(name, func(t *testing.T) {
			onSurveys(t, func(w *world) {
				first, channel, typ, key := "sms", "texts", "lab", textKey
				if name == "by text, to a call" {
					first, channel, typ, key = "ivr", "calls", "labcall", callKey
					w.channel("texts", 1)
				}
				w.channel(channel, 1, fields{"type": typ})
				body := surveyBody([]string{"sms", "ivr"})
				if first == "ivr" {
					body = surveyBody([]string{"ivr", "sms"})
				} else {
					w.channel("calls", 1, fields{"type": "labcall"})
				}
				retrySchedule(body, first, "1s")
				id := w.launchSurvey("s", body, 0, 1)[0]
				attempt := w.speaks(key("s", id, 1))
				other := sms("other")
				if first == "ivr" {
					other = call("other")
				}
				// Another contact takes the only slot before the retry is due.
				w.accept(channel, other)
				w.reportAttempt(attempt, "all", "no_answer")
				w.until("the retry waits", func() bool { return w.respondent("s", id)["serial"] == 2.0 })
				retry := w.respondent("s", id)["contact"].(string)
				c.answer(w, id)
				w.expectRespondent("s", id, c.after)
				if got := w.done(retry); got != "canceled" {
					t.Errorf("the retry ended as %s", got)
				}
				if first == "ivr" {
					w.finish(callURL("other"))
				} else {
					w.finish("other")
				}
				w.waitIdle()
				if n := w.sends(key("s", id, 2)); n != 0 {
					t.Errorf("the retry was sent %d times", n)
				}
				if n := w.attemptsMade("s", id, first); n != 1 {
					t.Errorf("%d attempts are counted", n)
				}
				w.expectNoFaults()
			})
		})
	}
}

// Scenario 86: a respondent whose call fails is failed at the end of the call if
// no step is left; otherwise the respondent waits for the next step.
func TestSurveyOrder_FailedAtOnceOnlyIfNothingIsLeft(t *testing.T) {
	for _, outcome := range []string{"failed", "busy", "no_answer"} {
		t.Run(outcome, func(t *testing.T) {
			onSurveysFrom(t, monday(9, 0), func(w *world) {
				w.channel("calls", 10, fields{"type": "labcall"})
				w.channel("texts", 10)
				last := w.launchSurvey("last", byIVR(""), 0, 1)[0]
				retried := w.launchSurvey("retried", byIVR("10m"), 0, 1)[0]
				fallback := w.launchSurvey("fallback", surveyBody([]string{"ivr", "sms"}), 0, 1)[0]
				w.sent(3)
				w.atOnce(func() {
					for name, id := range map[string]string{"last": last, "retried": retried, "fallback": fallback} {
						w.report(callKey(name, id, 1), "all", outcome)
					}
				})
				w.pass(time.Second)
				if got := w.respondentState("last", last); got != "failed, failed" {
					t.Errorf("with nothing left the respondent is %s", got)
				}
				for name, id := range map[string]string{"retried": retried, "fallback": fallback} {
					if got := w.respondentState(name, id); got != "active, queued" {
						t.Errorf("%s: the respondent is %s", name, got)
					}
				}
				w.pass(11 * time.Minute)
				w.report(callKey("retried", retried, 2), "all", outcome)
				w.pass(time.Second)
				if got := w.respondentState("retried", retried); got != "failed, failed" {
					t.Errorf("after the last retry the respondent is %s", got)
				}
				w.pass(2 * time.Hour)
				if n := w.sends(textKey("fallback", fallback, 1)); n != 1 {
					t.Errorf("the fallback was sent %d times", n)
				}
				w.expectNoFaults()
			})
		})
	}
}
