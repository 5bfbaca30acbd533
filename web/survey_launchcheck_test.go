package web_test

import (
	"testing"

	"weir/surveys"
	surveyapi "weir/web/surveys"
)

func TestLaunchCheck_ShowsWhatALaunchWouldFind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("s1", "")
	r.respondent(1)
	before := r.people.writes
	v := into[surveyapi.LaunchCheckView](t, r.do("GET", "/v1/surveys/s1/launch-check", ""), 200)
	if v.Respondents != 1 || v.Forecast == nil || v.Forecast.Contacts != 1 || len(v.Modes) == 0 || len(v.Samples) == 0 || v.Samples[0].Phone != phoneNumber(0) {
		t.Errorf("%+v", v)
	}
	if r.people.writes != before {
		t.Error("it has changed something")
	}
	r.do("POST", "/v1/surveys/s1:launch", "")
	r.stands("s1", surveys.Running)
	if p := r.do("GET", "/v1/surveys/s1/launch-check", "").problem(t); p.Status != 409 {
		t.Errorf("%+v", p)
	}
	if p := r.do("GET", "/v1/surveys/none/launch-check", "").problem(t); p.Status != 404 {
		t.Errorf("%+v", p)
	}
}
