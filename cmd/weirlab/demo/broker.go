package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"weir/cmd/weirlab/machine"
)

// broker is the process that the demo shows, with its database in the folder of its log.
// Several processes have a server as their database.
type broker struct {
	*machine.Server
	system  []string // the part of its environment that is not Weir's
	api     *api
	cluster *cluster // the processes, if there are several
}

// readyLimit bounds the start of the broker.
const readyLimit = 20 * time.Second

// newBroker prepares a broker with a folder of its own. Nothing runs yet. With several
// processes it stands for all of them: its address is the balancer's.
func newBroker(ctx context.Context, o Options) (*broker, error) {
	folder, err := os.MkdirTemp("", "weir-demo-")
	if err != nil {
		return nil, err
	}
	b, err := prepared(ctx, o, folder, secret())
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return b, nil
}

func prepared(ctx context.Context, o Options, folder, token string) (*broker, error) {
	b := &broker{system: systemEnvironment()}
	env := append(environment(o.pace(), token), b.system...)
	if o.Serve { // so that hours need no more disk than they have to; of two values, the latter counts
		env = append(env, "WEIR_RETENTION=30m", "WEIR_EVENT_RETENTION=25h", "LOG_LEVEL=warn")
	}
	var err error
	if o.several() {
		if b.cluster, err = newCluster(ctx, o, folder, token, env); err != nil {
			return nil, err
		}
		b.Server = &machine.Server{Program: o.Program, Folder: folder, URL: b.cluster.balancer.URL}
	} else if b.Server, err = machine.NewServer(ctx, o.Program, folder, append(env, "DATABASE_URL=sqlite://"+filepath.Join(folder, "weir.db"))...); err != nil {
		return nil, err
	}
	b.api, err = newAPI(b.URL, token)
	return b, err
}

// environment returns Weir's settings, without those of its address and database.
func environment(p pace, token string) []string {
	minutes := func(d time.Duration) string { return strconv.FormatFloat(d.Minutes(), 'f', 6, 64) }
	return []string{
		"WEIR_API_TOKENS=" + token,
		// In production these are minutes, too long for a demo.
		"CHNL_BKR_GC_IDLE_MINUTES=" + minutes(p.atLeast(time.Second, 3*time.Second)),
		"CHNL_BKR_GC_INTERVAL_MINUTES=" + minutes(p.atLeast(250*time.Millisecond, time.Second)),
		"LOST_AFTER_MINUTES=" + minutes(p.atLeast(3*time.Second, 8*time.Second)),
		"WEIR_SETTLE_AFTER=" + p.atLeast(500*time.Millisecond, time.Second).String(),
		"LOG_LEVEL=info", "LOG_FORMAT=text",
	}
}

func systemEnvironment() (env []string) {
	for _, name := range []string{"TMPDIR", "SystemRoot"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// logged reports whether the broker has written anything to its log. One that was never
// started has not.
func (b *broker) logged() bool {
	logs, _ := filepath.Glob(b.logs())
	return slices.ContainsFunc(logs, func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && info.Size() > 0
	})
}

// logs returns the pattern of the names of its logs.
func (b *broker) logs() string {
	if b.cluster != nil {
		return filepath.Join(b.Folder, "*", filepath.Base(b.Log()))
	}
	return b.Log()
}

// kill ends the process like kill -9; of several, all.
func (b *broker) kill() {
	b.Kill()
	if b.cluster != nil {
		b.cluster.close()
	}
	b.api.Close()
}
