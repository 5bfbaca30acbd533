package bench

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

func TestARequestArrivesWhenItIsSent(t *testing.T) {
	t.Parallel()
	type seen struct{ arrived, handled time.Time }
	requests := make(chan seen, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		defer answering(r)
		_, _ = io.Copy(io.Discard, r.Body)
		requests <- seen{arrivedAt(r), time.Now()}
	}))
	s.Listener = newArrivals(s.Listener)
	s.Config.ConnContext = withConnection
	s.Start()
	defer s.Close()
	for i, body := range []string{"", "short", strings.Repeat("long", 100_000), ""} { // on one connection
		began := time.Now()
		answer, err := s.Client().Post(s.URL, "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if got := <-requests; got.arrived.Before(began) || got.arrived.After(got.handled) {
			t.Errorf("request %d was sent after %v, arrived at %v and was handled at %v", i, began, got.arrived, got.handled)
		}
	}
}

func TestAConnectionEndsAsOthersDo(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := newArrivals(l).Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	_ = server.SetReadDeadline(time.Unix(1, 0))
	if _, err := server.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	_ = server.SetReadDeadline(time.Time{})
	_ = client.Close()
	if n, err := server.Read(make([]byte, 1)); n != 0 || err != io.EOF { //nolint:errorlint // as io.Reader has it
		t.Errorf("at the end: %d, %v", n, err)
	}
}
