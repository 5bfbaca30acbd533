package scenarios_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// failing is a brake that acts when more than a fifth of 10 contacts failed.
func failing() fields { return fields{"over": 10, "minimum": 5, "failed_percent": 20} }

// endNext waits until the next of a channel's contacts are sent, one after the other, and ends them.
func (w *world) endNext(outcomes ...string) {
	w.Helper()
	for _, o := range outcomes {
		key := ""
		w.until("another contact is sent", func() bool {
			keys := w.lab.sentKeys()
			if len(keys) > w.ended {
				key = keys[w.ended]
			}
			return key != ""
		})
		w.ended++
		if status := w.report(key, "all", o); status != http.StatusOK {
			w.Fatalf("the callback of %s was answered %d", key, status)
		}
	}
}

// Scenario 330: a channel pauses itself, stays paused after a crash, and goes on when it is resumed.
func TestBrake_AChannelPausesItself(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 1, fields{"brake": failing()})
		w.accept("texts", many("k", 30)...)
		w.endNext("failed", "completed", "completed", "failed", "completed")
		const text = "paused itself: 2 of the last 5 contacts failed, the bound is 20 %"
		shows := func(when string) {
			t.Helper()
			ch := w.want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body
			braked, _ := ch["braked"].(map[string]any)
			if ch["paused"] != true || braked["text"] != text || braked["touched"] != 5.0 || ch["state"] != "paused" || ch["state_reason"] != text ||
				ch["why"] != "channel texts "+text || ch["why_code"] != "braked" {
				t.Errorf("%s the channel is %v", when, ch)
			}
		}
		w.until("the channel is paused", func() bool {
			return w.want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body["braked"] != nil
		})
		w.channelBecause("texts", "braked")
		shows("braked")
		w.until("it is counted", func() bool { return w.metric("weir_brakes_total", "kind", "channel", "cause", "failed") == 1 })
		list := w.publishedEvents("weir.channel.braked")
		if len(list) != 1 || list[0]["channel"] != "texts" || list[0]["text"] != text || list[0]["cause"] != "failed" || list[0]["count"] != 2.0 {
			t.Errorf("the events are %v", list)
		}
		w.sent(5)
		w.restart()
		w.sent(5)
		shows("after a crash")
		// Another change does not release it; a resume does, and the count begins anew.
		w.want(http.StatusOK, "PATCH", "/v1/channels/texts", fields{"capacity": 1, "name": "Texts"})
		shows("after a change")
		w.sent(5)
		w.want(http.StatusOK, "PATCH", "/v1/channels/texts", fields{"paused": false})
		w.endNext("failed", "failed", "failed", "failed")
		ch := w.want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body
		if ch["paused"] != false || ch["braked"] != nil || fmt.Sprint(ch["brake_count"]) != "map[failed:4 of:4 opted_out:0 touched:4]" {
			t.Errorf("resumed it is %v", ch)
		}
		w.endNext("failed")
		w.until("it pauses itself again", func() bool {
			return w.want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body["braked"] != nil
		})
		w.sent(10)
		// An operator's own pause and resume are none of the brake's.
		w.want(http.StatusOK, "PATCH", "/v1/channels/texts", fields{"paused": false, "brake": nil})
		w.endNext("failed", "failed", "failed", "failed", "failed", "failed")
		w.sent(17)
	})
}

// Scenario 331: stop words of people count as opt-outs of the channel, each person once.
func TestBrake_AChannelPausesItselfWhenPeopleOptOut(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 1, fields{"brake": fields{"over": 10, "minimum": 5, "opted_out_percent": 20}})
		w.accept("texts", many("k", 9, fields{"to": "+15550199"})...)
		w.endNext("completed", "completed", "completed", "completed", "completed")
		for _, text := range []string{"stop", "STOP", "Stop!"} {
			w.receiveMessage("texts", "15550100", text)
		}
		w.receiveMessage("texts", "15550101", "hello")
		w.sent(6)
		if w.want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body["braked"] != nil {
			t.Error("it acted on one person")
		}
		w.receiveMessage("texts", "15550101", "stop")
		w.until("the channel is paused", func() bool {
			return w.want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body["braked"] != nil
		})
		braked := w.want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body["braked"].(map[string]any)
		if braked["cause"] != "opted_out" || braked["count"] != 2.0 || braked["of"] != 5.0 {
			t.Errorf("it is %v", braked)
		}
		w.endNext("completed")
		w.sent(6)
	})
}

