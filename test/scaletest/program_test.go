package scaletest_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/polling"
	"weir/persistence/testmysql"
)

// program is the built program, in one life after the other on one store.
type program struct {
	t    *testing.T
	path string
	env  []string
	log  string
	cmd  *exec.Cmd
	base string
	http *http.Client
}

func newProgram(t *testing.T, path, database string, env ...string) *program {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	p := &program{
		t: t, path: path, log: filepath.Join(t.TempDir(), "weir.log"), http: &http.Client{Transport: transport},
		env: append(append(os.Environ(), "DATABASE_URL="+database, "LISTEN_ADDR=127.0.0.1:0", "LOG_FORMAT=text"), env...),
	}
	t.Cleanup(func() {
		p.kill()
		transport.CloseIdleConnections()
		if text, err := os.ReadFile(p.log); err == nil && t.Failed() {
			t.Logf("the end of its log:\n%s", text[max(0, len(text)-4000):])
		}
	})
	return p
}

// database creates an empty database and returns its URL.
func database(t *testing.T, store string) string {
	t.Helper()
	if store == "mariadb" {
		return testmysql.URL(t)
	}
	return "sqlite://" + filepath.Join(t.TempDir(), "weir.db")
}

// start starts the program, waits until it listens and returns the instant of the start.
func (p *program) start() time.Time {
	p.t.Helper()
	out, err := os.Create(p.log)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	p.cmd = exec.Command(p.path, "serve")
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = out, out, p.env
	p.cmd.SysProcAttr = endWithTest()
	begun := time.Now()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	if !polling.Until(time.Minute, 2*time.Millisecond, func() bool {
		text, _ := os.ReadFile(p.log)
		_, after, _ := strings.Cut(string(text), "msg=listening ")
		line, _, whole := strings.Cut(after, "\n")
		_, address, _ := strings.Cut(line, "address=")
		p.base = "http://" + address
		return whole
	}) {
		p.t.Fatal("the program does not listen")
	}
	return begun
}

func (p *program) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// terminate ends the program in order.
func (p *program) terminate() {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the program ended with %v", err)
	}
	p.cmd = nil
}

// do makes a request that must be answered with the status, and returns the whole body.
func (p *program) do(method, path, contentType string, body io.Reader, status int) []byte {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	answer, err := p.http.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		p.t.Fatalf("%s %s: %d %v %.500s", method, path, answer.StatusCode, err, text)
	}
	return text
}

func (p *program) json(method, path, body string, status int) []byte {
	p.t.Helper()
	kind := ""
	if body != "" {
		kind = "application/json"
	}
	return p.do(method, path, kind, strings.NewReader(body), status)
}

// figure returns a metric of the program; NaN if it is not exported.
func (p *program) figure(name string) float64 {
	p.t.Helper()
	for line := range bytes.Lines(p.do(http.MethodGet, "/metrics", "", nil, http.StatusOK)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(string(line)), name+" "); ok {
			f, err := strconv.ParseFloat(value, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return f
		}
	}
	return math.NaN()
}

// peak returns the peak resident memory of the program while do ran, including the
// memory that it had before.
func (p *program) peak(do func()) string {
	p.t.Helper()
	if err := os.WriteFile("/proc/"+strconv.Itoa(p.cmd.Process.Pid)+"/clear_refs", []byte("5"), 0o600); err != nil {
		p.t.Logf("the peak is that of the whole life: %v", err)
	}
	do()
	return memory(p.t, p.cmd.Process.Pid, "VmHWM")
}

func (p *program) resident() string { return memory(p.t, p.cmd.Process.Pid, "VmRSS") }

// within returns a context that ends after the limit, or with the test.
func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}
