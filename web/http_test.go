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
	"weir/api"
	"weir/web"
	"weir/web/auth"
	"weir/web/webtest"
)

func TestHTTP_EveryRouteSays503WhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "texts")
	for _, err := range []error{webtest.ErrDown, fmt.Errorf("read: %w", webtest.TimeoutError{}), weir.Errorf(weir.CodeDraining, "shutting down")} {
		r.Down = err
		for _, req := range [][3]string{
			{"GET", "/v1/channels", ""}, {"PUT", "/v1/channels/a", webtest.GoodTexts}, {"PUT", "/v1/channels/new", webtest.GoodTexts}, {"GET", "/v1/channels/a", ""},
			{"PATCH", "/v1/channels/a", `{}`}, {"DELETE", "/v1/channels/a", ""}, {"POST", "/v1/channels/a/contacts", webtest.Batch(webtest.Text(""))},
			{"GET", "/v1/contacts", ""}, {"GET", "/v1/contacts/1-1", ""}, {"DELETE", "/v1/contacts/1-1", ""}, {"GET", "/v1/channels/a/incoming", ""},
			{"GET", "/callbacks/a/" + webtest.SecretCanary + "-1/ping", ""}, {"POST", "/callbacks/a/wrong/ping", ""}, {"GET", "/callbacks/nobody/wrong", ""},
		} {
			g := r.Do(req[0], req[1], req[2])
			if c := g.Problem(t).Code; g.Status != 503 || c != weir.CodeUnavailable && c != weir.CodeDraining {
				t.Errorf("%s %s: %d %s", req[0], req[1], g.Status, c)
			}
		}
	}
	if g := r.Do("GET", "/livez", ""); g.Status != 200 {
		t.Errorf("livez %d", g.Status)
	}
}

func TestHTTP_InternalErrorsKeepTheirDetailsToTheLog(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Down = fmt.Errorf("CANARY-cause")
	g := r.Do("GET", "/v1/channels", "", "X-Request-Id", "abc-1")
	if g.Status != 500 || g.Problem(t).Code != weir.CodeInternal || g.Header.Get("X-Request-Id") != "abc-1" {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	if log := r.Logs.String(); !strings.Contains(log, "CANARY-cause") || !strings.Contains(log, "request=abc-1") {
		t.Errorf("log: %s", log)
	}
}

// panicking is a broker that panics.
type panicking struct{ web.Broker }

func TestHTTP_PanicIsA500(t *testing.T) {
	t.Parallel()
	r := webtest.New(t, func(o *web.Options) { o.Broker = panicking{} })
	r.Channel("a", "texts")
	g := r.Do("GET", "/v1/channels/a", "")
	if g.Status != 500 || g.Problem(t).Code != weir.CodeInternal {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	if log := r.Logs.String(); !strings.Contains(log, "panic in a handler") || !strings.Contains(log, "channelPresenter).view") {
		t.Errorf("log without a stack: %s", log)
	}
	if n := r.Counter("weir_http_requests_total", "route", "/v1/channels/{channel}", "method", "GET", "status", "5xx"); n != 1 {
		t.Errorf("counted %v", n)
	}
}

func TestHTTP_RefusesUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/channels/", "/v1/channels/a/b", "//v1/channels", "/v2/channels", "/callbacks/a", "/doc", "/schemas/Problem.json"} {
		req := httptest.NewRequest("GET", "http://x"+path, nil)
		g := r.Serve(req)
		r.Holds(req, g)
		if g.Status != 404 || g.Problem(t).Code != weir.CodeNotFound {
			t.Errorf("%s: %d %s", path, g.Status, g.Body)
		}
	}
	for _, x := range [][3]string{
		{"POST", "/v1/channels", "GET, HEAD"}, {"DELETE", "/v1/contacts", "GET, HEAD"}, {"POST", "/livez", "GET, HEAD"},
		{"BREW", "/v1/contacts/1-1", "DELETE, GET, HEAD"}, {"PUT", "/callbacks/a/b/c", "GET, HEAD, POST"}, {"HEAD", "/callbacks/a/b/c", "GET, POST"},
	} {
		req := httptest.NewRequest(x[0], x[1], nil)
		g := r.Serve(req)
		if g.Status != 405 || g.Header.Get("Allow") != x[2] || x[0] != "HEAD" && g.Problem(t).Code != weir.CodeMethod {
			t.Errorf("%s %s: %d Allow %q %s", x[0], x[1], g.Status, g.Header.Get("Allow"), g.Body)
		}
		if x[1] == "/livez" && !strings.Contains(g.Body, "method not allowed; use GET or HEAD") || x[0] == "BREW" && !strings.Contains(g.Body, "; use DELETE, GET or HEAD") {
			t.Errorf("%s %s: %s", x[0], x[1], g.Body)
		}
	}
	if n := r.Counter("weir_http_requests_total", "route", "other", "method", "other", "status", "4xx"); n != 1 {
		t.Errorf("BREW counted %v", n)
	}
}

