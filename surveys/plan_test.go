package surveys_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/people"
	"weir/surveys"
	"weir/surveys/calendar"
)

func defaults() surveys.Defaults {
	return surveys.Defaults{Batch: 10_000, LimitPerMinute: 100, InitialSuccessRate: 1}
}

// definition returns a survey by calls, then SMS, in UTC around the clock.
func definition() surveys.Definition {
	return surveys.Definition{
		Schedule: office("UTC", calendar.WindowSpec{From: "00:00", To: "24:00"}),
		Modes: map[surveys.Mode]surveys.ModeSpec{
			surveys.IVR: {Channel: "calls", Retries: "10m 2h"},
			surveys.SMS: {Channel: "texts", Retries: "1h"},
		},
		Arms: []surveys.Arm{{Modes: []surveys.Mode{surveys.IVR, surveys.SMS}}},
		Questionnaires: map[string]map[surveys.Mode][]surveys.Content{"q": {
			surveys.IVR: {{Call: &weir.Call{CallbackURL: "https://ivr.example/start"}}},
			surveys.SMS: {{Messages: []string{"Hello {{first_name}}"}}, {Messages: []string{"Are you there, {{first_name}}?", "{{respondent}} {{attempt}}"}}},
		}},
	}
}

// smsOnly returns a survey by SMS with the given retries.
func smsOnly(retries string) surveys.Definition {
	d := definition()
	d.Arms = []surveys.Arm{{Modes: []surveys.Mode{surveys.SMS}}}
	d.Modes[surveys.SMS] = surveys.ModeSpec{Channel: "texts", Retries: retries}
	return d
}

func plan(t interface {
	Helper()
	Fatalf(string, ...any)
}, d surveys.Definition) *surveys.Plan {
	t.Helper()
	pl, wrong := d.Compile(defaults())
	if len(wrong) > 0 {
		t.Fatalf("the definition is refused: %v", wrong)
	}
	return pl
}

func TestPlan_FillsInDefaults(t *testing.T) {
	t.Parallel()
	pl := plan(t, definition())
	if pl.FallbackDelay != surveys.DefaultFallbackDelay || pl.Weight != 1 || pl.LimitPerMinute != 100 || pl.Batch != 10_000 || pl.InitialSuccessRate != 1 {
		t.Errorf("defaults: %+v", pl)
	}
	want := []surveys.Arm{{Questionnaire: "q", Modes: []surveys.Mode{surveys.IVR, surveys.SMS}, Ratio: 100}}
	if diff := cmp.Diff(want, pl.Arms); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(people.DefaultWordLists(), pl.Words().Lists()); diff != "" {
		t.Error(diff)
	}
}

