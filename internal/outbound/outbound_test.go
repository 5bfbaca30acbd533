package outbound_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/internal/outbound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is the test's own network: every name resolves as configured, and every
// address leads to one server.
type world struct {
	policy outbound.Policy
	dialed atomic.Value // the last address
	server *httptest.Server
}

func newWorld(t *testing.T, names map[string][]string, h http.HandlerFunc) *world {
	t.Helper()
	w := &world{server: httptest.NewTLSServer(h)}
	t.Cleanup(w.server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(w.server.Certificate())
	w.policy = outbound.Policy{
		Timeout: 30 * time.Second,
		TLS:     &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12},
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			var list []netip.Addr
			for _, a := range names[host] {
				list = append(list, netip.MustParseAddr(a))
			}
			if list == nil {
				return nil, errors.New("no such host " + host)
			}
			return list, nil
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			w.dialed.Store(address)
			var d net.Dialer
			return d.DialContext(ctx, network, w.server.Listener.Addr().String())
		},
	}
	return w
}

func (w *world) post(t *testing.T, url string) (int, string, error) {
	t.Helper()
	c := outbound.New(w.policy)
	defer c.Close()
	answer, err := c.Do(t.Context(), http.MethodPost, url, http.Header{"X-Test": {"1"}}, []byte("hello"))
	return answer.Status, string(answer.Body), err
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, _ = w.Write([]byte(r.Header.Get("X-Test") + string(body)))
}

func TestOutbound_APublicHostIsCalledAtTheAddressThatWasChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{"hooks.example": {"10.0.0.1", "93.184.216.34"}}, echo)
	status, body, err := w.post(t, "https://hooks.example/in?code=x")
	if err != nil || status != 200 || body != "1hello" {
		t.Fatalf("%d %q %v", status, body, err)
	}
	if got := w.dialed.Load(); got != "93.184.216.34:443" {
		t.Errorf("dialled %v", got)
	}
}

// One of a host's addresses may not respond: the others are tried within the time
// of the call.
func TestOutbound_AnAddressThatIsSilentIsNotTheLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{"hooks.example": {"2606:2800::1", "93.184.216.33", "93.184.216.34"}}, echo)
	w.policy.Timeout = 5 * time.Second
	dial := w.policy.Dial
	w.policy.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != "93.184.216.34:443" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dial(ctx, network, address)
	}
	if status, body, err := w.post(t, "https://hooks.example/"); err != nil || status != 200 || body != "1hello" {
		t.Fatalf("%d %q %v", status, body, err)
	}
}

func TestOutbound_RefusesAddressesThatAreNotPublic(t *testing.T) {
	t.Parallel()
	for _, a := range []string{
		"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "::ffff:10.0.0.1", "fd12::1", "fec0::1",
		"169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "100.64.0.1", "100.100.100.200", "168.63.129.16",
		"224.0.0.1", "ff02::1", "0.0.0.0", "::", "0.1.2.3", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.18.0.1", "2001:db8::1",
		"::ffff:0:7f00:1", "::ffff:0:8.8.8.8", "2a00::5efe:a00:1", "2a00::200:5efe:7f00:1", "4000::1", "1000::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::1", "::7f00:1", "2001::1",
	} {
		t.Run(a, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, map[string][]string{"hooks.example": {a}}, echo)
			if _, _, err := w.post(t, "https://hooks.example/"); outbound.KindOf(err) != outbound.Refused {
				t.Errorf("by name: %v", err)
			}
			if ip := netip.MustParseAddr(a); !ip.Unmap().IsLoopback() && ip.Zone() == "" {
				if _, _, err := w.post(t, "https://"+net.JoinHostPort(a, "443")+"/"); outbound.KindOf(err) != outbound.Refused {
					t.Errorf("by address: %v", err)
				}
			}
			if got := w.dialed.Load(); got != nil {
				t.Errorf("dialled %v", got)
			}
		})
	}
}

