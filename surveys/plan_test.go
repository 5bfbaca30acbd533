package surveys_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/surveys"
)

func defaults() surveys.Defaults {
	return surveys.Defaults{Batch: 10_000, LimitPerMinute: 100, InitialSuccessRate: 1}
}

// definition returns a survey by calls, then SMS, in UTC around the clock.
func definition() surveys.Definition {
	return surveys.Definition{
		Schedule: office("UTC", surveys.WindowSpec{From: "00:00", To: "24:00"}),
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

func TestDefaultsOfADefinition(t *testing.T) {
	t.Parallel()
	pl := plan(t, definition())
	if pl.FallbackDelay != surveys.DefaultFallbackDelay || pl.Weight != 1 || pl.LimitPerMinute != 100 || pl.Batch != 10_000 || pl.InitialSuccessRate != 1 {
		t.Errorf("defaults: %+v", pl)
	}
	want := []surveys.Arm{{Questionnaire: "q", Modes: []surveys.Mode{surveys.IVR, surveys.SMS}, Ratio: 100}}
	if diff := cmp.Diff(want, pl.Arms); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"stop"}, pl.StopWords); diff != "" {
		t.Error(diff)
	}
}

func TestWrongDefinitionsAreRefused(t *testing.T) {
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

func TestChanceChoosesByRatio(t *testing.T) {
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
