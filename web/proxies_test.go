package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"weir/web"
	"weir/web/auth"
	"weir/web/webtest"
)

// Scenario 187: a token of 128 bits is admitted whatever else its address sent.
func TestProxies_StrongTokenIsNeverLockedOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		strings.Repeat("0123456789abcdef", 2):            200, // openssl rand -hex 16
		"Zk9wQmVhY2hIb3VzZQ1x2A==":                       200, // openssl rand -base64 16
		"c9a646d3-9c61-4cb7-bfcd-ee2522c8f633":           200,
		"weir-production-2024":                           429,
		"0123456789abcdef0123456789abcde":                429,
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": 429,
	} {
		r := webtest.New(t, func(o *web.Options) { o.Gate = auth.NewGate(auth.GateOptions{Configured: []string{text}}) })
		for i := range 30 {
			r.From("10.0.0.1:1", fmt.Sprintf("guess-%d", i))
		}
		if g := r.From("10.0.0.1:1", text); g.Status != want {
			t.Errorf("%s: %d, want %d", text, g.Status, want)
		}
	}
}

// behindProxies serves requests from the trusted proxies 10.0.0.0/8 and
// 2001:db8::1.
func behindProxies(h http.Handler) http.Handler {
	return web.Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::1/128")}.Clients(h)
}

// Scenario 187: behind a trusted proxy, limits apply to each client, and no
// client can impersonate another.
func TestProxies_LimitsApplyToEachClientBehindThem(t *testing.T) {
	t.Parallel()
	r, _ := limited(t)
	r.Handler = behindProxies(r.Handler)
	ask := func(peer, forwarded, token string) int {
		req := httptest.NewRequest("GET", "/v1/channels", nil)
		req.RemoteAddr = peer
		req.Header.Set("X-Forwarded-For", forwarded)
		req.Header.Set("Authorization", "Bearer "+token)
		return r.Serve(req).Status
	}
	const proxy, guesser, neighbor = "10.0.0.1:1", "203.0.113.1", "203.0.113.2"
	for i := range 30 {
		ask(proxy, fmt.Sprintf("%s, %s", neighbor, guesser), fmt.Sprintf("guess-%d", i))
	}
	for what, tc := range map[string]struct {
		peer, forwarded string
		want            int
	}{
		"the guesser":                     {proxy, guesser, 429},
		"its neighbor":                    {proxy, neighbor, 200},
		"the guesser by another proxy":    {proxy, guesser + ", 10.0.0.2", 429},
		"the guesser without the proxy":   {guesser + ":5", neighbor, 429},
		"the neighbor past the proxy":     {"198.51.100.1:1", guesser, 200},
		"the guesser as its own neighbor": {proxy, neighbor + "," + guesser + ":4711", 429},
	} {
		if got := ask(tc.peer, tc.forwarded, webtest.APICanary); got != tc.want {
			t.Errorf("%s: %d, want %d", what, got, tc.want)
		}
	}
}

// Scenario 187.
func TestProxies_ClientIsFoundInForwardedHeaders(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ peer, xff, forwarded, want string }{
		{"10.0.0.1:9", "", "", "10.0.0.1"},
		{"192.0.2.1:9", "203.0.113.1", "for=203.0.113.1", "192.0.2.1"},
		{"10.0.0.1:9", "203.0.113.1", "", "203.0.113.1"},
		{"10.0.0.1:9", "1.1.1.1, 203.0.113.1, 10.9.9.9", "", "203.0.113.1"},
		{"10.0.0.1:9", "10.1.1.1", "", "10.1.1.1"},
		{"10.0.0.1:9", "203.0.113.1, nonsense", "", "10.0.0.1"},
		{"10.0.0.1:9", "nonsense, 203.0.113.1", "", "203.0.113.1"},
		{"10.0.0.1:9", "[2001:db8::7]:80", "", "2001:db8::7"},
		{"[::ffff:10.0.0.1]:9", "::ffff:203.0.113.1", "", "203.0.113.1"},
		{"10.0.0.1:9", "", `for=203.0.113.1;proto=https;by=203.0.113.43`, "203.0.113.1"},
		{"10.0.0.1:9", "", `for=1.1.1.1, For="[2001:db8:cafe::17]:4711"`, "2001:db8:cafe::17"},
		{"10.0.0.1:9", "", `for=1.1.1.1, for=unknown`, "10.0.0.1"},
		{"10.0.0.1:9", "", `for=1.1.1.1, for="`, "10.0.0.1"},
		{"10.0.0.1:9", "203.0.113.1", "for=203.0.113.1", "203.0.113.1"},
		{"10.0.0.1:9", "203.0.113.1", "for=203.0.113.2", "10.0.0.1"},
	} {
		var got string
		h := behindProxies(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = netip.MustParseAddrPort(r.RemoteAddr).Addr().Unmap().String()
		}))
		req := httptest.NewRequest("GET", "/", nil)
		req.RemoteAddr = tc.peer
		if tc.xff != "" {
			req.Header.Set("X-Forwarded-For", tc.xff)
		}
		if tc.forwarded != "" {
			req.Header.Set("Forwarded", tc.forwarded)
		}
		h.ServeHTTP(httptest.NewRecorder(), req)
		if got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}
