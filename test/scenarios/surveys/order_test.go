package surveys_test

import (
	"strconv"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// answeredRespondents prepares a respondent who has no open contact any more, has written,
// and whose application answers with two messages.
func answeredRespondents(w *world.World, capacity, reserve int) []string {
	w.Helper()
	w.Channel("texts", capacity, world.Fields{"settings": world.Fields{"reply_reserve": reserve}})
	ids := w.LaunchSurvey("s", world.BySMS("2h"), 0, 6)
	w.Sent(capacity - reserve)
	w.Finish(world.TextKey("s", ids[0], 1))
	w.Sent(capacity - reserve + 1)
	w.ExpectRespondent("s", ids[0], "active, contacted")
	w.ReceiveMessage("texts", world.Number(0), "hello")
	w.ReportDisposition("s", ids[0], world.Fields{"disposition": "started", "messages": []string{"question 1", "question 2"}, "key": "k"})
	return ids
}

// Scenario 12: the reply to an incoming message takes slots, although the
// respondent has no open contact any more. With slots reserved for replies it is
// dispatched at once; new contacts get none of these slots, and each delivered
// part frees its own.
func TestSurveyOrder_RepliesGoAtOnceAndTakeSlots(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		ids := answeredRespondents(w, 4, 2)
		w.AtOnce(func() { w.Speaks("question 1") })
		w.InFlight("texts", 4)
		for part, left := range []int{3, 2} {
			if status := w.Report("question 1", strconv.Itoa(part), "completed"); status != 200 {
				t.Errorf("part %d: %d", part, status)
			}
			w.WaitIdle()
			w.ExpectInFlight("texts", left)
		}
		w.ReportDisposition("s", ids[0], world.Fields{"messages": []string{"question 1", "question 2"}, "key": "k"})
		w.Sent(4)
		w.Finish(world.TextKey("s", ids[1], 1))
		w.Sent(5)
		w.ExpectNoFaults()
	})
}

// Scenario 12: without reserved slots a reply is the next to be dispatched, and new
// contacts are held back until it is in flight.
func TestSurveyOrder_RepliesComeBeforeNewContacts(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		ids := answeredRespondents(w, 3, 0)
		w.Sent(4)
		w.Finish(world.TextKey("s", ids[1], 1))
		w.Sent(4) // it needs two slots
		w.Finish(world.TextKey("s", ids[2], 1))
		w.Sent(5)
		w.ExpectInFlight("texts", 3)
		if w.Sends("question 1") != 1 {
			t.Errorf("the lab saw %v", w.Lab.SentKeys())
		}
		w.Report("question 1", "1", "completed")
		w.Sent(6)
		w.ExpectNoFaults()
	})
}

// Scenario 15: a first attempt has normal priority, a retry high, and so does a first
// attempt with a respondent who has been reached.
func TestSurveyOrder_PriorityFollowsTheRespondent(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("texts", 1)
		ids := w.LaunchSurvey("s", world.BySMS("10m"), 0, 2)
		priority := func(id string) any { return w.Contact(w.Respondent("s", id)["contact"].(string))["priority"] }
		w.Sent(1)
		w.Until("the second waits", func() bool { return w.Respondent("s", ids[1])["contact"] != nil })
		if got := [2]any{priority(ids[0]), priority(ids[1])}; got != [2]any{"normal", "normal"} {
			t.Errorf("first attempts are %v", got)
		}
		// The second respondent turns out to have been reached by other means: the waiting
		// contact is canceled, and the next contact is a first attempt again.
		w.ReportDisposition("s", ids[1], world.Fields{"disposition": "contacted"})
		w.Report(world.TextKey("s", ids[0], 1), "all", "no_answer")
		w.Until("both are tried again", func() bool {
			return w.Respondent("s", ids[0])["serial"] == 2.0 && w.Respondent("s", ids[1])["serial"] == 2.0
		})
		if got := [2]any{priority(ids[0]), priority(ids[1])}; got != [2]any{"high", "high"} {
			t.Errorf("a second attempt, and a first one of a respondent who was reached, are %v", got)
		}
		if got := [2]string{w.RespondentState("s", ids[0]), w.RespondentState("s", ids[1])}; got != [2]string{"active, queued", "active, contacted"} {
			t.Errorf("they are %v", got)
		}
		if n := w.AttemptsMade("s", ids[1], "sms"); n > 1 {
			t.Errorf("the second was tried %d times", n)
		}
		w.ExpectNoFaults()
	})
}

