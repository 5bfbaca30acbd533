package dashboard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A Host header that is invalid in a URL comes from an attacker: it must not cause
// an error of the server, nor fill its log.
func TestHost_InvalidInAURLIsNoServerError(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read")
	b := r.login("contacts:read")
	for path, want := range map[string]int{"/contacts?q=" + numberCanary[1:]: 200, "/surveys": 200, "/login": 303} {
		req := b.request("GET", path, nil)
		req.Host = "weir.example:x"
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, req)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	if logs := r.logs.String(); strings.Contains(logs, numberCanary[1:]) || strings.Contains(logs, "level=ERROR") {
		t.Errorf("the log has it:\n%s", logs)
	}
}

// A browser that disconnects before a page is rendered is not an error.
func TestBrowser_ThatDisconnectsIsNoError(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read")
	b := r.login("contacts:read")
	ctx, leave := context.WithCancel(t.Context())
	leave()
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, b.request("GET", "/", nil).WithContext(ctx))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d", w.Code)
	}
	if logs := r.logs.String(); strings.Contains(logs, "level=ERROR") {
		t.Errorf("the log says that something is wrong:\n%s", logs)
	}
}

// Behind a proxy all clients share one address. Requesting pages without a session
// at full speed must not keep others from logging in.
func TestLogin_WorksWhileOthersAreLimited(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read")
	limited := false
	for range 200 {
		limited = limited || r.visitor().get("/").status == http.StatusTooManyRequests
	}
	if !limited {
		t.Fatal("no request was limited")
	}
	r.visitor().get("/login").want(200).has(`type="password"`)
	r.login("contacts:read").get("/").want(200)
}

// A HEAD request of a stream gets the header and occupies no stream: nothing would
// ever be written to it, and no write would fail.
func TestStream_HeadOccupiesNoStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read")
	b := r.login("contacts:read")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for path, header := range map[string][]string{
		"/live/":     {"Cookie", "weir_session=" + b.cookies["weir_session"]},
		"/v1/events": {"Authorization", "Bearer " + adminToken, "Accept", "text/event-stream"},
	} {
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, b.request("HEAD", path, nil, header...).WithContext(ctx))
		if ctx.Err() != nil {
			t.Fatalf("%s did not end", path)
		}
		if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || w.Body.Len() != 0 {
			t.Errorf("%s: %d %s %q", path, w.Code, w.Header(), w.Body)
		}
	}
}
