package demo

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// board is a panel behind a handler, with two things to break.
type board struct {
	t *testing.T
	*panel
	at http.Handler
}

func newBoard(t *testing.T) *board {
	t.Helper()
	nothing := func(context.Context) error { return nil }
	p := newPanel("http://127.0.0.1:8080", []breakage{{"kill", "kill -9 Weir", "It dies.", time.Hour, nothing}, {"stop", "A person writes STOP", "", 0, nothing}})
	return &board{t, p, p.handler()}
}

func (b *board) do(method, path, host string, form url.Values, header ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(form.Encode()))
	r.Host = host
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.at.ServeHTTP(w, r)
	return w
}

const here = "127.0.0.1:4711"

func (b *board) choice(name string, header ...string) int {
	b.t.Helper()
	return b.do(http.MethodPost, "/", here, url.Values{"break": {name}}, header...).Code
}

func TestPanel_ShowsTheRecord(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	b.show(state{
		Proof: proof{
			Channels: []channelProof{{Channel: texts, Provider: nuntiumName, Accepted: 12_345, Done: 12_300, Sent: 12_299, Peak: 40, Capacity: 40, Unclear: 1, Suppressed: 7}},
			Rules:    []ruled{{"consent", "contacts suppressed", 7}}, Refused: 9,
		},
		Providers: []providerState{{nuntiumName, texts, "slow", 40, 40, 1234}}, Restarts: 3, Since: epoch(), At: epoch().Add(time.Hour),
	})
	b.note(epoch(), "<kill>")
	w := b.do(http.MethodGet, "/", here, nil)
	page := w.Body.String()
	for _, want := range []string{
		`<div><dt>accepted by Weir</dt><dd>12,345</dd>`, `<div><dt>the provider counted</dt><dd>12,299</dd>`, `<div class="good"><dt>sent twice</dt><dd>0</dd>`,
		`<div class="good"><dt>lost</dt><dd>0</dd>`, `<div class="good"><dt>most in flight</dt><dd>40 of 40</dd>`, `<dt>killed and started again</dt><dd>3</dd>`,
		`<div class="good"><dt>contacted after STOP</dt><dd>0</dd>`, `<dt>suppressed by the rule consent</dt><dd>7</dd>`, `<td>slow<td class="n">40 of 40<td class="n">1,234`,
		`class="verdict good">Nothing lost`, `For 1h0m0s`, `&lt;kill&gt;`, `<meta http-equiv="refresh" content="2">`, `name="break" value="kill"`, `href="http://127.0.0.1:8080"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "<script") || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Error("it has a script, or may load anything")
	}
	if foreign := regexp.MustCompile(`(src|href)="https?://[^"]*"`).FindAllString(page, -1); len(foreign) != 1 { // the dashboard's link
		t.Errorf("it names %q", foreign)
	}
	if still := b.do(http.MethodGet, "/?still=1", here, nil).Body.String(); strings.Contains(still, `http-equiv="refresh"`) || !strings.Contains(still, `name="still"`) {
		t.Errorf("it does not stand still:\n%s", still)
	}
}

func TestPanel_ShowsFaults(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	b.show(state{Proof: proof{Channels: []channelProof{{Peak: 3, Capacity: 2, Doubled: 1, Lost: 2}}, Breached: 4, Faults: []string{"texts: 1 sent twice", "texts: 2 lost"}}})
	page := b.do(http.MethodGet, "/", here, nil).Body.String()
	for _, want := range []string{
		`class="verdict bad">texts: 1 sent twice; texts: 2 lost<`, `<div class="bad"><dt>sent twice</dt><dd>1`, `<div class="bad"><dt>lost</dt><dd>2`,
		`<div class="bad"><dt>most in flight</dt><dd>3 of 2`, `<div class="bad"><dt>contacted after STOP</dt><dd>4`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

func TestPanel_TakesFormsOfItsOwnPageOnly(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	for _, header := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "http://127.0.0.1:8080"}, {"Origin", "null"},
	} {
		if got := b.choice("kill", header...); got != http.StatusForbidden {
			t.Errorf("%v: %d", header, got)
		}
	}
	for _, host := range []string{"evil.example:4711", "evil.example", ""} {
		if got := b.do(http.MethodGet, "/", host, nil).Code; got != http.StatusForbidden {
			t.Errorf("under %q: %d", host, got)
		}
	}
	if got := b.choice("format", "Sec-Fetch-Site", "same-origin"); got != http.StatusUnprocessableEntity {
		t.Errorf("an unknown choice: %d", got)
	}
	if got := b.do(http.MethodGet, "/?break=kill", here, nil).Code; got != http.StatusOK || len(b.chosen) > 0 {
		t.Errorf("a GET: %d, %d chosen", got, len(b.chosen))
	}
	if got := b.choice("kill", "Sec-Fetch-Site", "same-origin", "Origin", "http://"+here); got != http.StatusSeeOther || (<-b.chosen).Name != "kill" {
		t.Errorf("its own form: %d", got)
	}
}

func TestPanel_IsLimited(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	for i, tt := range []struct {
		name string
		want int
		take bool
	}{
		{"kill", http.StatusSeeOther, false}, {"stop", http.StatusTooManyRequests, true}, // the kill is not done yet
		{"stop", http.StatusSeeOther, true}, {"stop", http.StatusSeeOther, true}, {"kill", http.StatusTooManyRequests, false}, // once in an hour
	} {
		if got := b.choice(tt.name); got != tt.want {
			t.Errorf("%d, %s: %d; want %d", i, tt.name, got, tt.want)
		}
		if tt.take {
			<-b.chosen
		}
	}
	for range 3 * maxNotes {
		b.note(epoch(), "again")
	}
	if len(b.notes) != maxNotes {
		t.Errorf("it keeps %d notes", len(b.notes))
	}
}
