package daemon_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"weir/cmd/weir/daemon"
)

// Scenario 186: five thousand connections of a stranger who asks nothing keep
// nobody out, the stranger's own neighbors on the address included.
func TestScenario186_IdleConnectionsOfAStranger(t *testing.T) {
	t.Parallel()
	d, err := daemon.New(t.Context(), daemon.Options{
		Config: configuration(t, "LISTEN_ADDR=127.0.0.1:0", "DATABASE_URL=sqlite://"+filepath.Join(t.TempDir(), "weir.db")),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	var idle []net.Conn
	t.Cleanup(func() {
		for _, c := range idle {
			_ = c.Close()
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for range 5000 {
		c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", d.Addr())
		if err != nil {
			t.Fatalf("connection %d (the process needs some 10,000 open files, see ulimit -n): %v", len(idle)+1, err)
		}
		idle = append(idle, c)
	}
	client := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range []string{"/livez", "/v1/channels"} {
		resp, err := client.Get("http://" + d.Addr() + path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
}