func TestHTTP_ReadinessNamesEveryReason(t *testing.T) {
	t.Parallel()
	draining := false
	r := webtest.New(t, func(o *web.Options) { o.Draining = func() bool { return draining } })
	if v := webtest.Into[api.Readiness](t, r.Do("GET", "/readyz", ""), 200); !v.Ready {
		t.Errorf("%+v", v)
	}
	r.Down, draining = webtest.ErrDown, true
	v := webtest.Into[api.Readiness](t, r.Do("GET", "/readyz", ""), 503)
	if v.Ready || len(v.Reasons) != 2 || !strings.Contains(strings.Join(v.Reasons, ";"), "draining") {
		t.Errorf("%+v", v)
	}
	r.Down = fmt.Errorf("CANARY-cause")
	if v := webtest.Into[api.Readiness](t, r.Do("GET", "/readyz", ""), 503); v.Reasons[1] != "store: it does not respond" {
		t.Errorf("%+v", v)
	}
	if r.Logs.String() != "" && strings.Contains(r.Logs.String(), "readyz") {
		t.Errorf("probes are logged: %s", r.Logs)
	}
}

func TestHTTP_RequestsAreLoggedQuietlyAndByPattern(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	r.Do("POST", "/v1/channels/a/contacts", webtest.Batch(`{"key":"CANARY-text","to":"+15559998877","messages":["CANARY-text"]}`))
	r.Do("GET", "/v1/contacts?key=CANARY-text", "")
	r.Do("GET", webtest.CallbackPath(ch, "ping?from=+15559998877"), "")
	r.Do("GET", webtest.CallbackPath(ch, "nonsense?from=+15559998877"), "")
	r.Do("GET", "/callbacks/a/CANARY-callback-secret/ping", "")
	r.Do("GET", "/v1/channels/a", "", "X-Request-Id", "has spaces CANARY-text")
	for _, line := range []string{"route=/v1/channels/{channel}/contacts method=POST status=202", "route=/callbacks/{channel}/{secret}/{path...} method=GET status=200"} {
		if !strings.Contains(r.Logs.String(), line) {
			t.Errorf("%q is not in the log:\n%s", line, r.Logs)
		}
	}
}

func TestHTTP_EverythingIsOpenWithoutTokens(t *testing.T) {
	t.Parallel()
	r := webtest.New(t, func(o *web.Options) {
		o.Gate = auth.NewGate(auth.GateOptions{})
		o.Logger = slog.New(slog.DiscardHandler)
	})
	for _, path := range []string{"/v1/channels", "/metrics"} {
		if g := r.Serve(httptest.NewRequest("GET", path, nil)); g.Status != 200 {
			t.Errorf("%s: %d", path, g.Status)
		}
	}
}

func TestHTTP_EveryAPIRouteAsksForAToken(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "texts")
	seen := 0
	for path, ops := range r.Spec().Paths {
		for method := range ops {
			if !strings.HasPrefix(path, "/v1/") && path != "/metrics" {
				continue
			}
			seen++
			for i, header := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + webtest.APICanary, webtest.APICanary, "Bearer " + webtest.APICanary + "x", "Bearer another, " + webtest.APICanary} {
				url := strings.NewReplacer("{channel}", "a", "{id}", "1-1", "{survey}", "s").Replace(path)
				req := httptest.NewRequest(strings.ToUpper(method), url, io.NopCloser(strings.NewReader(`{`)))
				req.Header.Set("Authorization", header)
				req.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", seen, i) // otherwise the limit of refusals would be reached
				g := r.Serve(req)
				r.Holds(req, g)
				if g.Status != http.StatusUnauthorized || g.Problem(t).Code != weir.CodeUnauthorised || g.Header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s %s with %q: %d", method, path, header, g.Status)
				}
			}
			req := httptest.NewRequest(strings.ToUpper(method), strings.NewReplacer("{channel}", "a", "{id}", "1-1", "{survey}", "s").Replace(path), nil)
			req.Header.Set("Authorization", "bearer another")
			if g := r.Serve(req); g.Status == http.StatusUnauthorized {
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
	r := webtest.New(t)
	r.Channel("texts", "texts")
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
		req.Header.Set("Authorization", "Bearer "+webtest.APICanary)
		g := r.Serve(req)
		if g.Status != tc.status || (body.left == 0) != tc.whole || body.read > 21<<20 {
			t.Errorf("%s, %d bytes: %d, %d bytes were read", tc.contentType, tc.size, g.Status, body.read)
		}
	}
}

func TestHTTP_EscapedCharactersAreTaken(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("texts", "texts")
	g := r.Do("POST", "/v1/channels/texts/contacts", webtest.Batch(webtest.Text(`,"key":"\ud83d\ude00 \\ud800 \u00e9\/"`)))
	if key := webtest.Into[api.AcceptedList](t, g, 202).Contacts[0].Key; key != `😀 \ud800 é/` {
		t.Errorf("%q", key)
	}
}
