package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli"
	"weir/cmd/weir/cli/app"
	"weir/persistence/storetest"
)

// broker is a running Weir with its own database.
type broker struct {
	t   *testing.T
	url string
}

func newBroker(t *testing.T) *broker {
	t.Helper()
	database := "sqlite://" + filepath.Join(t.TempDir(), "weir.db")
	storetest.Migrate(t, database)
	lines, stop := start(t, []string{
		"DATABASE_URL=" + database, "LISTEN_ADDR=127.0.0.1:0", "WEIR_API_TOKENS=" + surveyToken,
	}, "serve")
	for lines.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			t.Cleanup(func() { stop() })
			// The log must be read, otherwise the daemon would block on writing it.
			go func() {
				for lines.Scan() { //nolint:revive // only read
				}
			}()
			return &broker{t, "http://" + line.Address}
		}
	}
	t.Fatal("it does not listen")
	return nil
}

// at runs a command line against an address, with the real clock.
func at(t *testing.T, url, stdin string, args ...string) clitest.Result {
	t.Helper()
	r := clitest.Run(func(out, err io.Writer) int {
		return cli.Run(t.Context(), args, cli.Options{
			Environ: []string{"WEIR_URL=" + url, "WEIR_TOKEN=" + surveyToken, "TZ=UTC", "SMS_PASSWORD=hunter2"},
			Stdin:   strings.NewReader(stdin), Stdout: out, Stderr: err, RetryDelay: time.Millisecond,
		})
	})
	if text := r.Out + r.Err; strings.Contains(text, surveyToken) || strings.Contains(text, "hunter2") {
		t.Errorf("a secret is shown:\n%s", text)
	}
	return r
}

func (b *broker) run(args ...string) clitest.Result { b.t.Helper(); return at(b.t, b.url, "", args...) }

// channel makes a paused channel.
func (b *broker) channel(name string) {
	b.t.Helper()
	clitest.Check(b.t, b.run("channel", "put", name, "--type", "nuntium", "--paused", "--capacity", "5", "--set", "base_url=http://127.0.0.1:9",
		"--set", "account=demo", "--set", "application=weir", "--set", "channel=line", "--secret-env", "password=SMS_PASSWORD"), app.OK, "^"+name+": saved, paused, capacity 5\n$", "^$")
}

// screenful is a terminal whose content a test reads.
type screenful struct {
	mu            sync.Mutex
	out, err      bytes.Buffer
	columns, rows int
}

// options returns the options of a command that runs on a terminal, with its input
// and its ticks.
func (s *screenful) options(url string, stdin io.Reader, ticks <-chan time.Time) cli.Options {
	return cli.Options{
		Environ: []string{"WEIR_URL=" + url, "WEIR_TOKEN=" + surveyToken, "TZ=UTC", "TERM=xterm"}, Stdin: stdin,
		Stdout: locked{s, &s.out}, Stderr: locked{s, &s.err}, RetryDelay: time.Millisecond,
		Now:  func() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) },
		Size: func(any) (int, int, bool) { s.mu.Lock(); defer s.mu.Unlock(); return s.columns, s.rows, true },
		NewTicker: func(d time.Duration) (<-chan time.Time, func()) {
			if d == 250*time.Millisecond { // polls of the terminal size
				return nil, func() {}
			}
			return ticks, func() {}
		},
	}
}

// locked is an output stream of a screenful.
type locked struct {
	s    *screenful
	into *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return l.into.Write(p)
}

// text returns the output so far.
func (s *screenful) text() (out, err string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String(), s.err.String()
}

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}
