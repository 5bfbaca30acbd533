package web_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"weir/web"
	"weir/web/webtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pipes is a listener whose clients use the other end of a pipe.
type pipes struct {
	once sync.Once
	net.Listener
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// dial returns the client's end.
func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

func TestServer_SlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, sent string
		within     time.Duration
	}{
		{"half a head", "GET /livez HTTP/1.1\r\nHost:", 5 * time.Second},
		{"idle", "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", 60 * time.Second},
		{"half a body", "POST /v1/channels/a/contacts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + webtest.APICanary + "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", 20 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := webtest.New(t)
				r.Channel("a", "texts")
				l := newPipes()
				server := webtest.NewServer(r.Handler)
				done := make(chan error)
				go func() { done <- server.Serve(l) }()
				c := l.dial()
				if _, err := c.Write([]byte(tc.sent)); err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				var err error
				for buf := make([]byte, 1024); err == nil; {
					_, err = c.Read(buf)
				}
				if took := time.Since(begin); took > tc.within {
					t.Errorf("cut off after %v", took)
				}
				if err := server.Close(); err != nil {
					t.Error(err)
				}
				if err := <-done; !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
		})
	}
}

func TestServer_LargeHeadIsRefused(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := webtest.NewServer(r.Handler)
	done := make(chan error)
	go func() { done <- server.Serve(l) }()
	defer func() {
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the server ended with %v", err)
		}
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+l.Addr().String()+"/livez", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Large", strings.Repeat("x", 64<<10))
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", res.StatusCode)
	}
}

func TestServer_HasEveryTimeout(t *testing.T) {
	t.Parallel()
	s := webtest.NewServer(http.NotFoundHandler())
	if s.ReadHeaderTimeout == 0 || s.ReadTimeout == 0 || s.WriteTimeout == 0 || s.IdleTimeout == 0 || s.MaxHeaderBytes == 0 {
		t.Errorf("%+v", s)
	}
}

func TestServer_RequestsHaveAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := webtest.New(t, func(o *web.Options) { o.Store = &webtest.Hanging{Store: o.Store} })
		begin := time.Now()
		g := r.Do("GET", "/v1/contacts", "")
		if took := time.Since(begin); g.Status != 503 || took > 30*time.Second {
			t.Errorf("%d after %v", g.Status, took)
		}
		begin = time.Now()
		rec := httptest.NewRecorder()
		r.Handler.ServeHTTP(rec, httptest.NewRequest("GET", "/readyz", nil))
		if took := time.Since(begin); rec.Code != 503 || took > 5*time.Second {
			t.Errorf("readyz: %d after %v", rec.Code, took)
		}
	})
}
