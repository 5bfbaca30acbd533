package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"weir/cmd/weirlab/machine"
)

// broker is the process that the demo shows, with its database in the folder of its log.
type broker struct {
	*machine.Server
	system []string // the part of its environment that is not Weir's
	api    *api
}

// readyLimit bounds the start of the broker.
const readyLimit = 20 * time.Second

// newBroker prepares a broker with a folder of its own. Nothing runs yet.
func newBroker(ctx context.Context, o Options) (*broker, error) {
	folder, err := os.MkdirTemp("", "weir-demo-")
	if err != nil {
		return nil, err
	}
	p, token := pace{o.Speed}, secret()
	minutes := func(d time.Duration) string { return strconv.FormatFloat(d.Minutes(), 'f', 6, 64) }
	b := &broker{}
	b.Server, err = machine.NewServer(ctx, o.Program, folder,
		"DATABASE_URL=sqlite://"+filepath.Join(folder, "weir.db"),
		"WEIR_API_TOKENS="+token,
		// In production these are minutes, too long for a demo.
		"CHNL_BKR_GC_IDLE_MINUTES="+minutes(p.atLeast(time.Second, 3*time.Second)),
		"CHNL_BKR_GC_INTERVAL_MINUTES="+minutes(p.atLeast(250*time.Millisecond, time.Second)),
		"LOST_AFTER_MINUTES="+minutes(p.atLeast(3*time.Second, 8*time.Second)),
		"WEIR_SETTLE_AFTER="+p.atLeast(500*time.Millisecond, time.Second).String(),
		"LOG_LEVEL=info", "LOG_FORMAT=text",
	)
	if err == nil {
		b.api, err = newAPI(b.URL, token)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	for _, name := range []string{"TMPDIR", "SystemRoot"} {
		if value := os.Getenv(name); value != "" {
			b.system = append(b.system, name+"="+value)
		}
	}
	b.Env = append(b.Env, b.system...)
	return b, nil
}

// logged reports whether the broker has written anything to its log. One that was never
// started has not.
func (b *broker) logged() bool {
	info, err := os.Stat(b.Log())
	return err == nil && info.Size() > 0
}

// kill ends the process like kill -9.
func (b *broker) kill() {
	b.Kill()
	b.api.Close()
}
