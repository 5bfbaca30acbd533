package web_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir"
	"weir/web"
	"weir/web/api"
	"weir/web/auth"
)

func TestHTTP_EveryRouteSays503WhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.channel("a", "texts")
	for _, err := range []error{errDown, fmt.Errorf("read: %w", timeoutError{}), weir.Errorf(weir.CodeDraining, "shutting down")} {
		r.down = err
		for _, req := range [][3]string{
			{"GET", "/v1/channels", ""}, {"PUT", "/v1/channels/a", goodTexts}, {"PUT", "/v1/channels/new", goodTexts}, {"GET", "/v1/channels/a", ""},
			{"PATCH", "/v1/channels/a", `{}`}, {"DELETE", "/v1/channels/a", ""}, {"POST", "/v1/channels/a/contacts", batch(text(""))},
			{"GET", "/v1/contacts", ""}, {"GET", "/v1/contacts/1-1", ""}, {"DELETE", "/v1/contacts/1-1", ""}, {"GET", "/v1/channels/a/incoming", ""},
			{"GET", "/callbacks/a/" + secretCanary + "-1/ping", ""}, {"POST", "/callbacks/a/wrong/ping", ""}, {"GET", "/callbacks/nobody/wrong", ""},
		} {
			g := r.do(req[0], req[1], req[2])
			if c := g.problem(t).Code; g.status != 503 || c != weir.CodeUnavailable && c != weir.CodeDraining {
				t.Errorf("%s %s: %d %s", req[0], req[1], g.status, c)
			}
		}
	}
	if g := r.do("GET", "/livez", ""); g.status != 200 {
		t.Errorf("livez %d", g.status)
	}
}

// timeoutError is an error without a code, as a store's driver may return it.
type timeoutError struct{}

func (timeoutError) Error() string        { return "CANARY-cause" }
func (timeoutError) Is(target error) bool { return target.Error() == "context deadline exceeded" }

func TestHTTP_InternalErrorsKeepTheirDetailsToTheLog(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.down = fmt.Errorf("CANARY-cause")
	g := r.do("GET", "/v1/channels", "", "X-Request-Id", "abc-1")
	if g.status != 500 || g.problem(t).Code != weir.CodeInternal || g.header.Get("X-Request-Id") != "abc-1" {
		t.Errorf("%d %s", g.status, g.body)
	}
	if log := r.logs.String(); !strings.Contains(log, "CANARY-cause") || !strings.Contains(log, "request=abc-1") {
		t.Errorf("log: %s", log)
	}
}

// panicking is a broker that panics.
type panicking struct{ web.Broker }

func TestHTTP_PanicIsA500(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *web.Options) { o.Broker = panicking{} })
	r.channel("a", "texts")
	g := r.do("GET", "/v1/channels/a", "")
	if g.status != 500 || g.problem(t).Code != weir.CodeInternal {
		t.Errorf("%d %s", g.status, g.body)
	}
	if log := r.logs.String(); !strings.Contains(log, "panic in a handler") || !strings.Contains(log, "channelPresenter).view") {
		t.Errorf("log without a stack: %s", log)
	}
	if n := r.counter("weir_http_requests_total", "route", "/v1/channels/{channel}", "method", "GET", "status", "5xx"); n != 1 {
		t.Errorf("counted %v", n)
	}
}

func TestHTTP_RefusesUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/channels/", "/v1/channels/a/b", "//v1/channels", "/v2/channels", "/callbacks/a", "/doc", "/schemas/Problem.json"} {
		req := httptest.NewRequest("GET", "http://x"+path, nil)
		g := r.serve(req)
		r.holds(req, g)
		if g.status != 404 || g.problem(t).Code != weir.CodeNotFound {
			t.Errorf("%s: %d %s", path, g.status, g.body)
		}
	}
	for _, x := range [][3]string{
		{"POST", "/v1/channels", "GET, HEAD"}, {"DELETE", "/v1/contacts", "GET, HEAD"}, {"POST", "/livez", "GET, HEAD"},
		{"BREW", "/v1/contacts/1-1", "DELETE, GET, HEAD"}, {"PUT", "/callbacks/a/b/c", "GET, HEAD, POST"}, {"HEAD", "/callbacks/a/b/c", "GET, POST"},
	} {
		req := httptest.NewRequest(x[0], x[1], nil)
		g := r.serve(req)
		if g.status != 405 || g.header.Get("Allow") != x[2] || x[0] != "HEAD" && g.problem(t).Code != weir.CodeMethod {
			t.Errorf("%s %s: %d Allow %q %s", x[0], x[1], g.status, g.header.Get("Allow"), g.body)
		}
		if x[1] == "/livez" && !strings.Contains(g.body, "method not allowed; use GET or HEAD") || x[0] == "BREW" && !strings.Contains(g.body, "; use DELETE, GET or HEAD") {
			t.Errorf("%s %s: %s", x[0], x[1], g.body)
		}
	}
	if n := r.counter("weir_http_requests_total", "route", "other", "method", "other", "status", "4xx"); n != 1 {
		t.Errorf("BREW counted %v", n)
	}
}

