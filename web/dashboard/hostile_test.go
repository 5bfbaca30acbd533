package dashboard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A host that makes no URL is a stranger's doing: it is no fault of ours, and
// fills no log.
func TestAHostThatMakesNoURL(t *testing.T) {
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

// Who leaves before a page is made has not found a fault.
func TestABrowserThatLeavesIsNoFault(t *testing.T) {
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

// Behind a proxy everybody has one address. Whoever asks for pages without a
// session as fast as they come does not keep others from logging in.
func TestStrangersDoNotKeepOthersFromLoggingIn(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read")
	limited := false
	for range 200 {
		limited = limited || r.visitor().get("/").status == http.StatusTooManyRequests
	}
	if !limited {
		t.Fatal("nobody was limited")
	}
	r.visitor().get("/login").want(200).has(`type="password"`)
	r.login("contacts:read").get("/").want(200)
}

// Who asks for the head of a stream alone gets it, and keeps no place among
// those who follow it: nothing that is written would ever reach them, or fail.
func TestTheHeadOfAStream(t *testing.T) {
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
