package provider_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/provider"
	"weir/internal/httponce"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(t *testing.T, target string) *http.Request {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	r, err := provider.NewRequest(http.MethodGet, u, nil, provider.Credentials{Username: "u", Password: "p"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func client(t *testing.T) *http.Client {
	t.Helper()
	transport := httponce.New(httponce.Options{})
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// A GET that creates something arrives as an ordinary GET.
func TestDo_GetArrivesWithoutABody(t *testing.T) {
	t.Parallel()
	var head string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		head = fmt.Sprint(r.Method, r.ContentLength, r.TransferEncoding, r.Header["Content-Length"], len(body))
		w.Header().Set("Retry-After", "7")
		_, _ = io.WriteString(w, "fine")
	}))
	defer server.Close()
	got := provider.Do(t.Context(), client(t), get(t, server.URL+"/x?y=z"), provider.MaxBody)
	if !got.OK() || string(got.Body) != "fine" || got.RetryAfter != 7*time.Second {
		t.Errorf("got %+v", got)
	}
	if want := "GET0 [] [] 0"; head != want {
		t.Errorf("the request arrived as %q, want %q", head, want)
	}
}

// The transport of net/http repeats a GET on a new connection when a reused
// one is cut. Do must not: the server may have acted.
func TestDo_RepeatsNoRequest(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := requests.Add(1); n%2 == 0 {
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	c := client(t)
	const pairs = 50
	for range pairs {
		for _, want := range []provider.Delivery{provider.Answered, provider.MaybeSent} {
			if got := provider.Do(t.Context(), c, get(t, server.URL), provider.MaxBody); got.Delivery != want {
				t.Fatalf("delivery %d, want %d: %v", got.Delivery, want, got.Err)
			}
		}
	}
	if n := requests.Load(); n != 2*pairs {
		t.Errorf("the server saw %d requests, %d were made", n, 2*pairs)
	}
	// Control: that of net/http does repeat.
	requests.Store(0)
	repeating := &http.Transport{}
	defer repeating.CloseIdleConnections()
	for range 2 {
		if response, err := (&http.Client{Transport: repeating}).Get(server.URL); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	}
	if n := requests.Load(); n <= 2 {
		t.Errorf("the transport of net/http made %d requests of 2; this test proves nothing", n)
	}
}

// Connections that the server closed while they were idle must not make a
// contact's outcome unknown: nothing was written on them.
func TestDo_ReplacesStaleConnections(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{
		Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})},
	}
	server.Start()
	defer server.Close()
	c := client(t)
	for range 50 {
		if got := provider.Do(t.Context(), c, get(t, server.URL), provider.MaxBody); got.Delivery == provider.NeverSent {
			t.Fatalf("never sent: %v", got.Err)
		}
		server.CloseClientConnections()
	}
}

func TestDo_KnowsHowFarARequestGot(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/cut":
			panic(http.ErrAbortHandler)
		case "/hang":
			<-r.Context().Done()
		case "/partial":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		case "/large":
			_, _ = w.Write(bytes.Repeat([]byte("x"), 2000))
		case "/redirect":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "/elsewhere":
			t.Error("a redirect was followed")
		}
	}))
	t.Cleanup(server.Close)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = discardLog()
	secure.StartTLS()
	t.Cleanup(secure.Close)
	closed := httptest.NewServer(nil)
	closed.Close()

	cases := []struct {
		name, url string
		delivery  provider.Delivery
		fate      channels.SendStatus
		reason    string
	}{
		{"refused connection", closed.URL, provider.NeverSent, channels.NotSent, "connection refused"},
		{"no such host", "http://no-such-host.invalid", provider.NeverSent, channels.NotSent, "host not found"},
		{"certificate", secure.URL, provider.NeverSent, channels.NotSent, "TLS failure"},
		{"cut", server.URL + "/cut", provider.MaybeSent, channels.Unclear, "connection cut"},
		{"no answer", server.URL + "/hang", provider.MaybeSent, channels.Unclear, "timeout"},
		{"answer cut off", server.URL + "/partial", provider.Answered, channels.Unclear, "answer cut off"},
		{"answer too large", server.URL + "/large", provider.Answered, channels.Unclear, "answer too large"},
		{"redirect", server.URL + "/redirect", provider.Answered, channels.NotSent, "provider redirects"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			limit := 20 * time.Second
			if c.reason == "timeout" {
				limit = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			got := provider.Do(ctx, client(t), get(t, c.url+"?address=15550001"), 1000)
			if got.Delivery != c.delivery || got.Sent().Status != c.fate || got.Reason() != c.reason || !got.Sent().ChannelFault {
				t.Errorf("got delivery %d, %+v (%v); want delivery %d, fate %d, %q",
					got.Delivery, got.Sent(), got.Err, c.delivery, c.fate, c.reason)
			}
			if got.Err != nil && strings.Contains(got.Err.Error(), "address") {
				t.Errorf("the error shows the URL: %v", got.Err)
			}
		})
	}
}