func TestOutbound_SettingsAllowOnlyWhatTheyName(t *testing.T) {
	t.Parallel()
	names := map[string][]string{
		"in.example": {"10.0.0.1"}, "meta.example": {"169.254.169.254"}, "localhost": {"127.0.0.1"}, "odd.localhost": {"10.0.0.1"},
		"many.example": {"224.0.0.1"}, "pub.example": {"93.184.216.34"}, "v6.example": {"2606:2800:220:1::1"}, "mine.example": {"fd00::1"},
		"self.example": {"127.0.0.1"},
	}
	private, plain := outbound.Policy{AllowPrivate: true}, outbound.Policy{AllowPlain: true}
	loopback, both := outbound.Policy{AllowLoopback: true}, outbound.Policy{AllowLoopback: true, AllowPrivate: true}
	listed := outbound.Policy{AllowHosts: []string{"In.example.", "meta.example", "many.example", "10.0.0.7"}}
	self := outbound.Policy{AllowHosts: []string{"127.0.0.1", "localhost", "self.example"}}
	for _, c := range []struct {
		url    string
		policy outbound.Policy
		ok     bool
	}{
		{"https://v6.example/", outbound.Policy{}, true},
		{"https://127.0.0.1/", outbound.Policy{}, false},
		{"https://127.0.0.1/", private, false},
		{"https://127.0.0.1/", loopback, true},
		{"https://127.0.0.1/", self, true},
		{"https://127.0.0.2/", self, false},
		{"https://[::1]/", outbound.Policy{}, false},
		{"https://[::ffff:127.0.0.1]/", outbound.Policy{}, false},
		{"https://[::ffff:127.0.0.1]/", loopback, true},
		{"https://localhost/", outbound.Policy{}, false},
		{"https://localhost/", loopback, true},
		{"https://localhost/", self, true},
		{"https://odd.localhost/", both, false},    // a name that denotes this machine must resolve to it
		{"https://self.example/", loopback, false}, // the owner of the name chose that
		{"https://self.example/", private, false},
		{"https://self.example/", both, true},
		{"https://self.example/", self, true},
		{"https://in.example/", outbound.Policy{}, false},
		{"https://in.example/", private, true},
		{"https://mine.example/", private, true},
		{"https://meta.example/", private, false},
		{"https://meta.example/", listed, true},
		{"https://many.example/", listed, false},
		{"https://in.example/", listed, true},
		{"https://10.0.0.7/", listed, true},
		{"https://10.0.0.8/", listed, false},
		{"https://in.example/", plain, false},
	} {
		w := newWorld(t, names, echo)
		c.policy.Resolve, c.policy.Dial, c.policy.TLS = w.policy.Resolve, w.policy.Dial, w.policy.TLS
		w.policy = c.policy
		_, _, err := w.post(t, c.url)
		if (err == nil) != c.ok || err != nil && outbound.KindOf(err) != outbound.Refused {
			t.Errorf("%s under %+v: %v", c.url, c.policy.AllowHosts, err)
		}
	}
}

