package memnet_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/channels/simulation/memnet"
)

func TestNetwork_ConnectsClientsAndServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var network memnet.Network
		transport := network.Transport()
		client := &http.Client{Transport: transport}
		ask := func() (string, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.test/x", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(r)
			if err != nil {
				return "", err
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(response.Body)
			return string(body), err
		}
		if _, err := ask(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("no listener: %v", err)
		}
		stop := network.Serve("a.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Host+r.URL.Path)
		}))
		for range 2 {
			if got, err := ask(); got != "a.test/x" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		}
		transport.CloseIdleConnections()
		stop()
		if _, err := ask(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("after the end: %v", err)
		}
		silent := network.Listen("a.test") // never accepts
		if _, err := ask(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a silent listener: %v", err)
		}
		_ = silent.Close()
	})
}
