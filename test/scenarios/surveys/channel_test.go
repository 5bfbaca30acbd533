package surveys_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/test/scenarios/world"
)

// breakChannel makes a channel report that it does not work; recovered ends that.
func breakChannel(w *world.World, channel string, h weir.Health) {
	w.Lab.Behave(func(l *world.Lab) { l.Sick[channel] = channels.Status{Health: h, Reason: "unplugged"} })
}

func repairChannel(w *world.World, channel string) {
	w.Lab.Behave(func(l *world.Lab) { delete(l.Sick, channel) })
}

// publishedStates lists the states of a channel that were published as events.
func publishedStates(w *world.World, channel string) string {
	w.Helper()
	var out []string
	for _, e := range w.PublishedEvents("weir.channel.state") {
		if e["channel"] == channel {
			out = append(out, fmt.Sprint(e["state"]))
		}
	}
	return strings.Join(out, " ")
}

// sentOver counts the contacts sent over a channel.
func sentOver(w *world.World, channel string) int {
	w.Lab.Mu.Lock()
	defer w.Lab.Mu.Unlock()
	n := 0
	for _, s := range w.Lab.Sends {
		if s.Channel == channel {
			n++
		}
	}
	return n
}

// Scenario 74: while a channel is down or in error, the surveys that use it neither
// start nor retry respondents over it. One event reports the failure, however many
// surveys there are and whatever crashes; other channels continue, and a survey
// notices that it is done. One event reports the recovery, and held work continues.
func TestSurveyChannel_ThatIsDownIsNotUsedAndReportedOnce(t *testing.T) {
	for _, health := range []weir.Health{weir.Down, weir.Erring} {
		t.Run(string(health), func(t *testing.T) {
			world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
				w.Channel("calls", 3, world.Fields{"type": "labcall"})
				w.Channel("texts", 10)
				w.EndContacts(func(a world.LabAttempt) (time.Duration, string) { return time.Minute, "no_answer" })
				held := w.LaunchSurvey("held", world.ByIVR("10m"), 0, 40)
				nearly := w.LaunchSurvey("nearly", world.ByIVR("3h"), 100, 1)[0]
				w.LaunchSurvey("other", world.BySMS("10m"), 200, 5)
				w.Pass(3 * time.Minute)
				breakChannel(w, "calls", health)
				w.Until("the event is published", func() bool { return publishedStates(w, "calls") == string(health) })
				w.Pass(time.Minute) // contacts that waited in the channel are dispatched
				before := sentOver(w, "calls")
				w.Pass(20 * time.Minute)
				w.Restart()
				w.Pass(20 * time.Minute)
				if n := sentOver(w, "calls") - before; n > 0 {
					t.Errorf("%d were called while the channel was down", n)
				}
				if got := publishedStates(w, "calls"); got != string(health) {
					t.Errorf("events: %s", got)
				}
				for _, name := range []string{"held", "nearly"} {
					use := w.Want(200, "GET", "/v1/surveys/"+name+"/stats", nil).Body["channels"].([]any)[0].(map[string]any)
					if use["state"] != string(health) || use["state_reason"] != "unplugged" {
						t.Errorf("survey %s says of its channel: %v", name, use)
					}
				}
				if got := w.SurveyState("other"); got != "done exhausted" {
					t.Errorf("the survey on another channel is %s", got)
				}
				w.ReportDisposition("nearly", nearly, world.Fields{"disposition": "completed"})
				w.Pass(time.Second)
				if got := w.SurveyState("nearly"); got != "done exhausted" {
					t.Errorf("the survey whose last respondent completed is %s", got)
				}
				repairChannel(w, "calls")
				w.Until("the recovery is published", func() bool { return publishedStates(w, "calls") == string(health)+" up" })
				w.Pass(time.Hour)
				if got := w.SurveyState("held"); got != "done exhausted" {
					t.Errorf("the survey that was held is %s: %v", got, w.StatusCounts("held"))
				}
				for _, id := range held {
					if n := w.AttemptsMade("held", id, "ivr"); n != 2 {
						t.Fatalf("%s was tried %d times", id, n)
					}
				}
				if got := publishedStates(w, "calls"); got != string(health)+" up" {
					t.Errorf("events: %s", got)
				}
				w.ExpectNoFaults()
			})
		})
	}
}

// Scenario 74: a recovered channel is noticed soon: sooner than working channels are
// checked, at once when its user has changed it, and at once when a waiting contact
// is accepted.
func TestSurveyChannel_RecoveryIsNoticedSoon(t *testing.T) {
	for name, c := range map[string]struct {
		recover func(*world.World)
		within  time.Duration
	}{
		"by itself": {func(w *world.World) { repairChannel(w, "texts") }, time.Minute},
		"changed": {func(w *world.World) {
			repairChannel(w, "texts")
			w.Patch("texts", world.Fields{"settings": world.Fields{"note": "a new token"}})
		}, 3 * time.Second},
		"dispatched": {func(w *world.World) { repairChannel(w, "texts"); w.Finish(w.Lab.OutKeys()...) }, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
				w.Timing.Check = 30 * time.Minute
				w.Restart()
				w.Channel("texts", 1)
				w.LaunchSurvey("s", world.BySMS("10m"), 0, 5)
				w.Sent(1)
				w.Until("the second waits", func() bool { return waitingContacts(w, "s") == 1 })
				breakChannel(w, "texts", weir.Down)
				w.Patch("texts", world.Fields{"settings": world.Fields{"note": "looked at now"}})
				w.Until("the event is published", func() bool { return publishedStates(w, "texts") == "down" })
				w.Pass(time.Minute)
				c.recover(w)
				w.Within(c.within, "noticing it", func() {
					w.Until("the recovery is published", func() bool { return publishedStates(w, "texts") == "down up" })
				})
			})
		})
	}
}

