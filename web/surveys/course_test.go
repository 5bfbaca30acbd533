package surveys_test

import (
	"testing"
	"time"

	"weir/api"
	"weir/web/webtest"
)

// Scenario 354.
func TestCourse_ShowsDaysBesideTheForecast(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	r.Respondent("s1")
	before := r.Writes()
	v := webtest.Into[api.CourseView](t, r.Do("GET", "/v1/surveys/s1/course?time_zone=Asia/Kathmandu", ""), 200)
	if v.Survey != "s1" || v.TimeZone != "Asia/Kathmandu" || v.Started != 1 || v.Completed != 1 || len(v.Days) == 0 || v.Forecast == nil || v.Rest == nil || len(v.WeeklyHours) != 7 || len(v.WeeklyHours[0]) != 24 {
		t.Errorf("%+v", v)
	}
	if len(v.Modes) == 0 || len(v.Arms) == 0 || v.Arms[0].Started != 1 {
		t.Errorf("%+v, %+v", v.Modes, v.Arms)
	}
	some := webtest.Into[api.CourseView](t, r.Do("GET", "/v1/surveys/s1/course?since=2030-01-01T12:00:00Z&until=2030-01-03T00:00:00Z&time_zone=UTC", ""), 200)
	if len(some.Days) != 3 || some.Days[0].Date != "2030-01-01" || some.Days[2].Date != "2030-01-03" {
		t.Errorf("%+v", some.Days)
	}
	if r.Writes() != before {
		t.Error("it has changed something")
	}
	p := r.Do("GET", "/v1/surveys/s1/course?since=2030-01-02T00:00:00Z&until=2030-01-01T00:00:00Z&time_zone=Mars", "").Problem(t)
	if p.Status != 422 || len(p.Errors) != 2 {
		t.Errorf("%+v", p)
	}
	if p := r.Do("GET", "/v1/surveys/s1/course?until="+time.Now().Format("2006"), "").Problem(t); p.Status != 422 {
		t.Errorf("%+v", p)
	}
	if p := r.Do("GET", "/v1/surveys/none/course", "").Problem(t); p.Status != 404 {
		t.Errorf("%+v", p)
	}
}