func TestPlan_RefusesInvalidDefinitions(t *testing.T) {
	t.Parallel()
	half, two := 0.5, 2.0
	for _, tt := range []struct {
		name   string
		change func(*surveys.Definition)
		want   []string
	}{
		{"nothing", func(d *surveys.Definition) { *d = surveys.Definition{} }, []string{
			"/schedule/time_zone required", "/schedule/weekdays required", "/schedule/windows length", "/arms required", "/questionnaires required",
		}},
		{"schedule", func(d *surveys.Definition) { d.Schedule.TimeZone = "Mars" }, []string{"/schedule/time_zone unknown"}},
		{"ladder", func(d *surveys.Definition) {
			d.Modes[surveys.IVR] = surveys.ModeSpec{Channel: "calls", Retries: "0m"}
			d.Modes[surveys.SMS] = surveys.ModeSpec{Retries: "ten minutes"}
			d.FallbackDelay = "soon"
		}, []string{"/fallback_delay format", "/modes/ivr/retries format", "/modes/sms/channel required", "/modes/sms/retries format"}},
		{"unknown mode", func(d *surveys.Definition) {
			d.Modes["fax/1"] = surveys.ModeSpec{Channel: "f"}
			d.Arms[0].Modes = []surveys.Mode{surveys.SMS, "fax", surveys.SMS}
		}, []string{"/arms/0/modes/1 enum", "/arms/0/modes/2 duplicate", "/modes/fax~11 unknown"}},
		{"a mode without channel or content", func(d *surveys.Definition) {
			d.Arms[0].Modes = []surveys.Mode{surveys.MobileWeb}
		}, []string{"/arms/0/modes/0 unknown", "/arms/0/modes/0 unknown"}},
		{"ratios", func(d *surveys.Definition) {
			d.Arms = []surveys.Arm{{Modes: []surveys.Mode{surveys.IVR}, Ratio: 50}, {Modes: []surveys.Mode{surveys.SMS}, Ratio: 49}}
		}, []string{"/arms range"}},
		{"a ratio below 0", func(d *surveys.Definition) {
			d.Arms = []surveys.Arm{{Modes: []surveys.Mode{surveys.IVR}, Ratio: -10}, {Modes: []surveys.Mode{surveys.SMS}, Ratio: 110}}
		}, []string{"/arms/0/ratio range", "/arms/1/ratio range"}},
		{"one arm that is not all", func(d *surveys.Definition) { d.Arms[0].Ratio = 99 }, []string{"/arms range"}},
		{"the same arm twice", func(d *surveys.Definition) {
			d.Arms = []surveys.Arm{{Modes: []surveys.Mode{surveys.IVR}, Ratio: 50}, {Modes: []surveys.Mode{surveys.IVR}, Ratio: 50}}
		}, []string{"/arms/1 duplicate"}},
		{"questionnaire", func(d *surveys.Definition) { d.Arms[0].Questionnaire = "x" }, []string{"/arms/0/questionnaire unknown"}},
		{"numbers", func(d *surveys.Definition) {
			d.Cutoff, d.Weight, d.LimitPerMinute, d.BatchSize, d.InitialSuccessRate = -1, 1001, -1, -1, &two
		}, []string{"/cutoff range", "/weight range", "/limit_per_minute range", "/batch_size range", "/initial_success_rate range"}},
		{"region", func(d *surveys.Definition) { d.Region = "XX" }, []string{"/region unknown"}},
		{"stop words", func(d *surveys.Definition) { d.StopWords = []string{"basta", " . "} }, []string{"/stop_words/1 length"}},
		{"other words", func(d *surveys.Definition) {
			d.HelpWords, d.AnswerWords = []string{"?"}, []string{"end", strings.Repeat("a", 101)}
		}, []string{"/help_words/0 length", "/answer_words/1 length"}},
		{"answer without a mode by text", func(d *surveys.Definition) {
			d.Arms[0].Modes = []surveys.Mode{surveys.IVR}
			delete(d.Modes, surveys.SMS)
			d.Answer = &surveys.Answer{Thanks: strings.Repeat("x", 1601)}
		}, []string{"/answer conflict", "/answer/thanks length"}},
		{"answer", func(d *surveys.Definition) { d.Answer = &surveys.Answer{Attribute: "phone", Thanks: "{{"} }, []string{"/answer/attribute reserved", "/answer/thanks format"}},
		{"name of the answer", func(d *surveys.Definition) { d.Answer = &surveys.Answer{Attribute: "How are you"} }, []string{"/answer/attribute format"}},
		{"labels", func(d *surveys.Definition) { d.Labels = []string{"language", "First Name", "mode", "phone"} }, []string{"/labels/1 format", "/labels/2 reserved", "/labels/3 reserved"}},
		{"many labels", func(d *surveys.Definition) { d.Labels = make([]string, 17) }, []string{"/labels length"}},
		{"quotas", func(d *surveys.Definition) {
			d.Quotas = surveys.Quotas{{Where: map[string]surveys.Match{"Age!": {}}, Quota: -1}}
		}, []string{"/quotas/0/quota range", "/quotas/0/where/Age! format"}},
		{"nothing is wrong", func(d *surveys.Definition) { d.InitialSuccessRate, d.Region, d.Cutoff = &half, "MX", 10 }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := definition()
			tt.change(&d)
			_, wrong := d.Compile(defaults())
			if diff := cmp.Diff(tt.want, codes(wrong)); diff != "" {
				t.Errorf("%s\n%v", diff, surveys.Invalid(wrong))
			}
		})
	}
}

