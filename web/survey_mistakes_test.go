package web_test

import (
	"slices"
	"testing"
)

// Scenario 99: all errors of a survey are reported at once, whichever layer
// finds them.
func TestSurvey_EveryMistakeIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const body = `{"colour":"red",
		"schedule":{"time_zone":"Mars/Base","weekdays":["mon"],"windows":[{"from":"nine","to":"18:00"}],"until":1},
		"modes":{"sms":{"channel":"texts","retries":"0m"},"fax":{"channel":"x"},"ivr":{"channel":7}},
		"arms":[{"modes":["sms"],"ratio":50},{"modes":["sms"],"ratio":40}],
		"questionnaires":{"q":{"sms":[{"messages":["{{Bad}}"]}]}},
		"cutoff":"many","weight":5000,"region":"XX","fallback_delay":"soon",
		"quotas":[{"where":{"age":{"from":1,"to":20}},"quota":-1},{"where":{"age":{"from":1,"to":9}},"quota":1},{"where":{"age":{"from":5,"to":20}},"quota":1}],
		"application":{"url":"ftp://x"}}`
	want := []mistake{
		{"/colour", "unknown"}, {"/schedule/until", "unknown"}, {"/modes/ivr/channel", "type"}, {"/cutoff", "type"},
		{"/schedule/time_zone", "unknown"}, {"/schedule/windows/0/from", "format"}, {"/modes/sms/retries", "format"}, {"/modes/fax", "unknown"},
		{"/arms", "range"}, {"/arms/1", "duplicate"}, {"/questionnaires/q/sms/0/messages/0", "format"}, {"/weight", "range"}, {"/region", "unknown"},
		{"/fallback_delay", "format"}, {"/quotas/0/quota", "range"}, {"/quotas/2", "overlap"}, {"/application/url", "format"},
	}
	put := mistakesOf(t, r.do("PUT", "/v1/surveys/s1", body))
	for i, m := range put {
		if !slices.Contains(want, m) || slices.Contains(put[:i], m) {
			t.Errorf("PUT: %v is too much", m)
		}
	}
	r.put("s1", "")
	patch := mistakesOf(t, r.do("PATCH", "/v1/surveys/s1", body))
	for _, m := range want {
		if !slices.Contains(put, m) || !slices.Contains(patch, m) {
			t.Errorf("%v is missing", m)
		}
	}
	r.put("s2", `"region":"MX",`)
	g := r.do("POST", "/v1/surveys/s2/respondents", `{"respondents":[{"phone":"nonsense","attributes":{"Bad":"x"}},{"telephone":"1"},{"phone":7}]}`)
	for _, m := range []mistake{{"/respondents/0/phone", "format"}, {"/respondents/1/telephone", "unknown"}, {"/respondents/1/phone", "required"}, {"/respondents/2/phone", "type"}} {
		if got := mistakesOf(t, g); !slices.Contains(got, m) {
			t.Errorf("respondents: %v is missing of %v", m, got)
		}
	}
}
