package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
)

const fluDefinition = `{
  "title": "Flu & more",
  "schedule": {"time_zone": "Africa/Nairobi", "weekdays": ["mon"], "windows": [{"from": "09:00", "to": "17:00"}]},
  "modes": {"sms": {"channel": "sms", "retries": "1h"}},
  "arms": [{"modes": ["sms"]}],
  "questionnaires": {"main": {"sms": [{"messages": ["Hello {{first_name}}?"]}]}},
  "application": {"url": "https://app.example.org/flu", "secret": "of the application"}
}`

// A survey can be written as it was read, by its definition and by the whole response, and
// cloned. The secret of its application is never shown.
func TestSurvey_DefinitionCanBeCloned(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("sms")
	clitest.Check(t, at(t, b.url, fluDefinition, "survey", "put", "-", "flu"), app.OK, "^flu: saved, draft\n$", "")
	clitest.Check(t, at(t, b.url, strings.Replace(fluDefinition, "{{first_name}}", "{first_name}", 1), "survey", "put", "-", "flu", "--dry-run"), app.OK,
		"^flu: nothing is wrong; nothing was saved\n$", "/questionnaires/main/sms/0/messages/0: .*is sent as it is")
	definition := func(name string) (text string, decoded map[string]any) {
		t.Helper()
		shown := b.run("survey", "show", name, "--definition")
		if err := json.Unmarshal([]byte(shown.Out), &decoded); err != nil || shown.Code != app.OK {
			t.Fatalf("%+v: %v", shown, err)
		}
		return shown.Out, decoded
	}
	text, want := definition("flu")
	if want["title"] != "Flu & more" || want["state"] != nil || want["version"] != nil || cmp.Equal(want["application"], nil) {
		t.Errorf("the definition is %s", text)
	}
	clitest.Check(t, at(t, b.url, text, "survey", "put", "-", "by-definition"), app.OK, "^by-definition: saved, draft\n$", "")
	whole := b.run("survey", "show", "flu", "--output", "json")
	clitest.Check(t, at(t, b.url, whole.Out, "survey", "put", "-", "by-response"), app.OK, "^by-response: saved, draft\n$", "")
	clitest.Check(t, b.run("survey", "clone", "flu", "cloned"), app.OK, "^cloned: created from flu, draft\n$", "secret of the application is not copied")
	for _, name := range []string{"by-definition", "by-response", "cloned"} {
		if _, got := definition(name); !cmp.Equal(want, got) {
			t.Errorf("%s: %s", name, cmp.Diff(want, got))
		}
	}
	clitest.Check(t, b.run("survey", "clone", "flu", "cloned"), app.Usage, "^$", "survey cloned exists; choose another name")
	clitest.Check(t, b.run("survey", "clone", "flu", "flu"), app.Usage, "^$", "another name")
	clitest.Check(t, b.run("survey", "clone", "none", "new"), app.NotFound, "^$", "none")
}

// What only answers have is no part of a definition, whatever a later version adds to them.
func TestSurveyDefinition_HasNothingThatOnlyAnswersHave(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"survey":"flu","title":"Flu","state":"draft","version":1,"why":"a draft contacts no respondents; launch it","why_code":"draft",
		"why_instants":["2026-01-02T03:04:05Z"],"why_clauses":[{"sentence":"a draft contacts no respondents; launch it"}],"warnings":[],"arms":[{"modes":["sms"]}],"of_a_later_version":1}`)
	}))
	defer server.Close()
	out := at(t, server.URL, "", "survey", "show", "flu", "--definition").Out
	for _, gone := range []string{"why", "\"state\"", "\"version\"", "warnings"} {
		if strings.Contains(out, gone) {
			t.Errorf("%s is in %s", gone, out)
		}
	}
	for _, kept := range []string{"Flu", "arms", "of_a_later_version"} {
		if !strings.Contains(out, kept) {
			t.Errorf("%s is not in %s", kept, out)
		}
	}
}

// A typing mistake is corrected after the launch, from the whole definition or the questions alone; anything else is refused and named.
func TestSurvey_TextsAreCorrectedAfterTheLaunch(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("sms")
	const asked = `{"languages":[{"code":"en","name":"English"}],"questions":[{"name":"cough","kind":"choice","text":{"en":"Do you cuogh?"},"choices":[{"name":"yes","text":{"en":"Yes"}},{"name":"no","text":{"en":"No"}}]}]}`
	whole := func(questions string) string {
		return `{"schedule":{"time_zone":"UTC","weekdays":["mon","tue","wed","thu","fri","sat","sun"],"windows":[{"from":"00:00","to":"24:00"}]},"modes":{"sms":{"channel":"sms"}},"arms":[{"modes":["sms"]}],"questions":` + questions + `}`
	}
	clitest.Check(t, at(t, b.url, whole(asked), "survey", "put", "-", "flu"), app.OK, "^flu: saved, draft\n$", "")
	clitest.Check(t, at(t, b.url, "phone\n+15550001\n", "survey", "import", "-", "flu", "--format", "csv"), app.OK, "1", "")
	clitest.Check(t, b.run("survey", "launch", "flu", "--wait", "0s"), app.OK, "running", "")
	correct := func(file, text string) {
		t.Helper()
		clitest.Check(t, at(t, b.url, file, "survey", "correct", "-", "flu"), app.OK, "^flu: corrected\n$", "")
		if shown := b.run("survey", "show", "flu", "--definition"); !strings.Contains(shown.Out, text) {
			t.Error(shown.Out)
		}
	}
	correct(whole(strings.ReplaceAll(asked, "cuogh", "cough")), "Do you cough?")
	correct(strings.ReplaceAll(asked, "cuogh", "cough now"), "Do you cough now?")
	clitest.Check(t, at(t, b.url, strings.ReplaceAll(asked, `"yes"`, `"yeah"`), "survey", "correct", "-", "flu"), app.Rejected, "^$", "choices/0/name.*may change only in a draft")
	clitest.Check(t, at(t, b.url, "[1]", "survey", "correct", "-", "flu"), app.Failure, "^$", "must be a JSON object")
	if shown := b.run("survey", "show", "flu", "--definition"); !strings.Contains(shown.Out, "Do you cough now?") {
		t.Error(shown.Out)
	}
}