// A channel that its user pauses starts no respondents from that instant on. When
// resumed it continues at once, without waiting for the next poll.
// Scenario 74.
func TestSurveyChannel_PausesAreNoticedAtOnce(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Timing.Every = 30 * time.Minute
		w.Restart()
		w.Channel("texts", 5)
		w.Pause("texts", true)
		w.LaunchSurvey("s", world.BySMS("2h"), 0, 20)
		w.Pass(time.Minute)
		w.Sent(0)
		if n := contactCount(w, "s", "queued"); n != 0 {
			t.Errorf("%d wait in a channel that is paused", n)
		}
		w.Within(time.Second, "going on", func() {
			w.Pause("texts", false)
			w.Until("five are sent", func() bool { return len(w.Lab.SentKeys()) == 5 })
		})
		w.Pass(10 * time.Second)
		w.Within(time.Second, "the pause", func() {
			w.Pause("texts", true)
			w.Until("the event is published", func() bool { return strings.HasSuffix(publishedStates(w, "texts"), "paused") })
		})
		w.Finish(w.Lab.OutKeys()...)
		w.Pass(time.Hour)
		w.Sent(5)
		w.ExpectNoFaults()
	})
}

// Scenario 76: a launch prepares every channel of the survey. The error names any
// channel that cannot be prepared, and nothing is changed.
func TestSurveyChannel_LaunchPreparesEveryChannel(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("calls", 5, world.Fields{"type": "labcall"})
		w.Channel("texts", 5)
		w.Channel("links", 5)
		w.WaitIdle()
		w.CreateSurvey("s", world.SurveyBody([]string{"ivr", "sms", "mobileweb"}), 0, 3)
		was := w.Want(200, "GET", "/v1/surveys/s", nil).Text
		fails := map[string]func(){
			"not prepared": func() {
				w.Lab.Behave(func(l *world.Lab) { l.Unready["links"] = errors.New("the application is not known") })
			},
			"does not answer": func() { w.Lab.Behave(func(l *world.Lab) { clear(l.Unready) }); breakChannel(w, "links", weir.Erring) },
		}
		for _, name := range slices.Sorted(maps.Keys(fails)) {
			fails[name]()
			a := w.Want(409, "POST", "/v1/surveys/s:launch", nil)
			wrong, _ := a.Body["errors"].([]any)
			if len(wrong) != 1 || wrong[0].(map[string]any)["pointer"] != "/modes/mobileweb/channel" || !strings.Contains(a.Text, `channel \"links\"`) {
				t.Errorf("%s: %s", name, a.Text)
			}
			if is := w.Want(200, "GET", "/v1/surveys/s", nil).Text; is != was {
				t.Errorf("%s: the survey was %s, is %s", name, was, is)
			}
		}
		w.WaitIdle()
		w.Sent(0)
		if n := len(w.PublishedEvents("weir.survey.state")); n > 0 {
			t.Errorf("%d changes were published", n)
		}
		w.Lab.Behave(func(l *world.Lab) { clear(l.Unready); clear(l.Sick); clear(l.Prepared) })
		w.SurveyCommand("s", "launch")
		w.Lab.Mu.Lock()
		prepared := slices.Sorted(maps.Keys(w.Lab.Prepared))
		w.Lab.Mu.Unlock()
		if got := strings.Join(prepared, " "); got != "calls links texts" {
			t.Errorf("%s were prepared", got)
		}
		w.Sent(3)
	})
}

// Scenario 73: a channel of a running survey is deleted: its contacts are done, the
// survey's figures show it as down, the survey starts no respondents over it, and it
// can be stopped.
func TestSurveyChannel_MayBeDeletedWhileASurveyRuns(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("calls", 2, world.Fields{"type": "labcall"})
		w.Channel("texts", 5)
		w.LaunchSurvey("s", world.ByIVR("10m"), 0, 10)
		w.LaunchSurvey("other", world.BySMS(""), 100, 3)
		w.Sent(5)
		w.Call("DELETE", "/v1/channels/calls?cancel=true", nil)
		w.Until("the channel is gone", func() bool { return w.Call("GET", "/v1/channels/calls", nil).Status == 404 })
		w.WaitIdle()
		w.Sent(5)
		use := w.Want(200, "GET", "/v1/surveys/s/stats", nil).Body["channels"].([]any)[0].(map[string]any)
		if use["state"] != "down" {
			t.Errorf("the survey says of its channel: %v", use)
		}
		w.SurveyCommand("s", "stop")
		w.Until("the survey is done", func() bool { return w.SurveyState("s") == "done stopped" })
		if got := fmt.Sprint(w.StatusCounts("s")); got != "map[canceled:10]" {
			t.Errorf("its respondents are %s", got)
		}
		w.Finish(w.Lab.OutKeys()...)
		w.ExpectNoFaults()
	})
}
