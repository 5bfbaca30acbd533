package cli_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"weir/channels/httpgateway"
	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
)

// The requests of a template are shown, with the secrets' names, and nothing is sent.
func TestTry_ShowsRenderedRequestsAndSendsNothing(t *testing.T) {
	t.Parallel()
	channel := func(template string) string {
		raw, err := json.Marshal(map[string]any{"type": "http", "settings": map[string]any{
			"template": json.RawMessage(template), "values": map[string]string{"api_key": "k1", "from": "HEALTH"}, "secrets": map[string]string{"api_secret": "hunter2"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return file(t, "channel.json", string(raw))
	}
	const nowhere = "http://127.0.0.1:1"
	vonage := string(httpgateway.Template("vonage"))
	clitest.Check(t, at(t, nowhere, "", "channel", "try", "--render", "--file", channel(vonage), "--to", "+15550001", "-m", "a&b", "-m", "two"), app.OK,
		`(?s)^POST https://rest\.nexmo\.com/sms/json\nContent-Type: application/x-www-form-urlencoded\nUser-Agent: weir\n\napi_key=k1&api_secret=secret\.api_secret&callback=.*&from=HEALTH&.*&text=a%26b&to=15550001&.*\n\nPOST .*&text=two&`, "^$")
	wrong := strings.ReplaceAll(strings.Replace(vonage, `"{text}"`, `"{txet}"`, 1), `"fate": "accepted"`, `"fate": "taken"`)
	clitest.Check(t, at(t, nowhere, "", "channel", "try", "--render", "--file", channel(wrong), "--to", "+15550001", "-m", "x"), app.Failure, "^$",
		`(?s)/settings/template/send/form/text: .*txet.*/settings/template/answer/0/fate: .*accepted.*completed`)
	clitest.Check(t, at(t, nowhere, "", "channel", "try", "--render", "--to", "+15550001", "-m", "x"), app.Usage, "^$", "--render needs --file")
	clitest.Check(t, at(t, nowhere, "", "channel", "try", "sms", "--to", "+15550001"), app.Usage, "^$", "give --to and --message")
	clitest.Check(t, at(t, nowhere, "", "channel", "try", "--render", "--file", file(t, "other.json", `{"type":"kannel","settings":{}}`), "--to", "1", "-m", "x"), app.Failure, "^$", `not of "kannel"`)
}

// An interruption is reported as such, not as the end of --timeout.
func TestTry_InterruptionIsReportedAsSuch(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{
		"POST /v1/channels/sms/contacts": answers(http.StatusAccepted, `{"contacts":[{"id":"1-a","state":"queued"}]}`),
		"GET /v1/contacts/1-a":           answers(http.StatusOK, `{"id":"1-a","channel":"sms","state":"active"}`),
	})
	code, _, err := ticking(t, &screenful{}, f.url, nil, 1, "channel", "try", "sms", "--to", "+15550001", "-m", "x")
	if code != app.Failure || !strings.HasPrefix(err, "weir: interrupted") {
		t.Errorf("%d %q", code, err)
	}
}

func TestTry_ExitCodeTellsTheOutcome(t *testing.T) {
	t.Parallel()
	contact := func(more string) string {
		return `{"id":"1-a","channel":"sms","to":"***01","priority":"high",` + more + `}`
	}
	for outcome, code := range map[string]int{"completed": app.OK, "failed": app.Failure} {
		f := newFakeWeir(t, map[string]http.HandlerFunc{
			"POST /v1/channels/sms/contacts": answers(http.StatusAccepted, `{"contacts":[{"id":"1-a","state":"queued"}]}`),
			"GET /v1/contacts/1-a": turns(contact(`"state":"queued","why":"channel sms is paused"`), contact(`"state":"queued","why":"channel sms is paused"`),
				contact(`"state":"active"`), contact(`"state":"done","outcome":"`+outcome+`","reason":"as is"`)),
		})
		clitest.Check(t, at(t, f.url, "", "channel", "try", "sms", "--to", "+15550001", "-m", "It works."), code,
			`^[\d: -]+Z  1-a  queued: channel sms is paused\n[\d: -]+Z  1-a  active\n[\d: -]+Z  1-a  `+outcome+`: as is\n$`, map[int]string{app.OK: "^$", app.Failure: "the message was not delivered"}[code])
		if got := strings.Join(f.requests(), "\n"); !strings.Contains(got, `"key":"try-`) || !strings.Contains(got, `"messages":["It works."]`) {
			t.Error(got)
		}
	}
}