// Scenario 45: two surveys have the same number, each on its own channel: messages
// that arrive on the second channel belong to the second survey.
func TestSurveyOrder_IncomingGoesToTheSurveyOfItsChannel(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 5)
		w.Channel("more", 5)
		body := world.BySMS("2h", world.Fields{"application": world.Fields{"url": "http://app.test/"}})
		first := w.LaunchSurvey("first", body, 0, 1)[0]
		body["modes"].(world.Fields)["sms"].(world.Fields)["channel"] = "more"
		second := w.LaunchSurvey("second", body, 0, 1)[0]
		// The first survey is the last one that contacted this person.
		w.Speaks(world.TextKey("second", second, 1))
		w.Finish(world.TextKey("second", second, 1))
		w.ExpectRespondent("second", second, "active, contacted")
		w.Speaks(world.TextKey("first", first, 1))
		w.Finish(world.TextKey("first", first, 1))
		w.ExpectRespondent("first", first, "active, contacted")

		w.ReceiveMessage("more", world.Number(0), "for the second")
		w.Until("the message is offered", func() bool { return len(w.PublishedEvents("weir.survey.message")) == 1 })
		w.ReceiveMessage("texts", world.Number(0), "for the first")
		w.Until("the message is offered", func() bool { return len(w.PublishedEvents("weir.survey.message")) == 2 })
		for i, want := range []struct{ survey, id, channel, text string }{{"second", second, "more", "for the second"}, {"first", first, "texts", "for the first"}} {
			e := w.PublishedEvents("weir.survey.message")[i]
			if e["survey"] != want.survey || e["respondent"] != want.id || e["channel"] != want.channel || e["text"] != want.text {
				t.Errorf("message %d: %v, want %v", i, e, want)
			}
		}
		w.ReceiveMessage("more", world.Number(0), "STOP")
		w.ExpectRespondent("second", second, "failed, breakoff")
		if got := w.RespondentState("first", first); got != "active, started" {
			t.Errorf("the respondent of the other survey is %s", got)
		}
		w.ExpectNoFaults()
	})
}

