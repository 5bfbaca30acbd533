package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"weir/api"
)

// receives has a person send a message to a channel, as its provider does.
func (r *rig) receives(channel, from, text string) {
	r.t.Helper()
	var is struct{ URL string }
	r.api("GET", "/v1/channels/"+channel+"/callback", "", &is)
	at, err := url.Parse(is.URL)
	if err != nil {
		r.t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(r.t.Context(), http.MethodPost, at.Path+"/incoming?"+url.Values{"from": {from}, "body": {text}, "guid": {text}}.Encode(), nil)
	w := httptest.NewRecorder()
	if r.handler.ServeHTTP(w, req); w.Code != http.StatusOK {
		r.t.Fatalf("%d %s", w.Code, w.Body)
	}
}

const undecided = "/people/undecided"

func TestUndecided_IsDecidedByButtons(t *testing.T) {
	t.Parallel()
	r := newRig(t, peopleScopes, "people:admin", "contacts:read pii:read")
	r.channel("texts")
	b := r.login(peopleScopes)
	b.get(undecided).want(200).has("Nothing to decide")
	b.get("/").want(200).hasNot("may be an opt-out")
	r.receives("texts", numberCanary, "please <b>stop</b> it")
	b.get("/").want(200).has(`id="undecided" href="/people/undecided">1 message may be an opt-out</a> and waits`)
	r.receives("texts", "+15559998878", "I cannot stop laughing")
	r.receives("texts", "+15559998879", "no quiero más, BAJA")
	b.get("/?wall=1").want(200).hasNot("opt-out")
	b.get("/people").want(200).has("May be an opt-out (3)")
	page := b.get(undecided).want(200).has("please &lt;b&gt;stop&lt;/b&gt; it", numberCanary, "<td>stop</td>", "texts", "3 waiting")
	noNumberInLinks(t, page)
	ids := regexp.MustCompile(`id="refused-(\d+)"`).FindAllStringSubmatch(page.body, -1)
	if len(ids) != 3 {
		t.Fatalf("%d messages:\n%s", len(ids), page.body)
	}
	decide := func(id, decision string) answer {
		t.Helper()
		if to := b.post(undecided, url.Values{"id": {id}, "decision": {decision}}).want(303).header.Get("Location"); to != undecided {
			t.Errorf("it leads to %q", to)
		}
		return b.get(undecided).want(200)
	}
	decide(ids[0][1], "refused").has("The refusal is recorded with the message as its words", "2 waiting").hasNot("please")
	decide(ids[1][1], "dismissed").has("The message is dismissed", "1 waiting").hasNot("laughing")
	decide(ids[1][1], "refused").has("Nothing was decided: it is decided already: dismissed.")
	decide("0", "maybe").has("Nothing was decided: ")
	r.receives("texts", "+15559998879", "START")
	decide(ids[2][1], "refused").has("changes nothing: the person took it back after this message", "Nothing to decide")
	b.post("/people", url.Values{"to": {numberCanary}}).want(200).has("refused: is not contacted", "an operator read it in a message of the person", "please &lt;b&gt;stop")
	if logs := r.logs.String(); strings.Contains(logs, numberCanary[1:]) || strings.Contains(logs, "laughing") {
		t.Error("the number or a message is in the log")
	}
}

func TestUndecided_IsShownAsFarAsTheTokenMay(t *testing.T) {
	t.Parallel()
	r := newRig(t, "people:admin", "contacts:read pii:read")
	r.channel("texts")
	r.receives("texts", numberCanary, "please stop it")
	r.login("people:admin").get(undecided).want(200).has("***77", "hidden", "needs the scope <code>pii:read</code>", "<td>stop</td>").hasNot("please", numberCanary)
	reader := r.login("contacts:read pii:read")
	reader.get(undecided).want(403)
	reader.get("/people").want(200).hasNot("May be an opt-out")
	reader.get("/").want(200).hasNot("may be an opt-out")
	reader.post(undecided, url.Values{"id": {"1"}, "decision": {"refused"}}).want(403)
	var list api.UndecidedList
	if r.api("GET", "/v1/consents:undecided", "", &list); list.Waiting != 1 {
		t.Errorf("%d wait", list.Waiting)
	}
}

func TestUndecided_IsListedInPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, "people:admin pii:read")
	r.channel("texts")
	for i := range 51 {
		r.receives("texts", "+1555999"+string(rune('0'+i/10))+string(rune('0'+i%10))+"00", "stop it "+strings.Repeat("!", i))
	}
	b := r.login("people:admin pii:read")
	page := b.get(undecided).want(200).has("51 waiting")
	next := regexp.MustCompile(`href="(/people/undecided\?cursor=\d+)" rel="next"`).FindStringSubmatch(page.body)
	if next == nil {
		t.Fatalf("no next page:\n%s", page.body)
	}
	if n := strings.Count(b.get(next[1]).want(200).has("First page").body, `value="refused"`); n != 1 {
		t.Errorf("%d messages on the second page", n)
	}
}
