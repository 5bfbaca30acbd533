package daemon_test

import (
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"weir/cmd/weir/daemon"
	"weir/test/daemontest"
)

// Scenario 186: five thousand idle connections from one address, or as many as this
// process may open, shut out no other client, not even one at the same address.
func TestConnections_IdleOnesShutNobodyOut(t *testing.T) {
	t.Parallel()
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	const maxOpen, minOpen = 5000, 1200 // above the connection limit per address and the reserve
	const others = 1024 + 64 + 1000     // the daemon's ends of the connections, and files of other tests
	n := int(min(files.Cur, maxOpen+others)) - others
	if n < minOpen {
		t.Fatalf("this process may open %d files; the test needs %d (ulimit -n)", files.Cur, minOpen+others)
	}
	d, _ := daemontest.Run(t, daemon.Options{
		Config: configuration(t, "LISTEN_ADDR=127.0.0.1:0", "DATABASE_URL="+sqliteURL(t)),
	})
	var idle []net.Conn
	t.Cleanup(func() {
		for _, c := range idle {
			_ = c.Close()
		}
	})
	for range n {
		c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(t.Context(), "tcp", d.Addr())
		if err != nil {
			t.Fatalf("connection %d of %d: %v", len(idle)+1, n, err)
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