func TestOutbound_CheckRefusesForbiddenURLs(t *testing.T) {
	t.Parallel()
	listed, loopback := outbound.Policy{AllowHosts: []string{"in.example"}}, outbound.Policy{AllowLoopback: true}
	for _, c := range []struct {
		url    string
		policy outbound.Policy
		want   outbound.Kind
	}{
		{"https://a.example/", outbound.Policy{}, ""},
		{"http://127.0.0.1:80/", loopback, ""},
		{"http://localhost:80/", loopback, ""},
		{"http://[::1]/", loopback, ""},
		{"http://127.0.0.1:80/", outbound.Policy{}, outbound.Refused},
		{"http://localhost:80/", outbound.Policy{}, outbound.Refused},
		{"https://localhost./", outbound.Policy{AllowPrivate: true, AllowPlain: true}, outbound.Refused},
		{"http://[::1]/", outbound.Policy{}, outbound.Refused},
		{"http://localhost:80/", outbound.Policy{AllowHosts: []string{"localhost"}}, ""},
		{"http://a.example/", loopback, outbound.Refused},
		{"http://a.example/", outbound.Policy{}, outbound.Refused},
		{"http://localhost.evil.example/", outbound.Policy{}, outbound.Refused},
		{"http://a.example/", outbound.Policy{AllowPlain: true}, ""},
		{"http://in.example:8080/", listed, ""},
		{"http://out.example/", listed, outbound.Refused},
		{"http://169.254.169.254/latest", outbound.Policy{AllowPlain: true, AllowPrivate: true}, outbound.Refused},
		{"https://10.0.0.1/", outbound.Policy{}, outbound.Refused},
		{"ftp://a.example/", outbound.Policy{}, outbound.Invalid},
		{"https:///x", outbound.Policy{}, outbound.Invalid},
		{"https:a.example", outbound.Policy{}, outbound.Invalid},
		{"https://a.example:65535", outbound.Policy{}, ""},
		{"https://a.example:65536", outbound.Policy{}, outbound.Invalid},
		{"https://a.example:0", outbound.Policy{}, outbound.Invalid},
		{"://", outbound.Policy{}, outbound.Invalid},
		{"", outbound.Policy{}, outbound.Invalid},
	} {
		if got := outbound.KindOf(c.policy.Check(c.url)); got != c.want {
			t.Errorf("%q: %q, want %q", c.url, got, c.want)
		}
	}
}

// TestOutbound_DialsTheAddressThatWasChecked makes a name resolve to a public address first and to this
// machine ever after: the address that was checked is dialed, each time.
func TestOutbound_DialsTheAddressThatWasChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		echo(w, r)
	})
	var asked atomic.Int32
	w.policy.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		if asked.Add(1) == 1 {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	c := outbound.New(w.policy)
	defer c.Close()
	if _, err := c.Do(t.Context(), http.MethodPost, "https://evil.example/", nil, nil); err != nil {
		t.Fatal(err)
	}
	if asked.Load() != 1 || w.dialed.Load() != "93.184.216.34:443" {
		t.Errorf("asked %d times, dialled %v", asked.Load(), w.dialed.Load())
	}
	if _, err := c.Do(t.Context(), http.MethodPost, "https://evil.example/", nil, nil); outbound.KindOf(err) != outbound.Refused {
		t.Errorf("the second time: %v", err)
	}
}

func TestOutbound_RedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	w := newWorld(t, map[string][]string{"a.example": {"93.184.216.34"}}, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "https://127.0.0.1/admin", http.StatusTemporaryRedirect)
	})
	status, _, err := w.post(t, "https://a.example/")
	if err != nil || status != http.StatusTemporaryRedirect || calls.Load() != 1 {
		t.Errorf("status %d after %d calls: %v", status, calls.Load(), err)
	}
}

func TestOutbound_AnswersAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{"a.example": {"93.184.216.34"}}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client left
		switch r.URL.Path {
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					return
				}
			}
		case "/slow":
			w.WriteHeader(http.StatusOK)
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte("x")); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		case "/silent":
			<-r.Context().Done()
		case "/exact":
			_, _ = w.Write(make([]byte, 100<<10))
		}
	})
	w.policy.MaxBody, w.policy.Timeout = 100<<10, 5*time.Second
	if _, body, err := w.post(t, "https://a.example/exact"); err != nil || len(body) != 100<<10 {
		t.Errorf("as large as allowed: %d bytes, %v", len(body), err)
	}
	for path, want := range map[string]outbound.Kind{"/endless": outbound.TooLarge, "/slow": outbound.Timeout, "/silent": outbound.Timeout} {
		if _, _, err := w.post(t, "https://a.example"+path); outbound.KindOf(err) != want {
			t.Errorf("%s: %v (%v), want %v", path, err, outbound.KindOf(err), want)
		}
	}
}

