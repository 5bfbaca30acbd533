package dashboard_test

import (
	"io"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/polling"
)

// Scenario 475: while a file is sent, another page shows how far it came, without a script, and can stop it: what was
// handled stays, and the file sent again sends the rest. Nobody else sees or stops it.
func TestFileProgress_ShowsAndStopsAFile(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read contacts:write", "admin")
	r.channel("texts")
	b := r.login("contacts:read contacts:write")
	page := b.upload("/contacts/_import", []string{"channel", "texts"}, strings.NewReader("phone,text\n+15550001,x\n"))
	once := hidden(page, "once")
	at := "/contacts/_import/progress?once=" + url.QueryEscape(once)
	page.has(`href="` + at + `" target="_blank"`)
	const none = "No file is being sent by this form"
	b.get("/contacts/_import/progress").want(200).has(none)
	b.get(at).want(200).has(none)

	arrives, file := io.Pipe()
	result := make(chan answer)
	go func() { result <- b.upload("/contacts/_import/send", again(page, "once", once), arrives) }()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.Copy(file, io.MultiReader(&generated{rows: 2500}))
	}()
	if !polling.Until(20*time.Second, 10*time.Millisecond, func() bool { return count(b.get(at), "rows") == "2,000" }) {
		t.Fatal(b.get(at).body)
	}
	b.get(at).want(200).has("Stop sending", `data-live`)
	stranger := r.login("admin")
	stranger.get(at).want(200).has(none)
	stranger.post("/contacts/_import/progress", url.Values{"once": {once}}).want(200).has(none)
	b.get(at).has("Stop sending")

	<-written
	b.post("/contacts/_import/progress", url.Values{"once": {once}}).want(200).has("The file is being stopped")
	go func() { _, _ = io.Copy(file, strings.NewReader("+15559999")); _ = file.Close() }()
	stopped := (<-result).has("Not all of people.csv was sent, because it was stopped on the page of its progress.", "Send the same file again")
	before := figure(t, stopped, "accepted")
	if stopped.status != 409 || before < 2000 || before > 2500 {
		t.Errorf("%d: %d were accepted", stopped.status, before)
	}
	b.get(at).has(none)
	whole := b.upload("/contacts/_import/send", again(page), &generated{rows: 3000}).want(200)
	if again, rest := figure(t, whole, "duplicates"), figure(t, whole, "accepted"); again != before || rest == 0 {
		t.Errorf("%d, then %d and %d again", before, rest, again)
	}
}

// figure returns a figure of the result as a number.
func figure(t *testing.T, page answer, id string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(count(page, id), ",", ""))
	if err != nil {
		t.Error(err)
	}
	return n
}
