package surveys_test

import (
	"testing"

	"weir/api"
	"weir/web/webtest"
)

func TestLaunchCheck_ShowsWhatALaunchWouldFind(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	r.Respondent("s1")
	before := r.Writes()
	v := webtest.Into[api.LaunchCheckView](t, r.Do("GET", "/v1/surveys/s1/launch-check", ""), 200)
	if v.Respondents != 1 || v.Forecast == nil || v.Forecast.Contacts != 1 || len(v.Modes) == 0 || len(v.Samples) == 0 || v.Samples[0].Phone != webtest.PhoneNumber(0) {
		t.Errorf("%+v", v)
	}
	if r.Writes() != before {
		t.Error("it has changed something")
	}
	r.Do("POST", "/v1/surveys/s1:launch", "")
	if p := r.Do("GET", "/v1/surveys/s1/launch-check", "").Problem(t); p.Status != 409 {
		t.Errorf("%+v", p)
	}
	if p := r.Do("GET", "/v1/surveys/none/launch-check", "").Problem(t); p.Status != 404 {
		t.Errorf("%+v", p)
	}
}