func TestPlan_ChoosesArmsByRatio(t *testing.T) {
	t.Parallel()
	arms := []surveys.Arm{{Ratio: 0}, {Ratio: 30}, {Ratio: 70}, {Ratio: 0}}
	for u, want := range map[float64]int{0: 1, 0.2999: 1, 0.3: 2, 0.9999: 2} {
		if got := surveys.ChooseArm(arms, u); got != want {
			t.Errorf("chance %v chooses arm %d, want %d", u, got, want)
		}
	}
	var seen [4]int
	for i := range 1000 {
		seen[surveys.ChooseArm(arms, float64(i)/1000)]++
	}
	if diff := cmp.Diff([4]int{0, 300, 700, 0}, seen); diff != "" {
		t.Error(diff)
	}
}

// body is a survey as clients write it.
const body = `{
	"schedule": {
		"time_zone": "America/Mexico_City", "weekdays": ["mon", "fri"],
		"windows": [{"from": "09:00", "to": "13:00"}, {"from": "15:00", "to": "19:00"}],
		"blocked_days": ["2026-12-25"], "start_date": "2026-11-02", "end_date": "2026-12-31"
	},
	"modes": {
		"ivr": {"channel": "calls", "retries": "10m 2h"},
		"sms": {"channel": "texts"}
	},
	"arms": [
		{"questionnaire": "long", "modes": ["ivr", "sms"], "ratio": 30},
		{"questionnaire": "short", "modes": ["sms"], "ratio": 70}
	],
	"questionnaires": {
		"long": {"ivr": [{"call": {"call_flow_id": 7}}], "sms": [{"messages": ["Hello {{first_name}}"]}]},
		"short": {"sms": [{"messages": ["Hi"]}, {"messages": ["Are you there?"]}]}
	},
	"fallback_delay": "90m", "cutoff": 100, "count_partial": true,
	"quotas": [{"where": {"gender": {"in": ["f"]}, "age": {"from": 18}}, "quota": 60}],
	"stop_words": ["stop", "alto"], "weight": 2, "limit_per_minute": 50,
	"initial_success_rate": 0, "region": "MX"
}`

func TestPlan_ReadsADefinitionInJSON(t *testing.T) {
	t.Parallel()
	var d surveys.Definition
	in := json.NewDecoder(strings.NewReader(body))
	in.DisallowUnknownFields()
	if err := in.Decode(&d); err != nil {
		t.Fatal(err)
	}
	pl := plan(t, d)
	if pl.InitialSuccessRate != 0 || pl.LimitPerMinute != 50 || pl.Target() != 100 || !slices.Equal(pl.Retries[surveys.IVR], surveys.RetrySchedule{10 * time.Minute, 2 * time.Hour}) || pl.Channels[surveys.SMS] != "texts" {
		t.Errorf("%+v", pl)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var again surveys.Definition
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, again); diff != "" {
		t.Error(diff)
	}
}

// office returns a schedule that is open every day in a zone, from 9 to 17 by default.
func office(zone string, windows ...calendar.WindowSpec) calendar.ScheduleSpec {
	if len(windows) == 0 {
		windows = []calendar.WindowSpec{{From: "09:00", To: "17:00"}}
	}
	return calendar.ScheduleSpec{TimeZone: zone, Weekdays: []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, Windows: windows}
}

// codes lists validation failures as pointer and code.
func codes(wrong []weir.FieldError) []string {
	var out []string
	for _, w := range wrong {
		out = append(out, w.Pointer+" "+w.Code)
	}
	return out
}
