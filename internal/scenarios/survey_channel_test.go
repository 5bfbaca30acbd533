package scenarios_test

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
)

// breakChannel makes a channel report that it does not work; recovered ends that.
func (w *world) breakChannel(channel string, h weir.Health) {
	w.lab.behave(func(l *lab) { l.sick[channel] = channels.Status{Health: h, Reason: "unplugged"} })
}

func (w *world) repairChannel(channel string) {
	w.lab.behave(func(l *lab) { delete(l.sick, channel) })
}

// publishedStates lists the states of a channel that were published as events.
func (w *world) publishedStates(channel string) string {
	w.Helper()
	var out []string
	for _, e := range w.publishedEvents("weir.channel.state") {
		if e["channel"] == channel {
			out = append(out, fmt.Sprint(e["state"]))
		}
	}
	return strings.Join(out, " ")
}

// sentOver counts the contacts sent over a channel.
func (w *world) sentOver(channel string) int {
	w.lab.mu.Lock()
	defer w.lab.mu.Unlock()
	n := 0
	for _, s := range w.lab.sends {
		if s.channel == channel {
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
			onSurveysFrom(t, monday(9, 0), func(w *world) {
				w.channel("calls", 3, fields{"type": "labcall"})
				w.channel("texts", 10)
				w.endContacts(func(a labAttempt) (time.Duration, string) { return time.Minute, "no_answer" })
				held := w.launchSurvey("held", byIVR("10m"), 0, 40)
				nearly := w.launchSurvey("nearly", byIVR("3h"), 100, 1)[0]
				w.launchSurvey("other", bySMS("10m"), 200, 5)
				w.pass(3 * time.Minute)
				w.breakChannel("calls", health)
				w.until("the event is published", func() bool { return w.publishedStates("calls") == string(health) })
				w.pass(time.Minute) // contacts that waited in the channel are dispatched
				before := w.sentOver("calls")
				w.pass(20 * time.Minute)
				w.restart()
				w.pass(20 * time.Minute)
				if n := w.sentOver("calls") - before; n > 0 {
					t.Errorf("%d were called while the channel was down", n)
				}
				if got := w.publishedStates("calls"); got != string(health) {
					t.Errorf("events: %s", got)
				}
				for _, name := range []string{"held", "nearly"} {
					use := w.want(200, "GET", "/v1/surveys/"+name+"/stats", nil).Body["channels"].([]any)[0].(map[string]any)
					if use["state"] != string(health) || use["state_reason"] != "unplugged" {
						t.Errorf("survey %s says of its channel: %v", name, use)
					}
				}
				if got := w.surveyState("other"); got != "done exhausted" {
					t.Errorf("the survey on another channel is %s", got)
				}
				w.reportDisposition("nearly", nearly, fields{"disposition": "completed"})
				w.pass(time.Second)
				if got := w.surveyState("nearly"); got != "done exhausted" {
					t.Errorf("the survey whose last respondent completed is %s", got)
				}
				w.repairChannel("calls")
				w.until("the recovery is published", func() bool { return w.publishedStates("calls") == string(health)+" up" })
				w.pass(time.Hour)
				if got := w.surveyState("held"); got != "done exhausted" {
					t.Errorf("the survey that was held is %s: %v", got, w.statusCounts("held"))
				}
				for _, id := range held {
					if n := w.attemptsMade("held", id, "ivr"); n != 2 {
						t.Fatalf("%s was tried %d times", id, n)
					}
				}
				if got := w.publishedStates("calls"); got != string(health)+" up" {
					t.Errorf("events: %s", got)
				}
				w.expectNoFaults()
			})
		})
	}
}

// Scenario 74: a recovered channel is noticed soon: sooner than working channels are
// checked, at once when its user has changed it, and at once when a waiting contact
// is accepted.
func TestSurveyChannel_RecoveryIsNoticedSoon(t *testing.T) {
	for name, c := range map[string]struct {
		recover func(*world)
		within  time.Duration
	}{
		"by itself": {func(w *world) { w.repairChannel("texts") }, time.Minute},
		"changed": {func(w *world) {
			w.repairChannel("texts")
			w.patch("texts", fields{"settings": fields{"note": "a new token"}})
		}, 3 * time.Second},
		"dispatched": {func(w *world) { w.repairChannel("texts"); w.finish(w.lab.outKeys()...) }, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			onSurveysFrom(t, monday(9, 0), func(w *world) {
				w.timing.check = 30 * time.Minute
				w.restart()
				w.channel("texts", 1)
				w.launchSurvey("s", bySMS("10m"), 0, 5)
				w.sent(1)
				w.until("the second waits", func() bool { return w.waitingContacts("s") == 1 })
				w.breakChannel("texts", weir.Down)
				w.patch("texts", fields{"settings": fields{"note": "looked at now"}})
				w.until("the event is published", func() bool { return w.publishedStates("texts") == "down" })
				w.pass(time.Minute)
				c.recover(w)
				w.within(c.within, "noticing it", func() {
					w.until("the recovery is published", func() bool { return w.publishedStates("texts") == "down up" })
				})
			})
		})
	}
}

