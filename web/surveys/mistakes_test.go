package surveys_test

import (
	"slices"
	"testing"

	"weir/web/webtest"
)

// Scenario 99: all errors of a survey are reported at once, whichever layer
// finds them.
func TestSurvey_EveryMistakeIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	const body = `{"colour":"red",
		"schedule":{"time_zone":"Mars/Base","weekdays":["mon"],"windows":[{"from":"nine","to":"18:00"}],"until":1},
		"modes":{"sms":{"channel":"texts","retries":"0m"},"fax":{"channel":"x"},"ivr":{"channel":7}},
		"arms":[{"modes":["sms"],"ratio":50},{"modes":["sms"],"ratio":40}],
		"questionnaires":{"q":{"sms":[{"messages":["{{Bad}}"]}]}},
		"cutoff":"many","weight":5000,"region":"XX","fallback_delay":"soon",
		"quotas":[{"where":{"age":{"from":1,"to":20}},"quota":-1},{"where":{"age":{"from":1,"to":9}},"quota":1},{"where":{"age":{"from":5,"to":20}},"quota":1}],
		"application":{"url":"ftp://x"}}`
	want := []webtest.Mistake{
		{Pointer: "/colour", Code: "unknown"}, {Pointer: "/schedule/until", Code: "unknown"}, {Pointer: "/modes/ivr/channel", Code: "type"}, {Pointer: "/cutoff", Code: "type"},
		{Pointer: "/schedule/time_zone", Code: "unknown"}, {Pointer: "/schedule/windows/0/from", Code: "format"}, {Pointer: "/modes/sms/retries", Code: "format"}, {Pointer: "/modes/fax", Code: "unknown"},
		{Pointer: "/arms", Code: "range"}, {Pointer: "/arms/1", Code: "duplicate"}, {Pointer: "/questionnaires/q/sms/0/messages/0", Code: "format"}, {Pointer: "/weight", Code: "range"}, {Pointer: "/region", Code: "unknown"},
		{Pointer: "/fallback_delay", Code: "format"}, {Pointer: "/quotas/0/quota", Code: "range"}, {Pointer: "/quotas/2", Code: "overlap"}, {Pointer: "/application/url", Code: "format"},
	}
	put := webtest.MistakesOf(t, r.Do("PUT", "/v1/surveys/s1", body))
	for i, m := range put {
		if !slices.Contains(want, m) || slices.Contains(put[:i], m) {
			t.Errorf("PUT: %v is too much", m)
		}
	}
	r.Put("s1", "")
	patch := webtest.MistakesOf(t, r.Do("PATCH", "/v1/surveys/s1", body))
	for _, m := range want {
		if !slices.Contains(put, m) || !slices.Contains(patch, m) {
			t.Errorf("%v is missing", m)
		}
	}
	r.Put("s2", `"region":"MX",`)
	g := r.Do("POST", "/v1/surveys/s2/respondents", `{"respondents":[{"phone":"nonsense","attributes":{"Bad":"x"}},{"telephone":"1"},{"phone":7}]}`)
	for _, m := range []webtest.Mistake{{Pointer: "/respondents/0/phone", Code: "format"}, {Pointer: "/respondents/1/telephone", Code: "unknown"}, {Pointer: "/respondents/1/phone", Code: "required"}, {Pointer: "/respondents/2/phone", Code: "type"}} {
		if got := webtest.MistakesOf(t, g); !slices.Contains(got, m) {
			t.Errorf("respondents: %v is missing of %v", m, got)
		}
	}
}
