package web_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"weir/web"
)

// A client that connected and has asked nothing does not hold up the end of
// the server; one whose request is being answered does.
func TestShutdownDoesNotWaitForSilentConnections(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, sent string
		want       time.Duration
	}{
		{"nothing asked", "", 0},
		{"a request under way", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 2 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := web.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(2 * time.Second) }), slog.New(slog.DiscardHandler))
				l := newPipes()
				go func() {
					if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
						t.Error(err)
					}
				}()
				client := l.dial()
				go func() {
					_, _ = client.Write([]byte(tc.sent))
					_, _ = client.Read(make([]byte, 1000))
					_ = client.Close()
				}()
				synctest.Wait()
				began := time.Now()
				if err := s.Shutdown(context.Background()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < tc.want || took > tc.want+time.Second {
					t.Errorf("the end took %v; want %v", took, tc.want)
				}
			})
		})
	}
}
