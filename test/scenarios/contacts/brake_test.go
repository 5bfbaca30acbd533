package contacts_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// failing is a brake that acts when more than a fifth of 10 contacts failed.
func failing() world.Fields { return world.Fields{"over": 10, "minimum": 5, "failed_percent": 20} }

// endNext waits until the next of a channel's contacts are sent, one after the other, and ends them.
func endNext(w *world.World, outcomes ...string) {
	w.Helper()
	for _, o := range outcomes {
		key := ""
		w.Until("another contact is sent", func() bool {
			keys := w.Lab.SentKeys()
			if len(keys) > w.Ended {
				key = keys[w.Ended]
			}
			return key != ""
		})
		w.Ended++
		if status := w.Report(key, "all", o); status != http.StatusOK {
			w.Fatalf("the callback of %s was answered %d", key, status)
		}
	}
}

// Scenario 330: a channel pauses itself, stays paused after a crash, and goes on when it is resumed.
func TestBrake_AChannelPausesItself(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 1, world.Fields{"brake": failing()})
		w.Accept("texts", world.Many("k", 30)...)
		endNext(w, "failed", "completed", "completed", "failed", "completed")
		const text = "paused itself: 2 of the last 5 contacts failed, the bound is 20 %"
		shows := func(when string) {
			t.Helper()
			ch := w.Want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body
			braked, _ := ch["braked"].(map[string]any)
			if ch["paused"] != true || braked["text"] != text || braked["touched"] != 5.0 || ch["state"] != "paused" || ch["state_reason"] != text ||
				ch["why"] != "channel texts "+text || ch["why_code"] != "braked" {
				t.Errorf("%s the channel is %v", when, ch)
			}
		}
		w.Until("the channel is paused", func() bool {
			return w.Want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body["braked"] != nil
		})
		channelBecause(w, "texts", "braked")
		shows("braked")
		w.Until("it is counted", func() bool { return w.Metric("weir_brakes_total", "kind", "channel", "cause", "failed") == 1 })
		list := w.PublishedEvents("weir.channel.braked")
		if len(list) != 1 || list[0]["channel"] != "texts" || list[0]["text"] != text || list[0]["cause"] != "failed" || list[0]["count"] != 2.0 {
			t.Errorf("the events are %v", list)
		}
		w.Sent(5)
		w.Restart()
		w.Sent(5)
		shows("after a crash")
		// Another change does not release it; a resume does, and the count begins anew.
		w.Want(http.StatusOK, "PATCH", "/v1/channels/texts", world.Fields{"capacity": 1, "name": "Texts"})
		shows("after a change")
		w.Sent(5)
		w.Want(http.StatusOK, "PATCH", "/v1/channels/texts", world.Fields{"paused": false})
		endNext(w, "failed", "failed", "failed", "failed")
		ch := w.Want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body
		if ch["paused"] != false || ch["braked"] != nil || fmt.Sprint(ch["brake_count"]) != "map[failed:4 of:4 opted_out:0 touched:4]" {
			t.Errorf("resumed it is %v", ch)
		}
		endNext(w, "failed")
		w.Until("it pauses itself again", func() bool {
			return w.Want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body["braked"] != nil
		})
		w.Sent(10)
		// An operator's own pause and resume are none of the brake's.
		w.Want(http.StatusOK, "PATCH", "/v1/channels/texts", world.Fields{"paused": false, "brake": nil})
		endNext(w, "failed", "failed", "failed", "failed", "failed", "failed")
		w.Sent(17)
	})
}

// Scenario 331: stop words of people count as opt-outs of the channel, each person once.
func TestBrake_AChannelPausesItselfWhenPeopleOptOut(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 1, world.Fields{"brake": world.Fields{"over": 10, "minimum": 5, "opted_out_percent": 20}})
		list := world.Many("k", 9, world.Fields{"to": "+15550199"})
		list[0]["to"], list[5]["to"] = "+15550100", "+15550101" // who is contacted when the stop word comes
		w.Accept("texts", list...)
		endNext(w, "completed", "completed", "completed", "completed", "completed")
		for _, text := range []string{"stop", "STOP", "Stop!"} {
			w.ReceiveMessage("texts", "15550100", text)
		}
		w.ReceiveMessage("texts", "15550101", "hello")
		w.Sent(6)
		if w.Want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body["braked"] != nil {
			t.Error("it acted on one person")
		}
		w.ReceiveMessage("texts", "15550101", "stop")
		w.Until("the channel is paused", func() bool {
			return w.Want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body["braked"] != nil
		})
		braked := w.Want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body["braked"].(map[string]any)
		if braked["cause"] != "opted_out" || braked["count"] != 2.0 || braked["of"] != 5.0 {
			t.Errorf("it is %v", braked)
		}
		endNext(w, "completed")
		w.Sent(6)
	})
}