// A receiver switches to another protocol and keeps the connection, which no deadline of
// the request ends.
func TestDo_KeepsAConnectionThatSwitchesProtocols(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{"a.example": {"93.184.216.34"}}, func(w http.ResponseWriter, _ *http.Request) {
		conn, in, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		_, _ = io.Copy(io.Discard, in) // until the caller closes it
	})
	ended := make(chan error, 1)
	go func() {
		_, _, err := w.post(t, "https://a.example/")
		ended <- err
	}()
	select {
	case err := <-ended:
		if outbound.KindOf(err) != outbound.Unreachable {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it still waits")
		w.server.CloseClientConnections()
	}
}

// Many calls to one host hang. Another one to the same host and port is served meanwhile.
func TestDo_HangingCallsLeaveRoomAtTheSameHost(t *testing.T) {
	t.Parallel()
	const hanging = 40
	arrived := make(chan struct{}, hanging)
	w := newWorld(t, map[string][]string{"a.example": {"93.184.216.34"}}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client left
			arrived <- struct{}{}
			<-r.Context().Done()
		}
		w.WriteHeader(http.StatusNoContent)
	})
	w.policy.Timeout = 10 * time.Second
	c := outbound.New(w.policy)
	defer c.Close()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for range hanging {
		all.Go(func() { _, _ = c.Do(ctx, http.MethodPost, "https://a.example/hang", nil, []byte("x")) })
	}
	served := make(chan error, 1)
	all.Go(func() {
		for range hanging {
			select {
			case <-arrived:
			case <-ctx.Done():
				return
			}
		}
		_, err := c.Do(ctx, http.MethodPost, "https://a.example/", nil, []byte("x"))
		served <- err
	})
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the call waits for the hanging ones")
	}
}

// The status of an answer is known even if its body is lost.
func TestDo_KnowsTheStatusEvenIfTheBodyIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{"a.example": {"93.184.216.34"}}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("the beginning"))
		_ = http.NewResponseController(w).Flush()
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	})
	w.policy.Timeout = 5 * time.Second
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	for path, want := range map[string]outbound.Kind{"/cut": outbound.Unreachable, "/slow": outbound.Timeout} {
		status, body, err := w.post(t, "https://a.example"+path)
		if status != http.StatusOK || body != "" || outbound.KindOf(err) != want {
			t.Errorf("%s: %d %q, %v", path, status, body, err)
		}
	}
}

func TestOutbound_ErrorsHaveKindsAndKeepSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{"a.example": {"93.184.216.34"}}, echo)
	w.policy.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
	for url, want := range map[string]outbound.Kind{
		"https://a.example/?code=hunter2":        outbound.Unreachable,
		"https://u:hunter2@nowhere.example/":     outbound.Unresolved,
		"ftp://u:hunter2@a.example/":             outbound.Invalid,
		"https://a.example/%zz?hunter2":          outbound.Invalid,
		"http://hunter2.example/?code=hunter2":   outbound.Refused,
		"https://u:hunter2@10.0.0.1/?a=hunter2x": outbound.Refused,
	} {
		_, _, err := w.post(t, url)
		if outbound.KindOf(err) != want || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "93.184") {
			t.Errorf("%s: %v (%v), want %v", url, err, outbound.KindOf(err), want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := outbound.New(w.policy)
	if _, err := c.Do(ctx, http.MethodPost, "https://a.example/", nil, nil); outbound.KindOf(err) != outbound.Canceled {
		t.Errorf("canceled: %v", err)
	}
}

func TestOutbound_ProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://93.184.216.99:3128")
	t.Setenv("HTTP_PROXY", "http://93.184.216.99:3128")
	w := newWorld(t, map[string][]string{"a.example": {"93.184.216.34"}}, echo)
	if _, _, err := w.post(t, "https://a.example/"); err != nil || w.dialed.Load() != "93.184.216.34:443" {
		t.Errorf("dialled %v: %v", w.dialed.Load(), err)
	}
}
