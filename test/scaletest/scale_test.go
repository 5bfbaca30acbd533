// Package scaletest_test measures how the built program scales with the size of its
// store: its start with idle channels, queued contacts and waiting jobs, and all
// operations on a survey. By default it runs small, so that it stays in working
// order; -scale.full runs the size of the figures in docs/performance.md.
package scaletest_test

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir"
	"weir/channels/nuntium/simulator"
	"weir/internal/polling"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

var full = flag.Bool("scale.full", false, "1,000 idle channels, 1,000,000 queued contacts and respondents, 100,000 jobs")

const busy = 10 // channels with queued contacts

type size struct{ idle, queued int }

func TestStart_IsFastWithMuchInTheStore(t *testing.T) {
	n := size{idle: 50, queued: 20_000}
	if *full {
		n = size{idle: 1000, queued: 1_000_000}
	}
	program := build(t)
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			url := "sqlite://" + filepath.Join(t.TempDir(), "weir.db")
			if store == "mariadb" {
				url = testmysql.URL(t)
			}
			measure(t, program, url, n)
		})
	}
}

var (
	folder string
	built  func() error // builds the program once for all tests
)

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "weir-scale-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = sync.OnceValue(func() error {
		c := exec.Command("go", "build", "-ldflags", "-s -w", "-o", folder, "weir/cmd/weir")
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
		return nil
	})
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// build returns the path of the program.
func build(t *testing.T) string {
	t.Helper()
	if err := built(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "weir")
}

// measure fills a store, starts the program on it and waits for the first
// message at the provider.
func measure(t *testing.T, program, url string, n size) {
	provider, sms := startProvider(t, simulator.Options{DeliverTime: 5 * time.Millisecond, ConfirmTime: time.Millisecond, Outcomes: []string{"delivered"}})
	fill(t, url, sms, n, 100)

	c := exec.CommandContext(t.Context(), program, "serve")
	log := filepath.Join(t.TempDir(), "weir.log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	c.Stdout, c.Stderr = out, out
	c.Env = append(os.Environ(), "DATABASE_URL="+url, "LISTEN_ADDR=127.0.0.1:0", "WEIR_API_TOKENS=scale")
	begun := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	}()
	if !polling.Until(time.Minute, time.Millisecond, func() bool { return taken(provider) > 0 }) {
		text, _ := os.ReadFile(log)
		t.Fatalf("nothing was sent within a minute\n%s", text)
	}
	sent := time.Now()
	t.Logf("%d idle channels, %d queued contacts: first send after %v, resident then %s",
		n.idle, n.queued, sent.Sub(begun).Round(time.Millisecond), memory(t, c.Process.Pid, "VmRSS"))
	messages := min(n.queued/2, 20_000)
	waitFor(t, provider, messages)
	t.Logf("after %d messages, %.0f/s: peak resident %s", messages, float64(messages)/time.Since(sent).Seconds(), memory(t, c.Process.Pid, "VmHWM"))
	for _, line := range provider.Tally().Snapshot() {
		if line.PeakActive > 100 || line.Doubled > 0 {
			t.Errorf("channel %s: %d in flight of 100, %d doubled", line.Line, line.PeakActive, line.Doubled)
		}
	}
}

func startProvider(t *testing.T, o simulator.Options) (*simulator.Server, string) {
	for i := range busy {
		name := fmt.Sprint("sms", i)
		o.Applications = append(o.Applications, simulator.Application{Name: name, Tokens: []string{name}})
		o.Channels = append(o.Channels, simulator.Channel{Name: name, Application: name, Enabled: true})
	}
	s, err := simulator.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { s.Run(ctx) })
	h := httptest.NewServer(s)
	t.Cleanup(func() { cancel(); done.Wait(); h.Close() })
	return s, h.URL
}

func taken(s *simulator.Server) int {
	n := 0
	for _, line := range s.Tally().Snapshot() {
		n += line.Taken
	}
	return n
}

func waitFor(t *testing.T, s *simulator.Server, messages int) {
	t.Helper()
	if !polling.Until(time.Minute, 20*time.Millisecond, func() bool { return taken(s) >= messages }) {
		t.Fatalf("only %d of %d messages arrived within a minute", taken(s), messages)
	}
}

// fill writes channels and contacts.
func fill(t *testing.T, url, provider string, n size, capacity int) {
	s := storetest.OpenOnly(t, url, persistence.Options{})
	ctx := t.Context()
	if err := s.MigrateUp(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Join(ctx); err != nil {
		t.Fatal(err)
	}
	settings := func(i int) weir.Settings {
		name := fmt.Sprint("sms", i)
		return weir.Settings{"base_url": provider, "account": "demo", "application": name, "token": name, "channel": name}
	}
	for i := range n.idle {
		put(t, s, weir.Channel{Name: fmt.Sprintf("idle-%04d", i), Type: "nuntium", Capacity: 100, Settings: settings(0)})
	}
	var wait sync.WaitGroup
	for i := range busy {
		ch := put(t, s, weir.Channel{Name: fmt.Sprint("sms", i), Type: "nuntium", Capacity: capacity, Settings: settings(i)})
		wait.Go(func() {
			for left := n.queued / busy; left > 0; left -= 1000 {
				specs := make([]weir.Spec, min(1000, left))
				for k := range specs {
					specs[k] = weir.Spec{
						Key: fmt.Sprint(i, "-", left, "-", k), To: "+15550100", Priority: weir.Normal,
						Messages: []string{strings.Repeat("x", 160)},
					}
				}
				if _, err := s.Accept(ctx, ch.ID, specs); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, s *persistence.Store, ch weir.Channel) weir.Channel {
	t.Helper()
	ch, _, err := s.PutChannel(t.Context(), ch)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// memory reads a memory figure of a process from the kernel.
func memory(t *testing.T, pid int, figure string) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, figure+":"); ok {
			kb, _ := strconv.Atoi(strings.Fields(value)[0])
			return fmt.Sprint(kb/1024, " MB")
		}
	}
	t.Fatalf("no %s", figure)
	return ""
}