// Scenario 394: telephones that the channel has not contacted, or has only answered, stop nothing with stop words,
// however often they send them.
func TestBrake_StrangersPauseNoChannel(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 1, world.Fields{"brake": world.Fields{"over": 10, "minimum": 5, "opted_out_percent": 20}})
		w.Want(http.StatusCreated, "PUT", "/v1/purposes/default", world.Fields{"help": "We are Weir.", "confirmation": "You get no more."})
		w.Accept("texts", world.Many("k", 12, world.Fields{"to": "+15550199"})...)
		endNext(w, "completed", "completed", "completed", "completed", "completed")
		for range 3 {
			for n := range 4 {
				for _, word := range []string{"help", "stop", "start"} {
					w.ReceiveMessage("texts", fmt.Sprint("1555020", n), word)
				}
			}
		}
		endNext(w, "completed", "completed", "completed")
		w.Until("it is counted", func() bool {
			return strings.Contains(fmt.Sprint(w.Want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body["brake_count"]), "of:8 opted_out:0")
		})
		if ch := w.Want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body; ch["braked"] != nil {
			t.Errorf("it is %v", ch["braked"])
		}
	})
}

// Scenario 332: a survey pauses itself as by an operator, stays paused after a crash, and goes on when it is resumed.
func TestBrake_ASurveyPausesItself(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 1)
		ids := w.LaunchSurvey("s", world.BySMS("", world.Fields{"brake": world.Fields{"over": 10, "minimum": 5, "reasons": world.Fields{"number not usable": 20}, "failed_percent": 20}}), 0, 40)
		if len(ids) != 40 {
			t.Fatal(ids)
		}
		endNext(w, "completed", "failed", "completed", "completed", "failed")
		w.Until("the survey is paused", func() bool { return w.SurveyState("s") == "paused" })
		const text = "paused itself: 2 of the last 5 contacts failed, the bound is 20 %"
		shows := func(when string) {
			t.Helper()
			s := w.Want(http.StatusOK, "GET", "/v1/surveys/s", nil).Body
			braked, _ := s["braked"].(map[string]any)
			if s["state"] != "paused" || braked["text"] != text || s["why"] != "the survey "+text || s["why_code"] != "braked" {
				t.Errorf("%s the survey is %v", when, s)
			}
		}
		w.SurveyBecause("s", "braked", text)
		shows("braked")
		if n := w.Metric("weir_brakes_total", "kind", "survey", "cause", "failed"); n != 1 {
			t.Errorf("it is counted %v times", n)
		}
		if list := w.PublishedEvents("weir.survey.braked"); len(list) != 1 || list[0]["survey"] != "s" || list[0]["text"] != text {
			t.Errorf("the events are %v", list)
		}
		w.Until("what waited is taken back", func() bool { return w.Figure("texts", "queued") == 0 })
		sent := len(w.Lab.SentKeys())
		w.Restart()
		shows("after a crash")
		for ; w.Ended < sent; w.Ended++ { // what was in flight
			w.Report(w.Lab.SentKeys()[w.Ended], "all", "completed")
		}
		w.Sent(sent)
		w.SurveyCommand("s", "resume")
		endNext(w, "failed", "failed", "failed", "failed")
		if s := w.Want(http.StatusOK, "GET", "/v1/surveys/s", nil).Body; s["state"] != "running" || s["braked"] != nil {
			t.Errorf("resumed it is %v", s)
		}
		// Its bound may change while it runs.
		w.Want(http.StatusOK, "PATCH", "/v1/surveys/s", world.Fields{"brake": world.Fields{"failed_percent": 90, "reasons": nil}})
		endNext(w, "failed", "completed", "failed", "failed", "failed")
		if got := w.SurveyState("s"); got != "running" {
			t.Errorf("with a higher bound it is %s", got)
		}
		w.ExpectNoFaults()
	})
}

