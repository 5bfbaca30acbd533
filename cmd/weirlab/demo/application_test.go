package demo

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/cmd/internal/clitest"
	"weir/internal/polling"
)

// reports is a broker for the application: it fails once, then accepts reports, and
// has one respondent whose status is final.
type reports struct {
	mu    sync.Mutex
	tries int
	taken []string
}

func (b *reports) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.tries++; {
	case b.tries == 1: // like a broker that was just killed
		panic(http.ErrAbortHandler)
	case strings.Contains(r.URL.Path, "/over/"):
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"code":"conflict","detail":"the respondent's status is final"}`)
	default:
		b.taken = append(b.taken, r.Method+" "+r.URL.Path+" "+string(body))
		_, _ = io.WriteString(w, "{}")
	}
}

// staged returns an application with a broker behind it.
func staged(t *testing.T) (*application, *reports) {
	t.Helper()
	b := &reports{}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	a, err := startApplication(t.Context(), server.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.stop)
	return a, b
}

func (a *application) settle(t *testing.T) {
	t.Helper()
	if !polling.Until(20*time.Second, 5*time.Millisecond, a.idle) {
		t.Fatal("it never comes to rest")
	}
}

func post(t *testing.T, target, kind string, header http.Header, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", kind)
	return clitest.Do(t, r)
}

func TestApplication_ConductsACall(t *testing.T) {
	t.Parallel()
	a, b := staged(t)
	form := "application/x-www-form-urlencoded"
	_, asks := post(t, a.url+callPath+"?survey=s&respondent=r1", form, nil, "CallSid=1")
	if !strings.Contains(asks, `<Gather numDigits="1" action="/call?respondent=r1&amp;survey=s">`) {
		t.Errorf("it asks %s", asks)
	}
	if _, thanks := post(t, a.url+callPath+"?survey=s&respondent=r1", form, nil, url.Values{"Digits": {"1"}}.Encode()); !strings.Contains(thanks, "<Hangup/>") {
		t.Errorf("it says %s", thanks)
	}
	a.settle(t)
	want := []string{`POST /v1/surveys/s/respondents/r1/disposition {"disposition":"completed","answers":{"answer":"1"}}`}
	if diff := cmp.Diff(want, b.taken); diff != "" || !a.completed["r1"] || a.wrong != nil {
		t.Errorf("%v %q\n%s", a.completed, a.wrong, diff)
	}
}

func TestApplication_AnswersMessages(t *testing.T) {
	t.Parallel()
	a, b := staged(t)
	send := func(respondent, text string) int {
		body, err := json.Marshal(map[string]any{"id": "7", "type": messageType, "data": map[string]string{"survey": "s", "respondent": respondent, "text": text}})
		if err != nil {
			t.Fatal(err)
		}
		at := strconv.FormatInt(time.Now().Unix(), 10)
		status, _ := post(t, a.url+messagePath, "application/json", http.Header{idHeader: {"m1"}, timestampHeader: {at}, signatureHeader: {signature(a.secret, "m1", at, body)}}, string(body))
		return status
	}
	for _, m := range [][2]string{{"r1", "Who is this?"}, {"r1", " 2 "}, {"over", "1"}, {"r3", stopWord}} {
		if got := send(m[0], m[1]); got != http.StatusNoContent {
			t.Errorf("%v: %d", m, got)
		}
		a.settle(t)
	}
	want := []string{
		`POST /v1/surveys/s/respondents/r1/disposition {"disposition":"started","messages":["Please answer 1 for yes or 2 for no, or STOP."],"key":"r1-again"}`,
		`POST /v1/surveys/s/respondents/r1/disposition {"disposition":"completed","answers":{"answer":"2"},"messages":["Thank you. Good bye."],"key":"r1-thanks"}`,
	}
	if diff := cmp.Diff(want, b.taken); diff != "" || !a.completed["r1"] || a.sent["r1"] != 2 || !a.late["over"] || a.completed["over"] || a.wrote != 3 || a.wrong != nil {
		t.Errorf("%+v\n%s", a.wrong, diff)
	}
}

func TestApplication_TakesNothingFromOthers(t *testing.T) {
	t.Parallel()
	a, _ := staged(t)
	now := strconv.FormatInt(time.Now().Unix(), 10)
	old := strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)
	body := `{"type":"weir.survey.message"}`
	for name, header := range map[string]http.Header{
		"none":  {},
		"wrong": {timestampHeader: {now}, signatureHeader: {signature("another", "", now, []byte(body))}},
		"old":   {timestampHeader: {old}, signatureHeader: {signature(a.secret, "", old, []byte(body))}},
	} {
		if status, _ := post(t, a.url+messagePath, "application/json", header, body); status != http.StatusUnauthorized {
			t.Errorf("signature %s: %d", name, status)
		}
	}
	if len(a.wrong) != 3 || a.wrote != 0 {
		t.Errorf("%q", a.wrong)
	}
}
