package crashtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/persistence/storetest"
)

// The settings of every broker in these tests.
const (
	idleAfter    = time.Second
	collectEvery = 500 * time.Millisecond
	settleAfter  = 500 * time.Millisecond
	lostAfter    = 4 * time.Second // longer than any simulated call
	sendsAtOnce  = 3
	sendTimeout  = 2 * time.Second
	upWithin     = 20 * time.Second // allows for a busy machine
	drainWithin  = 25 * time.Second
)

// broker runs the program, one life after the other, always at the same address.
type broker struct {
	t        *testing.T
	url      string
	database string // its URL; "": the program has none
	waits    bool   // for the end of another process's lease
	env      []string
	log      string
	line     []string // the command line; nil: the broker's
	cmd      *exec.Cmd
	gone     chan struct{}
	ups      []time.Time // when each life, or the store, began to answer
}

func newBroker(t *testing.T, database string) *broker {
	t.Helper()
	address := freeAddress(t)
	b := &broker{t: t, url: "http://" + address, database: database, log: filepath.Join(t.TempDir(), "weir.log")}
	minutes := func(d time.Duration) string { return fmt.Sprintf("%.6f", d.Minutes()) }
	b.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LOG_FORMAT=text",
		"DATABASE_URL=" + database, "LISTEN_ADDR=" + address, "PUBLIC_URL=" + b.url,
		"CHNL_BKR_GC_IDLE_MINUTES=" + minutes(idleAfter), "CHNL_BKR_GC_INTERVAL_MINUTES=" + minutes(collectEvery),
		"LOST_AFTER_MINUTES=" + minutes(lostAfter), "WEIR_SETTLE_AFTER=" + settleAfter.String(), "WEIR_REPLY_WITHIN=0s",
		"WEIR_CONTACT_EVENTS=on", "WEIR_SEND_TIMEOUT=" + sendTimeout.String(), fmt.Sprint("WEIR_SEND_CONCURRENCY=", sendsAtOnce),
	}
	t.Cleanup(func() {
		b.kill()
		if t.Failed() {
			t.Logf("the end of the program's log:\n%s", b.tail())
		}
	})
	return b
}

// freeAddress finds a port that stays free while the program is down: below the
// system's ephemeral ports, and guarded by the next port, which the test holds.
func freeAddress(t *testing.T) string {
	t.Helper()
	for port := 20000 + os.Getpid()%600*20; port < 32700; port += 2 {
		guard, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port+1))
		if err != nil {
			continue
		}
		address := fmt.Sprint("127.0.0.1:", port)
		probe, err := net.Listen("tcp", address)
		if err != nil {
			_ = guard.Close()
			continue
		}
		_ = probe.Close()
		t.Cleanup(func() { _ = guard.Close() })
		return address
	}
	t.Fatal("no port is free")
	return ""
}

// start runs the program without waiting for it, as if the lease of one that was killed had
// expired, unless it waits. With a failpoint the program ends itself there.
func (b *broker) start(failpoint string) {
	b.t.Helper()
	if b.database != "" && !b.waits {
		storetest.Free(b.t, b.database)
	}
	log, err := os.OpenFile(b.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	line := b.line
	if line == nil {
		line = []string{os.Getenv(binaryVariable), "serve"}
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = b.env
	if failpoint != "" {
		cmd.Env = append([]string{"WEIR_FAILPOINT=" + failpoint}, b.env...)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = endWithTest()
	_, _ = fmt.Fprintf(log, "--- start %s\n", failpoint)
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	gone := make(chan struct{})
	b.cmd, b.gone = cmd, gone
	go func() {
		_ = cmd.Wait()
		close(gone)
	}()
	b.ups = append(b.ups, time.Now())
}

// up waits until the program answers.
func (b *broker) up() {
	b.t.Helper()
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	ctx, cancel := context.WithTimeout(b.t.Context(), upWithin)
	defer cancel()
	for ctx.Err() == nil {
		if response, err := client.Get(b.url + "/livez"); err == nil {
			_ = response.Body.Close()
			b.ups = append(b.ups, time.Now())
			return
		}
		select {
		case <-b.gone:
			b.t.Fatalf("the program ended by itself: %v", b.cmd.ProcessState)
		case <-time.After(5 * time.Millisecond):
		}
	}
	b.t.Fatal("the program does not answer")
}

// died waits for the program to end itself at its failpoint.
func (b *broker) died(limit time.Duration) error {
	select {
	case <-b.gone:
	case <-time.After(limit):
		return errors.New("never struck")
	}
	if s, ok := b.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !s.Signaled() || s.Signal() != syscall.SIGKILL {
		return fmt.Errorf("the program ended otherwise: %v", b.cmd.ProcessState)
	}
	return nil
}

// kill ends the program with SIGKILL, if it runs.
func (b *broker) kill() {
	if b.cmd != nil {
		_ = b.cmd.Process.Kill()
		<-b.gone
	}
}

// terminate ends the program in order and returns the time that took.
func (b *broker) terminate() time.Duration {
	b.t.Helper()
	began := time.Now()
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.t.Fatal(err)
	}
	select {
	case <-b.gone:
	case <-time.After(drainWithin):
		b.t.Fatalf("SIGTERM did not end the program within %v", drainWithin)
	}
	if code := b.cmd.ProcessState.ExitCode(); code != 0 {
		b.t.Errorf("SIGTERM ended the program with %v", b.cmd.ProcessState)
	}
	return time.Since(began)
}

// tail returns the end of the log, without request lines.
func (b *broker) tail() string {
	const most = 80
	text, _ := os.ReadFile(b.log)
	lines := slices.DeleteFunc(strings.Split(string(bytes.TrimSpace(text)), "\n"), func(line string) bool {
		return strings.Contains(line, `msg="http request"`)
	})
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// reloads counts how often a broker found its memory inconsistent with the store.
func (b *broker) reloads() int {
	text, _ := os.ReadFile(b.log)
	return bytes.Count(text, []byte("the store disagrees"))
}

// upBefore returns the last instant before t at which the program, or its store,
// came back.
func (b *broker) upBefore(t time.Time) time.Time {
	var last time.Time
	for _, up := range b.ups {
		if up.Before(t) {
			last = up
		}
	}
	return last
}
