package httponce_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/internal/httponce"
)

// proxy starts a proxy that expects credentials, and returns its address and what it was asked.
func proxy(t *testing.T, secure bool) (*server, func() string) {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	p := serve(t, secure, func(s *server, _ int64, c net.Conn) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			mu.Lock()
			asked = append(asked, r.Method+" "+r.RequestURI)
			mu.Unlock()
			switch {
			case r.Header.Get("Proxy-Authorization") != "Basic dTpw": // u:p
				_, _ = io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
			case r.Method == http.MethodConnect:
				to, err := net.Dial("tcp", r.Host)
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 Connected\r\n\r\n")
				go func() { _, _ = io.Copy(to, in); _ = to.Close() }()
				_, _ = io.Copy(c, to)
				return
			default:
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(c, fine)
			}
		}
	})
	return p, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(asked, ", ")
	}
}

func TestTransport_GoesThroughAProxy(t *testing.T) {
	t.Parallel()
	for _, secureProxy := range []bool{false, true} {
		for _, secure := range []bool{false, true} {
			p, asked := proxy(t, secureProxy)
			s := serve(t, secure, answering(fine))
			through, err := url.Parse(p.url)
			if err != nil {
				t.Fatal(err)
			}
			trust := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: "example.com"}
			for _, known := range []*tls.Config{s.tls, p.tls} {
				if known != nil {
					trust.RootCAs = known.RootCAs // both have the certificate of httptest
				}
			}
			through.User = url.UserPassword("u", "p")
			transport := httponce.New(httponce.Options{TLS: trust, Proxy: http.ProxyURL(through)})
			for range 2 {
				if is := ask(t.Context(), transport, http.MethodPost, s.url+"/x?y", "hello"); is.known != answered || is.body != "ok" {
					t.Errorf("proxy by TLS %v, TLS %v: %+v", secureProxy, secure, is)
				}
			}
			transport.CloseIdleConnections()
			want, arrived := "POST "+s.url+"/x?y, POST "+s.url+"/x?y", int64(0)
			if secure {
				want, arrived = "CONNECT "+strings.TrimPrefix(s.url, "https://"), 2
			}
			if asked() != want || s.arrived.Load() != arrived || p.opened.Load() != 1 {
				t.Errorf("the proxy was asked %q by %d connections, want %q; %d requests arrived", asked(), p.opened.Load(), want, s.arrived.Load())
			}

			through.User = url.UserPassword("u", "wrong")
			transport = httponce.New(httponce.Options{TLS: trust, Proxy: http.ProxyURL(through)})
			is := ask(t.Context(), transport, http.MethodPost, s.url, "hello")
			transport.CloseIdleConnections()
			if secure && is.known != notSent || !secure && is.status != http.StatusProxyAuthRequired || is.err != nil && strings.Contains(is.err.Error(), "wrong") {
				t.Errorf("refused by the proxy: %+v", is)
			}
		}
	}
}

// Names with other letters are looked up in their form in ASCII.
func TestTransport_LooksNamesUpInASCII(t *testing.T) {
	t.Parallel()
	dialed := ""
	transport := httponce.New(httponce.Options{Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		dialed = address
		return nil, io.EOF
	}})
	for target, want := range map[string]string{
		"http://bücher.example/": "xn--bcher-kva.example:80", "https://bücher.example:8443/": "xn--bcher-kva.example:8443",
		"http://[::1]:81/": "[::1]:81", "https://a.example": "a.example:443",
	} {
		if is := ask(t.Context(), transport, http.MethodPost, target, "hello"); is.known != notSent || dialed != want {
			t.Errorf("%s: dialed %q, want %q; %+v", target, dialed, want, is)
		}
	}
}

// A proxy of SOCKS 5 connects to the name that it is given, and passes everything on.
func TestTransport_GoesThroughSOCKS(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	p := serve(t, false, func(_ *server, _ int64, c net.Conn) {
		read := func(n int) []byte {
			b := make([]byte, n)
			_, _ = io.ReadFull(c, b)
			return b
		}
		read(int(read(2)[1]))           // methods
		_, _ = c.Write([]byte{5, 2})    // name and password (RFC 1929)
		name := read(int(read(2)[1]))   //
		secret := read(int(read(1)[0])) //
		if string(name)+string(secret) != "up" {
			_, _ = c.Write([]byte{1, 1})
			return
		}
		_, _ = c.Write([]byte{1, 0})
		if head := read(5); head[3] != 3 { // the name of a host
			t.Errorf("asked for an address of kind %d", head[3])
		} else {
			read(int(head[4]))
		}
		port := read(2)
		asked.Add(1)
		to, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port[0])<<8|int(port[1]))))
		if err != nil {
			return
		}
		_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		go func() { _, _ = io.Copy(to, c); _ = to.Close() }()
		_, _ = io.Copy(c, to)
	})
	for _, secure := range []bool{false, true} {
		s := serve(t, secure, answering(fine))
		through := &url.URL{Scheme: "socks5", User: url.UserPassword("u", "p"), Host: strings.TrimPrefix(p.url, "http://")}
		trust := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: "example.com"}
		if s.tls != nil {
			trust.RootCAs = s.tls.RootCAs
		}
		transport := httponce.New(httponce.Options{TLS: trust, Proxy: http.ProxyURL(through)})
		before := asked.Load()
		target := strings.Replace(s.url, "127.0.0.1", "provider.example", 1) // which the proxy alone knows
		for range 2 {
			if is := ask(t.Context(), transport, http.MethodPost, target+"/x?y", "hello"); is.known != answered || is.body != "ok" {
				t.Errorf("TLS %v: %+v", secure, is)
			}
		}
		transport.CloseIdleConnections()
		if n := asked.Load() - before; n != 1 || s.arrived.Load() != 2 {
			t.Errorf("TLS %v: the proxy connected %d times for %d requests", secure, n, s.arrived.Load())
		}
		through.User = url.UserPassword("u", "wrong")
		transport = httponce.New(httponce.Options{TLS: trust, Proxy: http.ProxyURL(through)})
		if is := ask(t.Context(), transport, http.MethodPost, target, "hello"); is.known != notSent {
			t.Errorf("refused by the proxy: %+v", is)
		}
		transport.CloseIdleConnections()
	}
}
