package surveys_test

import (
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// quotasBySex returns a survey with quotas on an answer that no respondent has given
// before the launch.
func quotasBySex(each int, more ...world.Fields) world.Fields {
	body := world.BySMS("1h", world.Fields{"quotas": []world.Fields{
		{"where": world.Fields{"sex": world.Fields{"in": []string{"f"}}}, "quota": each},
		{"where": world.Fields{"sex": world.Fields{"in": []string{"m"}}}, "quota": each},
	}})
	for _, m := range more {
		for k, v := range m {
			body[k] = v
		}
	}
	return body
}

// Scenario 91: quotas on answers. With an application the attributes may be set
// later and the launch does not warn; without an application it does.
func TestSurveyAnswers_QuotasMayCountAnswers(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 20)
		ids := w.CreateSurvey("s", quotasBySex(1, world.Fields{"application": world.Fields{"url": "http://app.test/"}}), 0, 4)
		if a := w.Want(200, "POST", "/v1/surveys/s:launch", nil).Body; a["warnings"] != nil {
			t.Errorf("with an application the launch warns: %v", a["warnings"])
		}
		w.Sent(2)
		for i, sex := range []string{"F", "m"} {
			w.ReportDisposition("s", ids[i], world.Fields{"disposition": "completed", "answers": world.Fields{"sex": sex}})
			if p := w.Respondent("s", ids[i]); p["bucket"] != float64(i) || p["counted"] != true {
				t.Errorf("who answers %s: bucket %v, counted %v", sex, p["bucket"], p["counted"])
			}
		}
		w.Until("the survey is done", func() bool { return w.SurveyState("s") == "done reached" })

		w.CreateSurvey("alone", quotasBySex(1), 100, 1)
		warnings, _ := w.Want(200, "POST", "/v1/surveys/alone:launch", nil).Body["warnings"].([]any)
		if len(warnings) != 2 || warnings[0].(map[string]any)["pointer"] != "/quotas/0/where/sex" {
			t.Errorf("without an application the launch warns of %v", warnings)
		}
		w.ExpectNoFaults()
	})
}

// Scenario 92: the bucket is full when an answer decides it. The question that the
// application wanted to ask is not sent; the survey's own message is, once, and the
// application gets a notice in the response and an event.
func TestSurveyAnswers_FullQuotaEndsTheConversation(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 20)
		ids := w.LaunchSurvey("s", quotasBySex(1, world.Fields{"application": world.Fields{"url": "http://app.test/"}, "quota_message": "{{respondent}} is not needed"}), 0, 8)
		silent := w.LaunchSurvey("silent", quotasBySex(1), 100, 8)
		w.Sent(4)
		for survey, ids := range map[string][]string{"s": ids, "silent": silent} {
			w.ReportDisposition(survey, ids[0], world.Fields{"disposition": "completed", "answers": world.Fields{"sex": "f"}})
			for range 2 { // the response to the first request may be lost
				got := w.ReportDisposition(survey, ids[1], world.Fields{"disposition": "started", "answers": world.Fields{"sex": "f"}, "messages": []string{survey + " next question"}, "key": "q2"})
				if got["status"] != "rejected" || got["disposition"] != "rejected" || got["messages_withheld"] != true {
					t.Errorf("%s: the application hears %v", survey, got)
				}
			}
			if got := w.ReportDisposition(survey, ids[1], world.Fields{"messages": []string{survey + " another question"}}); got["messages_withheld"] != true {
				t.Errorf("%s: after the end the application hears %v", survey, got)
			}
		}
		w.Speaks(ids[1] + " is not needed")
		w.WaitIdle()
		for _, text := range []string{"s next question", "s another question", "silent next question", silent[1] + " is not needed"} {
			if n := w.Sends(text); n != 0 {
				t.Errorf("%q was sent %d times", text, n)
			}
		}
		if n := w.Sends(ids[1] + " is not needed"); n != 1 {
			t.Errorf("the quota message was sent %d times", n)
		}
		told := 0
		for _, e := range w.PublishedEvents("weir.survey.respondent") {
			if e["respondent"] == ids[1] && e["status"] == "rejected" {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%d events say that the respondent is rejected", told)
		}
		got := w.ReportDisposition("silent", silent[1], world.Fields{"disposition": "rejected", "messages": []string{"goodbye"}, "key": "bye"})
		if got["messages_withheld"] != nil {
			t.Errorf("an application that reports the rejection itself hears %v", got)
		}
		w.Speaks("goodbye")
		w.ExpectNoFaults()
	})
}

