package surveys_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"weir/api"
	"weir/surveys"
	"weir/surveys/questions"
)

func TestPilot_NamesLeadToTheirSurveyAndNoOtherNameDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		survey := rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,62}`).Draw(t, "survey")
		number := rapid.IntRange(1, surveys.MaxPilot).Draw(t, "number")
		if of, n := surveys.PilotOf(surveys.PilotName(survey, number)); of != survey || n != number {
			t.Fatalf("pilot %d of %s is pilot %d of %q", number, survey, n, of)
		}
		if of, n := surveys.PilotOf(survey); n != 0 {
			t.Fatalf("%s is pilot %d of %q", survey, n, of)
		}
	})
	for _, name := range []string{"", "a~pilot", "a~pilot0", "a~pilot01", "a~pilot-1", "a~pilot+1", "a~pilot10000", "a~pilot1~pilot1", "a~pilotx", "a~1"} {
		if of, n := surveys.PilotOf(name); n != 0 {
			t.Errorf("%q is pilot %d of %q", name, n, of)
		}
	}
}

// A field of a definition that is new must be sorted: it stays in a pilot, or it is not about one.
func TestPilot_KeepsTheRulesOfContactAlone(t *testing.T) {
	dropped := map[string]bool{
		"Cutoff": true, "CountPartial": true, "Quotas": true, "QuotaMessage": true, "Budget": true, "Brake": true, "BatchSize": true, "InitialSuccessRate": true,
	}
	d := surveys.Definition{
		FallbackDelay: "1h", Cutoff: 1, CountPartial: true, Quotas: surveys.Quotas{{}}, QuotaMessage: "x", Answer: &surveys.Answer{}, StopWords: []string{"x"},
		HelpWords: []string{"x"}, AnswerWords: []string{"x"}, Purpose: "x", Brake: &api.Brake{}, Budget: &api.Budget{}, Labels: []string{"x"}, Weight: 1,
		LimitPerMinute: 1, BatchSize: 1, InitialSuccessRate: new(float64), Region: "MX", Arms: []surveys.Arm{{}}, Modes: map[surveys.Mode]surveys.ModeSpec{surveys.SMS: {}},
		Questionnaires: map[string]map[surveys.Mode][]surveys.Content{"q": {}}, Questions: &questions.Definition{}, Breakdowns: []surveys.Breakdown{{}},
	}
	d.Schedule.StartDate, d.Schedule.EndDate, d.Schedule.TimeZone, d.Schedule.BlockedDays = "2030-01-01", "2030-01-02", "UTC", []string{"2030-01-01"}
	is, was := reflect.ValueOf(d.Pilot()), reflect.ValueOf(d)
	for i := range is.NumField() {
		name := is.Type().Field(i).Name
		switch {
		case was.Field(i).IsZero():
			t.Errorf("%s is not set in this test", name)
		case name == "Schedule":
		case dropped[name] != is.Field(i).IsZero():
			t.Errorf("%s is %v in a pilot", name, is.Field(i))
		}
	}
	if s := d.Pilot().Schedule; s.StartDate != "" || s.EndDate != "" || s.TimeZone != "UTC" || len(s.BlockedDays) != 1 {
		t.Errorf("the schedule of a pilot is %+v", s)
	}
	if d.Cutoff != 1 || d.Schedule.StartDate == "" {
		t.Error("the definition itself was changed")
	}
}