// Scenario 43: a respondent answers while a retry is queued: the retry is not
// sent, whatever the answer is and however it arrives.
func TestSurveyOrder_AnAnswerTakesTheWaitingRetryBack(t *testing.T) {
	answers := map[string]struct {
		answer func(w *world.World, id string)
		after  string
	}{
		"with a conversation": {func(w *world.World, id string) {
			w.ReportDisposition("s", id, world.Fields{"disposition": "started", "messages": []string{"next"}})
		}, "active, started"},
		"without more to say": {func(w *world.World, id string) { w.ReceiveMessage("texts", world.Number(0), "thanks") }, "active, started"},
		"stop":                {func(w *world.World, id string) { w.ReceiveMessage("texts", world.Number(0), " Stop! ") }, "failed, refused"},
		"completed": {func(w *world.World, id string) {
			w.ReportDisposition("s", id, world.Fields{"disposition": "completed"})
		}, "completed, completed"},
		"by text, to a call":   {func(w *world.World, id string) { w.ReceiveMessage("texts", world.Number(0), "call me not") }, "active, started"},
		"stop in an interview": {func(w *world.World, id string) { w.ReportDisposition("s", id, world.Fields{"stop": true}) }, "failed, refused"},
	}
	for name, c := range answers {
		t.Run(name, func(t *testing.T) {
			world.OnSurveysFrom(t, time.Time{}, func(w *world.World) {
				first, channel, typ, key := "sms", "texts", "lab", world.TextKey
				if name == "by text, to a call" {
					first, channel, typ, key = "ivr", "calls", "labcall", world.CallKey
					w.Channel("texts", 1)
				}
				w.Channel(channel, 1, world.Fields{"type": typ})
				body := world.SurveyBody([]string{"sms", "ivr"})
				if first == "ivr" {
					body = world.SurveyBody([]string{"ivr", "sms"})
				} else {
					w.Channel("calls", 1, world.Fields{"type": "labcall"})
				}
				// A server that is slow in real time must not let the retry fall due before the other
				// contact has the slot, so the scenario is about virtual time only.
				world.RetrySchedule(body, first, "1s")
				id := w.LaunchSurvey("s", body, 0, 1)[0]
				attempt := w.Speaks(key("s", id, 1))
				other := world.SMS("other")
				if first == "ivr" {
					other = world.Call("other")
				}
				// Another contact takes the only slot before the retry is due.
				w.Accept(channel, other)
				w.ReportAttempt(attempt, "all", "no_answer")
				w.Until("the retry waits", func() bool { return w.Respondent("s", id)["serial"] == 2.0 })
				retry := w.Respondent("s", id)["contact"].(string)
				c.answer(w, id)
				w.ExpectRespondent("s", id, c.after)
				if got := w.Done(retry); got != "canceled" {
					t.Errorf("the retry ended as %s", got)
				}
				if first == "ivr" {
					w.Finish(world.CallURL("other"))
				} else {
					w.Finish("other")
				}
				w.WaitIdle()
				if n := w.Sends(key("s", id, 2)); n != 0 {
					t.Errorf("the retry was sent %d times", n)
				}
				if n := w.AttemptsMade("s", id, first); n != 1 {
					t.Errorf("%d attempts are counted", n)
				}
				w.ExpectNoFaults()
			})
		})
	}
}

// Scenario 86: a respondent whose call fails is failed at the end of the call if
// no step is left; otherwise the respondent waits for the next step.
func TestSurveyOrder_FailedAtOnceOnlyIfNothingIsLeft(t *testing.T) {
	for _, outcome := range []string{"failed", "busy", "no_answer"} {
		t.Run(outcome, func(t *testing.T) {
			world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
				w.Channel("calls", 10, world.Fields{"type": "labcall"})
				w.Channel("texts", 10)
				last := w.LaunchSurvey("last", world.ByIVR(""), 0, 1)[0]
				retried := w.LaunchSurvey("retried", world.ByIVR("10m"), 0, 1)[0]
				fallback := w.LaunchSurvey("fallback", world.SurveyBody([]string{"ivr", "sms"}), 0, 1)[0]
				w.Sent(3)
				w.AtOnce(func() {
					for name, id := range map[string]string{"last": last, "retried": retried, "fallback": fallback} {
						w.Report(world.CallKey(name, id, 1), "all", outcome)
					}
				})
				w.Pass(time.Second)
				if got := w.RespondentState("last", last); got != "failed, failed" {
					t.Errorf("with nothing left the respondent is %s", got)
				}
				for name, id := range map[string]string{"retried": retried, "fallback": fallback} {
					if got := w.RespondentState(name, id); got != "active, queued" {
						t.Errorf("%s: the respondent is %s", name, got)
					}
				}
				w.Pass(11 * time.Minute)
				w.Report(world.CallKey("retried", retried, 2), "all", outcome)
				w.Pass(time.Second)
				if got := w.RespondentState("retried", retried); got != "failed, failed" {
					t.Errorf("after the last retry the respondent is %s", got)
				}
				w.Pass(2 * time.Hour)
				if n := w.Sends(world.TextKey("fallback", fallback, 1)); n != 1 {
					t.Errorf("the fallback was sent %d times", n)
				}
				w.ExpectNoFaults()
			})
		})
	}
}
