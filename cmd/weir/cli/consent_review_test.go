package cli_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
)

// receives has a person send a message to a channel, as its provider does.
func (b *broker) receives(channel, from, text string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+"/v1/channels/"+channel+"/callback", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+surveyToken)
	got, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	var is struct{ URL string }
	if err := json.NewDecoder(got.Body).Decode(&is); err != nil {
		b.t.Fatal(err)
	}
	_ = got.Body.Close()
	at, err := url.Parse(is.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	got, err = http.PostForm(b.url+at.Path+"/incoming", url.Values{"from": {from}, "body": {text}, "guid": {text}})
	if err != nil || got.StatusCode != http.StatusOK {
		b.t.Fatalf("%v %v", got, err)
	}
	_ = got.Body.Close()
}

// Scenario 336.
func TestConsent_MessagesAreReviewed(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("sms")
	clitest.Check(t, b.run("consent", "review"), app.OK, "^ID  AT  ADDRESS  CHANNEL  FOUND  WORDS\n$", "^$")
	b.receives("sms", "525512345678", "please STOP calling me")
	b.receives("sms", "525512345679", "at the end of the day")
	list := b.run("consent", "review")
	clitest.Check(t, list, app.OK, `(?s)\+525512345678 +sms +stop +please STOP calling me\n.*\+525512345679 +sms +end +at the end of the day\n`, "^$")
	ids := regexp.MustCompile(`(?m)^(\d{10,})`).FindAllString(list.Out, -1)
	if len(ids) != 2 {
		t.Fatalf("ids %v in %s", ids, list.Out)
	}
	clitest.Check(t, b.run("consent", "decide", ids[0], "refused"), app.Usage, "^$", "to confirm, add --yes")
	for range 2 { // the answer may be lost
		clitest.Check(t, b.run("consent", "decide", ids[0], "refused", "--yes"), app.OK, "^refused\n$", "^$")
	}
	clitest.Check(t, b.run("consent", "decide", ids[0], "dismissed", "--yes"), app.Rejected, "^$", "decided already: refused")
	clitest.Check(t, b.run("consent", "decide", ids[1], "dismissed", "--yes"), app.OK, "^dismissed\n$", "^$")
	clitest.Check(t, b.run("consent", "decide", ids[1], "perhaps", "--yes"), app.Rejected, "^$", "decision")
	clitest.Check(t, b.run("consent", "decide", "7", "refused", "--yes"), app.NotFound, "^$", "no such message")
	clitest.Check(t, b.run("consent", "review", "--output", "jsonl"), app.OK, "^$", "^$")
	shown := b.run("consent", "show", "+525512345678")
	if !strings.HasPrefix(shown.Out, "refused\n") || !strings.Contains(shown.Out, "operator") || !strings.Contains(shown.Out, ": please STOP calling me\n") {
		t.Errorf("shown is %s", shown.Out)
	}
	b.receives("sms", "525512345670", "stop it or else")
	b.receives("sms", "525512345670", "start")
	id := regexp.MustCompile(`(?m)^(\d{10,})`).FindString(b.run("consent", "review").Out)
	clitest.Check(t, b.run("consent", "decide", id, "refused", "--yes"), app.Rejected, "^$", "recorded, and the person is given: word, .*, after the message")
}

func TestPurpose_TextsOfAnswersAreSet(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	clitest.Check(t, b.run("purpose", "put", "default", "--help-text", "We are Weir.", "--confirmation", "You are out."), app.OK, "help is answered: We are Weir.; a stop word is confirmed: You are out.\n$", "^$")
	clitest.Check(t, b.run("purpose", "put", "default", "--help-text", strings.Repeat("a", 481)), app.Rejected, "^$", "/help")
	clitest.Check(t, b.run("purpose", "put", "default", "--file", file(t, "p.json", `{"help":"one","confirmation":"two"}`), "--help-text", "three"), app.OK, "help is answered: three; a stop word is confirmed: two\n$", "^$")
}
