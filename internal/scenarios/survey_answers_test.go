package scenarios_test

import (
	"testing"
	"time"
)

// quotasBySex returns a survey with quotas on an answer that no respondent has given
// before the launch.
func quotasBySex(each int, more ...fields) fields {
	body := bySMS("1h", fields{"quotas": []fields{
		{"where": fields{"sex": fields{"in": []string{"f"}}}, "quota": each},
		{"where": fields{"sex": fields{"in": []string{"m"}}}, "quota": each},
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
	onSurveys(t, func(w *world) {
		w.channel("texts", 20)
		ids := w.createSurvey("s", quotasBySex(1, fields{"application": fields{"url": "http://app.test/"}}), 0, 4)
		if a := w.want(200, "POST", "/v1/surveys/s:launch", nil).Body; a["warnings"] != nil {
			t.Errorf("with an application the launch warns: %v", a["warnings"])
		}
		w.sent(2)
		for i, sex := range []string{"F", "m"} {
			w.reportDisposition("s", ids[i], fields{"disposition": "completed", "answers": fields{"sex": sex}})
			if p := w.respondent("s", ids[i]); p["bucket"] != float64(i) || p["counted"] != true {
				t.Errorf("who answers %s: bucket %v, counted %v", sex, p["bucket"], p["counted"])
			}
		}
		w.until("the survey is done", func() bool { return w.surveyState("s") == "done reached" })

		w.createSurvey("alone", quotasBySex(1), 100, 1)
		warnings, _ := w.want(200, "POST", "/v1/surveys/alone:launch", nil).Body["warnings"].([]any)
		if len(warnings) != 2 || warnings[0].(map[string]any)["pointer"] != "/quotas/0/where/sex" {
			t.Errorf("without an application the launch warns of %v", warnings)
		}
		w.expectNoFaults()
	})
}

// Scenario 92: the bucket is full when an answer decides it. The question that the
// application wanted to ask is not sent; the survey's own message is, once, and the
// application gets a notice in the response and an event.
func TestSurveyAnswers_FullQuotaEndsTheConversation(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 20)
		ids := w.launchSurvey("s", quotasBySex(1, fields{"application": fields{"url": "http://app.test/"}, "quota_message": "{{respondent}} is not needed"}), 0, 8)
		silent := w.launchSurvey("silent", quotasBySex(1), 100, 8)
		w.sent(4)
		for survey, ids := range map[string][]string{"s": ids, "silent": silent} {
			w.reportDisposition(survey, ids[0], fields{"disposition": "completed", "answers": fields{"sex": "f"}})
			for range 2 { // the response to the first request may be lost
				got := w.reportDisposition(survey, ids[1], fields{"disposition": "started", "answers": fields{"sex": "f"}, "messages": []string{survey + " next question"}, "key": "q2"})
				if got["status"] != "rejected" || got["disposition"] != "rejected" || got["messages_withheld"] != true {
					t.Errorf("%s: the application hears %v", survey, got)
				}
			}
			if got := w.reportDisposition(survey, ids[1], fields{"messages": []string{survey + " another question"}}); got["messages_withheld"] != true {
				t.Errorf("%s: after the end the application hears %v", survey, got)
			}
		}
		w.speaks(ids[1] + " is not needed")
		w.waitIdle()
		for _, text := range []string{"s next question", "s another question", "silent next question", silent[1] + " is not needed"} {
			if n := w.sends(text); n != 0 {
				t.Errorf("%q was sent %d times", text, n)
			}
		}
		if n := w.sends(ids[1] + " is not needed"); n != 1 {
			t.Errorf("the quota message was sent %d times", n)
		}
		told := 0
		for _, e := range w.publishedEvents("weir.survey.respondent") {
			if e["respondent"] == ids[1] && e["status"] == "rejected" {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%d events say that the respondent is rejected", told)
		}
		got := w.reportDisposition("silent", silent[1], fields{"disposition": "rejected", "messages": []string{"goodbye"}, "key": "bye"})
		if got["messages_withheld"] != nil {
			t.Errorf("an application that reports the rejection itself hears %v", got)
		}
		w.speaks("goodbye")
		w.expectNoFaults()
	})
}

// Scenario 93: a respondent counts once in the bucket, whether the bucket or the
// result is known first.
func TestSurveyAnswers_CountOnceInTheirBucket(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 20)
		ids := w.launchSurvey("s", quotasBySex(2, fields{"count_partial": true, "application": fields{"url": "http://app.test/"}}), 0, 8)
		w.sent(4)
		quota := func() (f, counted float64) {
			a := w.want(200, "GET", "/v1/surveys/s/stats", nil).Body
			return a["quotas"].([]any)[0].(map[string]any)["counted"].(float64), a["counted"].(float64)
		}
		want := func(what string, inQuota, inAll float64) {
			t.Helper()
			if f, all := quota(); f != inQuota || all != inAll {
				t.Errorf("%s: %v in the quota, %v in all; want %v and %v", what, f, all, inQuota, inAll)
			}
		}
		w.reportDisposition("s", ids[0], fields{"disposition": "interim partial"})
		want("partial, sex unknown", 0, 1)
		w.reportDisposition("s", ids[0], fields{"answers": fields{"sex": "f"}})
		want("partial, sex known", 1, 1)
		w.reportDisposition("s", ids[0], fields{"disposition": "completed"})
		want("completed", 1, 1)
		w.reportDisposition("s", ids[1], fields{"disposition": "completed"})
		want("another completed, sex unknown", 1, 2)
		w.reportDisposition("s", ids[1], fields{"answers": fields{"sex": "f"}})
		want("another completed, sex known", 2, 2)
		w.reportDisposition("s", ids[2], fields{"disposition": "interim partial"})
		if got := w.reportDisposition("s", ids[2], fields{"answers": fields{"sex": "f"}}); got["status"] != "rejected" || got["counted"] != false {
			t.Errorf("an interim partial whose quota is full: %v", got)
		}
		want("a third", 2, 2)
		w.expectNoFaults()
	})
}