// A channel that its user pauses starts no respondents from that instant on. When
// resumed it continues at once, without waiting for the next poll.
// Scenario 74.
func TestSurveyChannel_PausesAreNoticedAtOnce(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.timing.every = 30 * time.Minute
		w.restart()
		w.channel("texts", 5)
		w.pause("texts", true)
		w.launchSurvey("s", bySMS("2h"), 0, 20)
		w.pass(time.Minute)
		w.sent(0)
		if n := w.contactCount("s", "queued"); n != 0 {
			t.Errorf("%d wait in a channel that is paused", n)
		}
		w.within(time.Second, "going on", func() {
			w.pause("texts", false)
			w.until("five are sent", func() bool { return len(w.lab.sentKeys()) == 5 })
		})
		w.pass(10 * time.Second)
		w.within(time.Second, "the pause", func() {
			w.pause("texts", true)
			w.until("the event is published", func() bool { return strings.HasSuffix(w.publishedStates("texts"), "paused") })
		})
		w.finish(w.lab.outKeys()...)
		w.pass(time.Hour)
		w.sent(5)
		w.expectNoFaults()
	})
}

// Scenario 76: a launch prepares every channel of the survey. The error names any
// channel that cannot be prepared, and nothing is changed.
func TestSurveyChannel_LaunchPreparesEveryChannel(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("calls", 5, fields{"type": "labcall"})
		w.channel("texts", 5)
		w.channel("links", 5)
		w.waitIdle()
		w.createSurvey("s", surveyBody([]string{"ivr", "sms", "mobileweb"}), 0, 3)
		was := w.want(200, "GET", "/v1/surveys/s", nil).Text
		fails := map[string]func(){
			"not prepared":    func() { w.lab.behave(func(l *lab) { l.unready["links"] = errors.New("the application is not known") }) },
			"does not answer": func() { w.lab.behave(func(l *lab) { clear(l.unready) }); w.breakChannel("links", weir.Erring) },
		}
		for _, name := range slices.Sorted(maps.Keys(fails)) {
			fails[name]()
			a := w.want(409, "POST", "/v1/surveys/s:launch", nil)
			wrong, _ := a.Body["errors"].([]any)
			if len(wrong) != 1 || wrong[0].(map[string]any)["pointer"] != "/modes/mobileweb/channel" || !strings.Contains(a.Text, `channel \"links\"`) {
				t.Errorf("%s: %s", name, a.Text)
			}
			if is := w.want(200, "GET", "/v1/surveys/s", nil).Text; is != was {
				t.Errorf("%s: the survey was %s, is %s", name, was, is)
			}
		}
		w.waitIdle()
		w.sent(0)
		if n := len(w.publishedEvents("weir.survey.state")); n > 0 {
			t.Errorf("%d changes were published", n)
		}
		w.lab.behave(func(l *lab) { clear(l.unready); clear(l.sick); clear(l.prepared) })
		w.surveyCommand("s", "launch")
		w.lab.mu.Lock()
		prepared := slices.Sorted(maps.Keys(w.lab.prepared))
		w.lab.mu.Unlock()
		if got := strings.Join(prepared, " "); got != "calls links texts" {
			t.Errorf("%s were prepared", got)
		}
		w.sent(3)
	})
}

// Scenario 73: a channel of a running survey is deleted: its contacts are done, the
// survey's figures show it as down, the survey starts no respondents over it, and it
// can be stopped.
func TestSurveyChannel_MayBeDeletedWhileASurveyRuns(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("calls", 2, fields{"type": "labcall"})
		w.channel("texts", 5)
		w.launchSurvey("s", byIVR("10m"), 0, 10)
		w.launchSurvey("other", bySMS(""), 100, 3)
		w.sent(5)
		w.call("DELETE", "/v1/channels/calls?cancel=true", nil)
		w.until("the channel is gone", func() bool { return w.call("GET", "/v1/channels/calls", nil).Status == 404 })
		w.waitIdle()
		w.sent(5)
		use := w.want(200, "GET", "/v1/surveys/s/stats", nil).Body["channels"].([]any)[0].(map[string]any)
		if use["state"] != "down" {
			t.Errorf("the survey says of its channel: %v", use)
		}
		w.surveyCommand("s", "stop")
		w.until("the survey is done", func() bool { return w.surveyState("s") == "done stopped" })
		if got := fmt.Sprint(w.statusCounts("s")); got != "map[canceled:10]" {
			t.Errorf("its respondents are %s", got)
		}
		w.finish(w.lab.outKeys()...)
		w.expectNoFaults()
	})
}