func TestHTTP_ReadinessNamesEveryReason(t *testing.T) {
	t.Parallel()
	draining := false
	r := newRig(t, func(o *web.Options) { o.Draining = func() bool { return draining } })
	if v := into[api.Readiness](t, r.do("GET", "/readyz", ""), 200); !v.Ready {
		t.Errorf("%+v", v)
	}
	r.down, draining = errDown, true
	v := into[api.Readiness](t, r.do("GET", "/readyz", ""), 503)
	if v.Ready || len(v.Reasons) != 2 || !strings.Contains(strings.Join(v.Reasons, ";"), "draining") {
		t.Errorf("%+v", v)
	}
	r.down = fmt.Errorf("CANARY-cause")
	if v := into[api.Readiness](t, r.do("GET", "/readyz", ""), 503); v.Reasons[1] != "store: it does not respond" {
		t.Errorf("%+v", v)
	}
	if r.logs.String() != "" && strings.Contains(r.logs.String(), "readyz") {
		t.Errorf("probes are logged: %s", r.logs)
	}
}

func TestHTTP_RequestsAreLoggedQuietlyAndByPattern(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.channel("a", "texts")
	r.do("POST", "/v1/channels/a/contacts", batch(`{"key":"CANARY-text","to":"+15559998877","messages":["CANARY-text"]}`))
	r.do("GET", "/v1/contacts?key=CANARY-text", "")
	r.do("GET", "/callbacks/a/CANARY-callback-secret-1/ping?from=+15559998877", "")
	r.do("GET", "/callbacks/a/CANARY-callback-secret-1/nonsense?from=+15559998877", "")
	r.do("GET", "/callbacks/a/CANARY-callback-secret/ping", "")
	r.do("GET", "/v1/channels/a", "", "X-Request-Id", "has spaces CANARY-text")
	for _, line := range []string{"route=/v1/channels/{channel}/contacts method=POST status=202", "route=/callbacks/{channel}/{secret}/{path...} method=GET status=200"} {
		if !strings.Contains(r.logs.String(), line) {
			t.Errorf("%q is not in the log:\n%s", line, r.logs)
		}
	}
}

func TestHTTP_EverythingIsOpenWithoutTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *web.Options) {
		o.Gate = auth.NewGate(auth.GateOptions{})
		o.Logger = slog.New(slog.DiscardHandler)
	})
	for _, path := range []string{"/v1/channels", "/metrics"} {
		if g := r.serve(httptest.NewRequest("GET", path, nil)); g.status != 200 {
			t.Errorf("%s: %d", path, g.status)
		}
	}
}

func TestHTTP_EveryAPIRouteAsksForAToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.channel("a", "texts")
	seen := 0
	for path, ops := range r.spec().Paths {
		for method := range ops {
			if !strings.HasPrefix(path, "/v1/") && path != "/metrics" {
				continue
			}
			seen++
			for i, header := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + apiCanary, apiCanary, "Bearer " + apiCanary + "x", "Bearer another, " + apiCanary} {
				url := strings.NewReplacer("{channel}", "a", "{id}", "1-1", "{survey}", "s").Replace(path)
				req := httptest.NewRequest(strings.ToUpper(method), url, io.NopCloser(strings.NewReader(`{`)))
				req.Header.Set("Authorization", header)
				req.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", seen, i) // otherwise the limit of refusals would be reached
				g := r.serve(req)
				r.holds(req, g)
				if g.status != http.StatusUnauthorized || g.problem(t).Code != weir.CodeUnauthorised || g.header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s %s with %q: %d", method, path, header, g.status)
				}
			}
			req := httptest.NewRequest(strings.ToUpper(method), strings.NewReplacer("{channel}", "a", "{id}", "1-1", "{survey}", "s").Replace(path), nil)
			req.Header.Set("Authorization", "bearer another")
			if g := r.serve(req); g.status == http.StatusUnauthorized {
				t.Errorf("%s %s: the other token does not count", method, path)
			}
		}
	}
	if seen < 28 {
		t.Errorf("%d operations were tried", seen)
	}
}

// bytesRead is a body of left blanks that counts the bytes read.
type bytesRead struct{ left, read int }

func (b *bytesRead) Read(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left, b.read = b.left-n, b.read+n
	if n == 0 {
		return 0, io.EOF
	}
	for i := range p[:n] {
		p[i] = ' '
	}
	return n, nil
}

// A client that must send its whole body before it reads receives the error,
// unless the body is too long.
func TestHTTP_RefusedBodiesAreReadOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.channel("texts", "texts")
	for _, tc := range []struct {
		contentType  string
		size, status int
		whole        bool
	}{
		{"application/json", 10 << 20, 413, true},
		{"text/plain", 10 << 20, 415, true},
		{"application/json", 100 << 20, 413, false},
		{"text/plain", 100 << 20, 415, false},
	} {
		body := &bytesRead{left: tc.size}
		req := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/channels/texts/contacts", body)
		req.Header.Set("Content-Type", tc.contentType)
		req.Header.Set("Authorization", "Bearer "+apiCanary)
		g := r.serve(req)
		if g.status != tc.status || (body.left == 0) != tc.whole || body.read > 21<<20 {
			t.Errorf("%s, %d bytes: %d, %d bytes were read", tc.contentType, tc.size, g.status, body.read)
		}
	}
}

func TestHTTP_EscapedCharactersAreTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.channel("texts", "texts")
	g := r.do("POST", "/v1/channels/texts/contacts", batch(text(`,"key":"\ud83d\ude00 \\ud800 \u00e9\/"`)))
	if key := into[api.AcceptedList](t, g, 202).Contacts[0].Key; key != `😀 \ud800 é/` {
		t.Errorf("%q", key)
	}
}
