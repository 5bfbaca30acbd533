package dashboard_test

import (
	"fmt"
	"net/url"
	"testing"
)

// paint adds hours of a day to a form.
func paint(form url.Values, day string, hours ...int) {
	for _, hour := range hours {
		form.Add("week", fmt.Sprintf("%s-%02d", day, hour))
	}
}

// Scenario 353.
func TestSurveyForm_PaintsAWeek(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	b := r.login("admin")
	b.get("/surveys/_new").want(200).has(`id="as-week" name="schedule_as" value="week" checked`, `id="week-mon-09" name="week" value="mon-09" aria-label="Monday 09:00" checked`, `id="week-mon-18" name="week" value="mon-18" aria-label="Monday 18:00">`)
	form := filledSurvey()
	form.Set("schedule_as", "week")
	for _, mistake := range []struct {
		day   string
		hours []int
		text  string
	}{
		{"mon", nil, "Paint at least one hour."},
		{"mon", []int{9, 10, 14, 23}, ""},
		{"thu", []int{9, 10, 14, 23}, ""},
		{"fri", []int{9}, "A survey has the same hours on each of its days, but Monday, Thursday have 09:00 to 11:00 and 14:00 to 15:00 and 23:00 to 24:00; Friday has 09:00 to 10:00."},
	} {
		paint(form, mistake.day, mistake.hours...)
		if mistake.text == "" {
			continue
		}
		form.Set("cutoff", "many")
		p := b.post("/surveys/_new", form).want(422).has(`id="week-wrong"`, mistake.text, `id="cutoff-wrong"`).hasNot(`id="windows-wrong"`)
		if len(mistake.hours) > 0 {
			p.has(`value="fri-09" aria-label="Friday 09:00" checked`, `value="thu-23" aria-label="Thursday 23:00" checked`)
		}
		r.api("GET", "/v1/surveys", "", nil)
		b.get("/surveys/flu").want(404)
	}
	form.Set("cutoff", "20")
	paint(form, "fri", 10, 14, 23)
	b.post("/surveys/_new", form).want(303)
	sameJSON(t, r.definitionOf("flu")["schedule"], `{"time_zone":"Africa/Nairobi","weekdays":["mon","thu","fri"],"windows":[{"from":"09:00","to":"11:00"},{"from":"14:00","to":"15:00"},{"from":"23:00","to":"24:00"}],"blocked_days":["2026-12-25","2026-12-26"],"end_date":"2099-12-31"}`)
	same := b.get("/surveys/flu/edit").want(200).has(`id="week-fri-23" name="week" value="fri-23" aria-label="Friday 23:00" checked`).formOf()
	same.Set("title", "Other")
	before := r.definitionOf("flu")["schedule"]
	b.post("/surveys/flu/edit", same).want(303)
	if after := r.definitionOf("flu"); fmt.Sprint(after["schedule"]) != fmt.Sprint(before) || after["title"] != "Other" {
		t.Errorf("%v", after)
	}
}

// A schedule that is not of whole hours is shown in its exact times, and is not rounded.
func TestSurveyForm_KeepsTimesToTheMinute(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	b := r.login("admin")
	form := filledSurvey()
	form.Set("window_1_from", "09:30")
	form.Set("schedule_as", "times")
	b.post("/surveys/_new", form).want(303)
	again := b.get("/surveys/flu/edit").want(200).has(`id="as-times" name="schedule_as" value="times" checked`, `id="week-mon-10" name="week" value="mon-10" aria-label="Monday 10:00" checked`, `id="week-mon-09" name="week" value="mon-09" aria-label="Monday 09:00">`).formOf()
	before := r.definitionOf("flu")["schedule"]
	again.Set("title", "Other")
	b.post("/surveys/flu/edit", again).want(303)
	if after := r.definitionOf("flu")["schedule"]; fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%v, before %v", after, before)
	}
}