// Scenario 94: where partial respondents count, the pacing treats them as successes:
// as many respondents are active as are still needed.
func TestSurveyAnswers_PartialsAreSuccessesWhereTheyCount(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("texts", 100)
		ids := w.launchSurvey("s", bySMS("", fields{"cutoff": 20, "count_partial": true}), 0, 100)
		w.expectCounts("s", "map[active:20 pending:80]")
		for _, id := range ids[:10] {
			w.reportDisposition("s", id, fields{"disposition": "partial"})
		}
		w.expectCounts("s", "map[active:10 completed:10 pending:80]")
		for _, id := range ids[10:18] {
			w.reportDisposition("s", id, fields{"disposition": "interim partial"})
		}
		w.expectCounts("s", "map[active:10 completed:10 pending:80]")
		if a := w.want(200, "GET", "/v1/surveys/s/stats", nil).Body; a["success_rate"] != 1.0 || a["counted"] != 18.0 {
			t.Errorf("stats: %v", a)
		}
	})
}

// Scenario 95: active respondents of a full quota are not retried and end as rejected,
// also after an interim partial that does not count.
func TestSurveyAnswers_FullQuotaEndsTheActive(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("texts", 100)
		w.createSurvey("s", quotasBySex(1, fields{"initial_success_rate": 0.1}), 0, 0)
		var list []fields
		for i := range 6 {
			list = append(list, fields{"phone": number(i), "attributes": fields{"sex": []string{"f", "m"}[i/4]}})
		}
		ids := w.addRespondents("s", list...)
		w.surveyCommand("s", "launch")
		w.expectCounts("s", "map[active:6]")
		w.reportDisposition("s", ids[0], fields{"disposition": "completed"})
		if got := w.reportDisposition("s", ids[1], fields{"disposition": "interim partial", "messages": []string{"next"}}); got["status"] != "rejected" {
			t.Errorf("an interim partial in a full quota: %v", got)
		}
		for _, id := range ids[1:] {
			w.finish(textKey("s", id, 1))
		}
		w.pass(2 * time.Hour)
		for i, want := range []string{"completed, completed", "rejected, rejected", "rejected, rejected", "rejected, rejected", "active, contacted", "active, contacted"} {
			if got := w.respondentState("s", ids[i]); got != want {
				t.Errorf("respondent %d is %s, want %s", i, got, want)
			}
			if n, want := w.sends(textKey("s", ids[i], 2)), map[bool]int{true: 1}[i > 3]; n != want {
				t.Errorf("respondent %d was tried again %d times, want %d", i, n, want)
			}
		}
		w.expectNoFaults()
	})
}