// Scenario 93: a respondent counts once in the bucket, whether the bucket or the
// result is known first.
func TestSurveyAnswers_CountOnceInTheirBucket(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 20)
		ids := w.LaunchSurvey("s", quotasBySex(2, world.Fields{"count_partial": true, "application": world.Fields{"url": "http://app.test/"}}), 0, 8)
		w.Sent(4)
		quota := func() (f, counted float64) {
			a := w.Want(200, "GET", "/v1/surveys/s/stats", nil).Body
			return a["quotas"].([]any)[0].(map[string]any)["counted"].(float64), a["counted"].(float64)
		}
		want := func(what string, inQuota, inAll float64) {
			t.Helper()
			if f, all := quota(); f != inQuota || all != inAll {
				t.Errorf("%s: %v in the quota, %v in all; want %v and %v", what, f, all, inQuota, inAll)
			}
		}
		w.ReportDisposition("s", ids[0], world.Fields{"disposition": "interim partial"})
		want("partial, sex unknown", 0, 1)
		w.ReportDisposition("s", ids[0], world.Fields{"answers": world.Fields{"sex": "f"}})
		want("partial, sex known", 1, 1)
		w.ReportDisposition("s", ids[0], world.Fields{"disposition": "completed"})
		want("completed", 1, 1)
		w.ReportDisposition("s", ids[1], world.Fields{"disposition": "completed"})
		want("another completed, sex unknown", 1, 2)
		w.ReportDisposition("s", ids[1], world.Fields{"answers": world.Fields{"sex": "f"}})
		want("another completed, sex known", 2, 2)
		w.ReportDisposition("s", ids[2], world.Fields{"disposition": "interim partial"})
		if got := w.ReportDisposition("s", ids[2], world.Fields{"answers": world.Fields{"sex": "f"}}); got["status"] != "rejected" || got["counted"] != false {
			t.Errorf("an interim partial whose quota is full: %v", got)
		}
		want("a third", 2, 2)
		w.ExpectNoFaults()
	})
}

// Scenario 94: where partial respondents count, the pacing treats them as successes:
// as many respondents are active as are still needed.
func TestSurveyAnswers_PartialsAreSuccessesWhereTheyCount(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("texts", 100)
		ids := w.LaunchSurvey("s", world.BySMS("", world.Fields{"cutoff": 20, "count_partial": true}), 0, 100)
		expectCounts(w, "s", "map[active:20 pending:80]")
		for _, id := range ids[:10] {
			w.ReportDisposition("s", id, world.Fields{"disposition": "partial"})
		}
		expectCounts(w, "s", "map[active:10 completed:10 pending:80]")
		for _, id := range ids[10:18] {
			w.ReportDisposition("s", id, world.Fields{"disposition": "interim partial"})
		}
		expectCounts(w, "s", "map[active:10 completed:10 pending:80]")
		if a := w.Want(200, "GET", "/v1/surveys/s/stats", nil).Body; a["success_rate"] != 1.0 || a["counted"] != 18.0 {
			t.Errorf("stats: %v", a)
		}
	})
}

// Scenario 95: active respondents of a full quota are not retried and end as rejected,
// also after an interim partial that does not count.
func TestSurveyAnswers_FullQuotaEndsTheActive(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("texts", 100)
		w.CreateSurvey("s", quotasBySex(1, world.Fields{"initial_success_rate": 0.1}), 0, 0)
		var list []world.Fields
		for i := range 6 {
			list = append(list, world.Fields{"phone": world.Number(i), "attributes": world.Fields{"sex": []string{"f", "m"}[i/4]}})
		}
		ids := w.AddRespondents("s", list...)
		w.SurveyCommand("s", "launch")
		expectCounts(w, "s", "map[active:6]")
		w.ReportDisposition("s", ids[0], world.Fields{"disposition": "completed"})
		if got := w.ReportDisposition("s", ids[1], world.Fields{"disposition": "interim partial", "messages": []string{"next"}}); got["status"] != "rejected" {
			t.Errorf("an interim partial in a full quota: %v", got)
		}
		for _, id := range ids[1:] {
			w.Finish(world.TextKey("s", id, 1))
		}
		w.Pass(2 * time.Hour)
		for i, want := range []string{"completed, completed", "rejected, rejected", "rejected, rejected", "rejected, rejected", "active, contacted", "active, contacted"} {
			if got := w.RespondentState("s", ids[i]); got != want {
				t.Errorf("respondent %d is %s, want %s", i, got, want)
			}
			if n, want := w.Sends(world.TextKey("s", ids[i], 2)), map[bool]int{true: 1}[i > 3]; n != want {
				t.Errorf("respondent %d was tried again %d times, want %d", i, n, want)
			}
		}
		w.ExpectNoFaults()
	})
}