// Scenario 332: a survey pauses itself as by an operator, stays paused after a crash, and goes on when it is resumed.
func TestBrake_ASurveyPausesItself(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 1)
		ids := w.launchSurvey("s", bySMS("", fields{"brake": fields{"over": 10, "minimum": 5, "reasons": fields{"number not usable": 20}, "failed_percent": 20}}), 0, 40)
		if len(ids) != 40 {
			t.Fatal(ids)
		}
		w.endNext("completed", "failed", "completed", "completed", "failed")
		w.until("the survey is paused", func() bool { return w.surveyState("s") == "paused" })
		const text = "paused itself: 2 of the last 5 contacts failed, the bound is 20 %"
		shows := func(when string) {
			t.Helper()
			s := w.want(http.StatusOK, "GET", "/v1/surveys/s", nil).Body
			braked, _ := s["braked"].(map[string]any)
			if s["state"] != "paused" || braked["text"] != text || s["why"] != "the survey "+text || s["why_code"] != "braked" {
				t.Errorf("%s the survey is %v", when, s)
			}
		}
		w.surveyBecause("s", "braked", text)
		shows("braked")
		if n := w.metric("weir_brakes_total", "kind", "survey", "cause", "failed"); n != 1 {
			t.Errorf("it is counted %v times", n)
		}
		if list := w.publishedEvents("weir.survey.braked"); len(list) != 1 || list[0]["survey"] != "s" || list[0]["text"] != text {
			t.Errorf("the events are %v", list)
		}
		w.until("what waited is taken back", func() bool { return w.figure("texts", "queued") == 0 })
		sent := len(w.lab.sentKeys())
		w.restart()
		shows("after a crash")
		for ; w.ended < sent; w.ended++ { // what was in flight
			w.report(w.lab.sentKeys()[w.ended], "all", "completed")
		}
		w.sent(sent)
		w.surveyCommand("s", "resume")
		w.endNext("failed", "failed", "failed", "failed")
		if s := w.want(http.StatusOK, "GET", "/v1/surveys/s", nil).Body; s["state"] != "running" || s["braked"] != nil {
			t.Errorf("resumed it is %v", s)
		}
		// Its bound may change while it runs.
		w.want(http.StatusOK, "PATCH", "/v1/surveys/s", fields{"brake": fields{"failed_percent": 90, "reasons": nil}})
		w.endNext("failed", "completed", "failed", "failed", "failed")
		if got := w.surveyState("s"); got != "running" {
			t.Errorf("with a higher bound it is %s", got)
		}
		w.expectNoFaults()
	})
}

// Scenario 332: respondents who opt out in their conversations count, and those who had refused elsewhere do not.
func TestBrake_ASurveyPausesItselfWhenRespondentsOptOut(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("texts", 1)
		ids := w.createSurvey("s", bySMS("", fields{"brake": fields{"over": 10, "minimum": 5, "opted_out_percent": 20}}), 0, 12)
		for n := 5; n < 9; n++ {
			w.says(number(n), "refused")
		}
		w.surveyCommand("s", "launch")
		w.endNext("completed", "completed", "completed", "completed", "completed")
		w.until("those who refused are given up", func() bool { return w.respondent("s", ids[8])["opted_out"] == true })
		if got := w.surveyState("s"); got != "running" {
			t.Errorf("refusals from elsewhere make it %s", got)
		}
		w.reportDisposition("s", ids[0], fields{"stop": true})
		w.receiveMessage("texts", strings.TrimPrefix(number(1), "+"), "stop")
		w.until("the survey is paused", func() bool { return w.surveyState("s") == "paused" })
		if b, _ := w.want(http.StatusOK, "GET", "/v1/surveys/s", nil).Body["braked"].(map[string]any); b["cause"] != "opted_out" || b["count"] != 2.0 {
			t.Errorf("it is %v", b)
		}
		w.pass(time.Minute)
		w.expectNoFaults()
	})
}

// Scenario 333: what is wrong with a brake is named all at once, and nothing changes.
func TestBrake_MistakesAreNamedAllAtOnce(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		bad := fields{"over": 5, "minimum": 0, "opted_out_percent": 100, "failed_percent": "many", "reasons": fields{"a/b": 0}, "what": 1}
		want := "/brake/failed_percent /brake/minimum /brake/opted_out_percent /brake/over /brake/what /brake/reasons/a~1b"
		pointers := func(a answer) string {
			var list []string
			for _, f := range a.Body["errors"].([]any) {
				list = append(list, f.(map[string]any)["pointer"].(string))
			}
			return strings.Join(list, " ")
		}
		settings := fields{"type": "lab", "settings": fields{}}
		with := func(body fields, brake any) fields {
			out := fields{"brake": brake}
			for k, v := range body {
				out[k] = v
			}
			return out
		}
		if got := pointers(w.want(http.StatusUnprocessableEntity, "PUT", "/v1/channels/texts", with(settings, bad))); got != want {
			t.Errorf("a channel: %s", got)
		}
		w.channel("texts", 1, fields{"brake": fields{"failed_percent": 20, "opted_out_percent": 5}})
		if got := pointers(w.want(http.StatusUnprocessableEntity, "PATCH", "/v1/channels/texts", fields{"brake": bad})); got != want {
			t.Errorf("a channel's patch: %s", got)
		}
		for text, brake := range map[string]any{
			"/brake": fields{"failed_percent": nil, "opted_out_percent": nil}, "/brake/minimum": fields{"minimum": 101},
		} {
			if got := pointers(w.want(http.StatusUnprocessableEntity, "PATCH", "/v1/channels/texts", fields{"brake": brake})); got != text {
				t.Errorf("%v: %s", brake, got)
			}
		}
		if got := pointers(w.want(http.StatusUnprocessableEntity, "PATCH", "/v1/channels/texts", fields{"brake": 5})); got != "/brake" {
			t.Errorf("no object: %s", got)
		}
		w.want(http.StatusOK, "PATCH", "/v1/channels/texts", fields{"brake": fields{"failed_percent": nil, "over": 50}})
		if got := w.want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body["brake"]; fmt.Sprint(got) != "map[opted_out_percent:5 over:50]" {
			t.Errorf("it is %v", got)
		}
		if got := pointers(w.want(http.StatusUnprocessableEntity, "PUT", "/v1/surveys/s", with(bySMS(""), bad))); got != want {
			t.Errorf("a survey: %s", got)
		}
		w.createSurvey("s", with(bySMS(""), fields{"failed_percent": 20}), 0, 1)
		if got := pointers(w.want(http.StatusUnprocessableEntity, "PATCH", "/v1/surveys/s", fields{"brake": bad})); got != want {
			t.Errorf("a survey's patch: %s", got)
		}
		if got := w.want(http.StatusOK, "GET", "/v1/surveys/s", nil).Body["brake"]; fmt.Sprint(got) != "map[failed_percent:20]" {
			t.Errorf("the survey's is %v", got)
		}
	})
}
