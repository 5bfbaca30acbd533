package surveys_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/surveys"
	"weir/surveys/calendar"
)

// forecastPlan is a survey by calls, then by text, from 9 to 10 every day in UTC.
func forecastPlan(t *testing.T, change func(*surveys.Definition)) *surveys.Plan {
	t.Helper()
	d := surveys.Definition{
		Schedule: calendar.ScheduleSpec{TimeZone: "UTC", Weekdays: []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, Windows: []calendar.WindowSpec{{From: "09:00", To: "10:00"}}},
		Modes:    map[surveys.Mode]surveys.ModeSpec{surveys.IVR: {Channel: "calls"}, surveys.SMS: {Channel: "texts"}},
		Arms:     []surveys.Arm{{Modes: []surveys.Mode{surveys.IVR, surveys.SMS}}},
		Questionnaires: map[string]map[surveys.Mode][]surveys.Content{"q": {
			surveys.IVR: {{Call: &weir.Call{CallbackURL: "https://x.example.org/?t={{token}}"}}}, surveys.SMS: {{Messages: []string{"Hello {{first_name}}", "and more"}}},
		}},
	}
	if change != nil {
		change(&d)
	}
	plan, wrong := d.Compile(surveys.Defaults{Batch: 1000, LimitPerMinute: 100})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return plan
}

func TestForecast_EndsWhenTheSlowestChannelIsThrough(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC) }
	byText := func(d *surveys.Definition) { d.Arms[0].Modes = []surveys.Mode{surveys.SMS} }
	for name, c := range map[string]struct {
		change      func(*surveys.Definition)
		respondents int
		capacity    map[string]int
		want        surveys.Forecast
	}{
		"a few":              {nil, 10, map[string]int{"calls": 10, "texts": 1}, surveys.Forecast{Contacts: 10, Open: 2 * time.Minute, Bound: "calls", EndsAt: at(2, 9, 32), Modes: []surveys.ModeUse{{"ivr", 10, 0}, {"sms", 0, 10}}}},
		"one more":           {nil, 11, map[string]int{"calls": 10, "texts": 1}, surveys.Forecast{Contacts: 11, Open: 4 * time.Minute, Bound: "calls", EndsAt: at(2, 9, 34), Modes: []surveys.ModeUse{{"ivr", 11, 0}, {"sms", 0, 11}}}},
		"into the next day":  {nil, 400, map[string]int{"calls": 20}, surveys.Forecast{Contacts: 400, Open: 40 * time.Minute, Bound: "calls", EndsAt: at(3, 9, 10), Modes: []surveys.ModeUse{{"ivr", 400, 0}, {"sms", 0, 400}}}},
		"limited per minute": {nil, 400, map[string]int{"calls": 1000}, surveys.Forecast{Contacts: 400, Open: 4 * time.Minute, EndsAt: at(2, 9, 34), Modes: []surveys.ModeUse{{"ivr", 400, 0}, {"sms", 0, 400}}}},
		"two texts each":     {byText, 10, map[string]int{"texts": 10}, surveys.Forecast{Contacts: 10, Open: 4 * time.Minute, Bound: "texts", EndsAt: at(2, 9, 34), Modes: []surveys.ModeUse{{"sms", 10, 0}}}},
		"arms": {func(d *surveys.Definition) {
			d.Arms = []surveys.Arm{{Modes: []surveys.Mode{surveys.IVR}, Ratio: 50}, {Modes: []surveys.Mode{surveys.SMS}, Ratio: 50}}
		}, 3, map[string]int{"calls": 1, "texts": 10}, surveys.Forecast{Contacts: 3, Open: 4 * time.Minute, Bound: "calls", EndsAt: at(2, 9, 34), Modes: []surveys.ModeUse{{"ivr", 2, 0}, {"sms", 1, 0}}}},
		"target":      {func(d *surveys.Definition) { rate := 0.1; d.Cutoff, d.InitialSuccessRate = 5, &rate }, 1000, map[string]int{"calls": 50}, surveys.Forecast{Contacts: 50, Open: 2 * time.Minute, Bound: "calls", EndsAt: at(2, 9, 32), Modes: []surveys.ModeUse{{"ivr", 50, 0}, {"sms", 0, 50}}}},
		"too short":   {func(d *surveys.Definition) { d.Schedule.EndDate = "2026-03-03" }, 400, map[string]int{"calls": 2}, surveys.Forecast{Contacts: 400, Open: 400 * time.Minute, Bound: "calls", EndsAt: at(3, 10, 0), TooShort: true, Modes: []surveys.ModeUse{{"ivr", 400, 0}, {"sms", 0, 400}}}},
		"no capacity": {nil, 4, nil, surveys.Forecast{Contacts: 4, Unknown: true, Modes: []surveys.ModeUse{{"ivr", 4, 0}, {"sms", 0, 4}}}},
		"nobody":      {nil, 0, nil, surveys.Forecast{Unknown: true, Modes: []surveys.ModeUse{{"ivr", 0, 0}, {"sms", 0, 0}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, forecastPlan(t, c.change).Forecast(now, c.respondents, c.capacity)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSamples_AreTheFirstContactOfEachMode(t *testing.T) {
	plan := forecastPlan(t, nil)
	got := plan.Samples("s", surveys.Person{ID: "r1", Token: "r1-x", Phone: "+12125550100", Attributes: map[string]string{"first_name": "Ana"}})
	if len(got) != 2 || got[0].Contact.Call.CallbackURL != "https://x.example.org/?t=r1-x" || got[1].Contact.Messages[0] != "Hello Ana" {
		t.Errorf("%+v", got)
	}
	// Without the value there is no text.
	if got := plan.Samples("s", surveys.Person{ID: "r1"}); len(got) != 1 || got[0].Mode != surveys.IVR {
		t.Errorf("%+v", got)
	}
}