func TestDo_TimeoutWhileConnectingSendsNothing(t *testing.T) {
	t.Parallel()
	transport := httponce.New(httponce.Options{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, io.EOF
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	got := provider.Do(ctx, &http.Client{Transport: transport}, get(t, "http://127.0.0.1:1"), 10)
	if got.Delivery != provider.NeverSent || got.Reason() != "timeout" || !got.Sent().ChannelFault {
		t.Errorf("got %+v, %q", got, got.Reason())
	}
}

// A cancellation of our own is not a channel fault.
func TestDo_OwnCancellationIsNoChannelFault(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("some cause"))
	got := provider.Do(ctx, client(t), get(t, "http://127.0.0.1:1"), 10)
	if s := got.Sent(); s.ChannelFault || s.Reason != "given up by us" {
		t.Errorf("got %+v", s)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A transport that does not report how far it got must not count as having sent
// nothing.
func TestDo_UnknownTransportMayHaveSent(t *testing.T) {
	t.Parallel()
	c := &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, io.EOF })}
	if got := provider.Do(t.Context(), c, get(t, "http://127.0.0.1"), 10); got.Delivery != provider.MaybeSent {
		t.Errorf("delivery %d", got.Delivery)
	}
}

// The bodies of POSTs survive the replacement of stale connections.
func TestDo_PostKeepsItsBodyOnAFreshConnection(t *testing.T) {
	t.Parallel()
	var bodies atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "content" {
			bodies.Add(1)
		}
	}))
	defer server.Close()
	u, _ := url.Parse(server.URL)
	c := client(t)
	for range 10 {
		r, err := provider.NewRequest(http.MethodPost, u, strings.NewReader("content"), provider.Credentials{Token: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if got := provider.Do(t.Context(), c, r, 10); !got.OK() {
			t.Fatalf("got %+v", got)
		}
	}
	if bodies.Load() != 10 {
		t.Errorf("%d whole bodies of 10", bodies.Load())
	}
}

// A server that prefers HTTP/2 is asked by HTTP/1.1: what was sent is known there.
func TestDo_SpeaksHTTP1WhereHTTP2IsOffered(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/cut" {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = discardLog()
	server.StartTLS()
	defer server.Close()
	transport := httponce.New(httponce.Options{TLS: &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}})
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport}
	if got := provider.Do(t.Context(), c, get(t, server.URL), 10); !got.OK() || string(got.Body) != "HTTP/1.1" {
		t.Fatalf("got %+v", got)
	}
	if got := provider.Do(t.Context(), c, get(t, server.URL+"/cut"), 10); got.Delivery != provider.MaybeSent {
		t.Errorf("got %+v", got)
	}
}

func TestSent_FollowsFromTheStatus(t *testing.T) {
	t.Parallel()
	cases := []struct {
		status int
		want   channels.SendResult
	}{
		{200, channels.SendResult{Status: channels.Unclear, Answered: true, ChannelFault: true, Reason: "answer not understood"}},
		{302, channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "provider redirects"}},
		{400, channels.SendResult{Status: channels.NotSent, Reason: "request refused"}},
		{401, channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "credentials refused"}},
		{403, channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "credentials refused"}},
		{404, channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "not found at the provider"}},
		{408, channels.SendResult{Status: channels.Unclear, ChannelFault: true, Reason: "request refused"}},
		{413, channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: "request refused"}},
		{429, channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "rate limited"}},
		{500, channels.SendResult{Status: channels.Unclear, Answered: true, ChannelFault: true, Reason: "provider error"}},
		{101, channels.SendResult{Status: channels.Unclear, ChannelFault: true, Reason: "answer not understood"}},
		{502, channels.SendResult{Status: channels.Unclear, ChannelFault: true, Reason: "gateway error"}},
		{503, channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "provider unavailable"}},
		{504, channels.SendResult{Status: channels.Unclear, ChannelFault: true, Reason: "gateway error"}},
	}
	for _, c := range cases {
		got := provider.Result{Delivery: provider.Answered, Status: c.status}.Sent()
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("status %d (-want +got):\n%s", c.status, d)
		}
	}
}

func TestBaseURL_RefusesWhatIsNoPlainURL(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"https://v.example", "http://127.0.0.1:8080/x"} {
		if _, err := provider.BaseURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "v.example", "ftp://v.example", "https://", "https://u:secret@v.example", "https://v.example?x", "https://v.example#x"} {
		if _, err := provider.BaseURL(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestCredentials_DoNotPrint(t *testing.T) {
	t.Parallel()
	c := provider.Credentials{Token: "token", Username: "user", Password: "password"}
	holder := struct{ C provider.Credentials }{c}
	for _, s := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v %s %q", c, c, c, c), fmt.Sprintf("%+v %#v", holder, &holder)} {
		for _, secret := range []string{"token", "user", "password"} {
			if strings.Contains(s, secret) {
				t.Errorf("%q shows %s", s, secret)
			}
		}
	}
}
