package daemon

import (
	"context"
	"net"
	"time"
)

// notify tells systemd what the process is up to (sd_notify), if it runs under
// systemd. That it cannot be told is no reason to fail.
func (d *Daemon) notify(state string) {
	if d.notifySocket == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unixgram", d.notifySocket)
	if err != nil {
		d.log.Warn("systemd cannot be told", "state", state, "error", err)
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = conn.Write([]byte(state))
}
