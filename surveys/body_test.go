package surveys_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/surveys"
)

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

func TestFormOfADefinition(t *testing.T) {
	t.Parallel()
	var d surveys.Definition
	in := json.NewDecoder(strings.NewReader(body))
	in.DisallowUnknownFields()
	if err := in.Decode(&d); err != nil {
		t.Fatal(err)
	}
	pl := plan(t, d)
	if pl.InitialSuccessRate != 0 || pl.LimitPerMinute != 50 || pl.Target() != 100 || pl.Retries[surveys.IVR].String() != "10m 2h" || pl.Channels[surveys.SMS] != "texts" {
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

func TestRespondentsOfABody(t *testing.T) {
	t.Parallel()
	row, wrong := surveys.RowOf("55 1234 5678", map[string]any{"name": " Ana ", "age": 30.0, "big": 1e15, "ok": true, "none": nil, "empty": " "}, "MX")
	want := surveys.Row{Phone: "+525512345678", Attributes: map[string]string{"name": "Ana", "age": "30", "big": "1000000000000000", "ok": "true"}}
	if diff := cmp.Diff(want, row); diff != "" || wrong != nil {
		t.Errorf("%v\n%s", wrong, diff)
	}
	_, wrong = surveys.RowOf("x", map[string]any{
		"First Name": "Ana", "survey": "s", "phone": "1", "tags": []any{"a"}, "long": strings.Repeat("x", 501), "nul": "\x00", "good": "1",
	}, "MX")
	if diff := cmp.Diff([]string{
		"/phone format", "/attributes/First Name format", "/attributes/long format", "/attributes/nul format",
		"/attributes/phone format", "/attributes/survey format", "/attributes/tags format",
	}, codes(wrong)); diff != "" {
		t.Error(diff)
	}
	many := map[string]any{}
	for i := range 101 {
		many["a"+strings.Repeat("b", i%60)+string(rune('a'+i/60))] = "x"
	}
	if _, wrong := surveys.RowOf("5512345678", many, "MX"); len(wrong) != 1 || wrong[0].Pointer != "/attributes" {
		t.Errorf("%d attributes: %v", len(many), wrong)
	}
}
