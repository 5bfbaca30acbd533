package cli_test

import (
	"net/http"
	"testing"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
)

func TestChannelTest_AsksTheProvider(t *testing.T) {
	t.Parallel()
	reply := `{"state":"up","checked":true}`
	f := newFakeWeir(t, map[string]http.HandlerFunc{"POST /v1/channels:test": func(w http.ResponseWriter, r *http.Request) { answers(http.StatusOK, reply)(w, r) }})
	secret := file(t, "secret", "hunter2\n")
	same(t, at(t, f.url, "", "channel", "test", "sms"), app.OK, "up\n", "")
	same(t, at(t, f.url, "", "channel", "test", "sms", "--set", "channel=other", "--unset", "from"), app.OK, "up\n", "")
	body := file(t, "sms.json", `{"type":"nuntium","name":"Texts","paused":true,"capacity":9,"settings":{"account":"a"}}`)
	same(t, at(t, f.url, "", "channel", "test", "--file", body, "--secret-file", "password="+secret), app.OK, "up\n", "")
	reply = `{"state":"up","checked":false}`
	same(t, at(t, f.url, "", "channel", "test", "sms"), app.OK, "the settings are right; they name no way to ask the provider\n", "")
	reply = `{"state":"error","reason":"credentials refused","checked":true}`
	clitest.Check(t, at(t, f.url, "", "channel", "test", "--type", "nuntium"), app.Failure, "^error: credentials refused\n$", "the channel would not work")
	clitest.Check(t, at(t, f.url, "", "channel", "test", "--type", "nuntium", "--set", "password=x"), app.Usage, "^$", "password is a secret")
	clitest.Check(t, at(t, f.url, "", "channel", "test", "--file", file(t, "wrong.json", `{"settings":1}`)), app.Failure, "^$", "settings an object")
	want := []string{
		`POST /v1/channels:test application/json {"channel":"sms"}`,
		`POST /v1/channels:test application/json {"channel":"sms","settings":{"channel":"other","from":null}}`,
		`POST /v1/channels:test application/json {"type":"nuntium","capacity":9,"settings":{"account":"a","password":"hunter2"}}`,
	}
	got := f.requests()
	if len(got) != 5 {
		t.Fatalf("asked %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("asked %s, want %s", got[i], want[i])
		}
	}
}
