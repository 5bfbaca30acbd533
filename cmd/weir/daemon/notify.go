package daemon

import (
	"context"
	"net"
	"time"
)

// notify reports the state of the process to systemd (sd_notify), if it runs under
// systemd. If systemd cannot be reached, the daemon still runs.
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
