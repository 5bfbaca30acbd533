package daemon_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"weir/cmd/weir/daemon"
	"weir/test/daemontest"
)

// Scenario 196: a client with a very slow upload does not turn a shutdown into a failure.
func TestSlowUpload_FailsNoShutdown(t *testing.T) {
	t.Parallel()
	d, stop := daemontest.Run(t, daemon.Options{
		Config: configuration(t, "LISTEN_ADDR=127.0.0.1:0", "DATABASE_URL="+sqliteURL(t)),
	})
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", d.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "PUT /v1/channels/sms HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c).ReadString('\n') // sent once the handler reads the body
	if err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := fmt.Fprint(c, "{"); err != nil {
		t.Fatal(err)
	}
	stop() // must be orderly
}