// Scenario 332: respondents who opt out in their conversations count, and those who had refused elsewhere do not.
func TestBrake_ASurveyPausesItselfWhenRespondentsOptOut(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("texts", 1)
		ids := w.CreateSurvey("s", world.BySMS("", world.Fields{"brake": world.Fields{"over": 10, "minimum": 5, "opted_out_percent": 20}}), 0, 12)
		for n := 5; n < 9; n++ {
			w.Says(world.Number(n), "refused")
		}
		w.SurveyCommand("s", "launch")
		endNext(w, "completed", "completed", "completed", "completed", "completed")
		w.Until("those who refused are given up", func() bool { return w.Respondent("s", ids[8])["opted_out"] == true })
		if got := w.SurveyState("s"); got != "running" {
			t.Errorf("refusals from elsewhere make it %s", got)
		}
		for n := 10; n < 12; n++ { // whose turn has not come
			w.ReceiveMessage("texts", strings.TrimPrefix(world.Number(n), "+"), "stop")
		}
		w.Pass(time.Minute)
		if got := w.SurveyState("s"); got != "running" {
			t.Errorf("refusals of respondents who were not contacted make it %s", got)
		}
		w.ReportDisposition("s", ids[0], world.Fields{"stop": true})
		w.ReceiveMessage("texts", strings.TrimPrefix(world.Number(1), "+"), "stop")
		w.Until("the survey is paused", func() bool { return w.SurveyState("s") == "paused" })
		if b, _ := w.Want(http.StatusOK, "GET", "/v1/surveys/s", nil).Body["braked"].(map[string]any); b["cause"] != "opted_out" || b["count"] != 2.0 {
			t.Errorf("it is %v", b)
		}
		w.Pass(time.Minute)
		w.ExpectNoFaults()
	})
}

// Scenario 333: what is wrong with a brake is named all at once, and nothing changes.
func TestBrake_MistakesAreNamedAllAtOnce(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		bad := world.Fields{"over": 5, "minimum": 0, "opted_out_percent": 100, "failed_percent": "many", "reasons": world.Fields{"a/b": 0}, "what": 1}
		want := "/brake/failed_percent /brake/minimum /brake/opted_out_percent /brake/over /brake/what /brake/reasons/a~1b"
		pointers := func(a world.Answer) string {
			var list []string
			for _, f := range a.Body["errors"].([]any) {
				list = append(list, f.(map[string]any)["pointer"].(string))
			}
			return strings.Join(list, " ")
		}
		settings := world.Fields{"type": "lab", "settings": world.Fields{}}
		with := func(body world.Fields, brake any) world.Fields {
			out := world.Fields{"brake": brake}
			for k, v := range body {
				out[k] = v
			}
			return out
		}
		if got := pointers(w.Want(http.StatusUnprocessableEntity, "PUT", "/v1/channels/texts", with(settings, bad))); got != want {
			t.Errorf("a channel: %s", got)
		}
		w.Channel("texts", 1, world.Fields{"brake": world.Fields{"failed_percent": 20, "opted_out_percent": 5}})
		if got := pointers(w.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/channels/texts", world.Fields{"brake": bad})); got != want {
			t.Errorf("a channel's patch: %s", got)
		}
		for text, brake := range map[string]any{
			"/brake": world.Fields{"failed_percent": nil, "opted_out_percent": nil}, "/brake/minimum": world.Fields{"minimum": 101},
		} {
			if got := pointers(w.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/channels/texts", world.Fields{"brake": brake})); got != text {
				t.Errorf("%v: %s", brake, got)
			}
		}
		if got := pointers(w.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/channels/texts", world.Fields{"brake": 5})); got != "/brake" {
			t.Errorf("no object: %s", got)
		}
		w.Want(http.StatusOK, "PATCH", "/v1/channels/texts", world.Fields{"brake": world.Fields{"failed_percent": nil, "over": 50}})
		if got := w.Want(http.StatusOK, "GET", "/v1/channels/texts", nil).Body["brake"]; fmt.Sprint(got) != "map[opted_out_percent:5 over:50]" {
			t.Errorf("it is %v", got)
		}
		if got := pointers(w.Want(http.StatusUnprocessableEntity, "PUT", "/v1/surveys/s", with(world.BySMS(""), bad))); got != want {
			t.Errorf("a survey: %s", got)
		}
		w.CreateSurvey("s", with(world.BySMS(""), world.Fields{"failed_percent": 20}), 0, 1)
		if got := pointers(w.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/surveys/s", world.Fields{"brake": bad})); got != want {
			t.Errorf("a survey's patch: %s", got)
		}
		if got := w.Want(http.StatusOK, "GET", "/v1/surveys/s", nil).Body["brake"]; fmt.Sprint(got) != "map[failed_percent:20]" {
			t.Errorf("the survey's is %v", got)
		}
	})
}
