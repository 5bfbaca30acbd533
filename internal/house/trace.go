package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/channels/nuntium/simulator"
)

const (
	settling   = 2 * time.Second        // after the first contact
	checkpoint = 600 * time.Millisecond // until the store has copied progress into a contact's row
	limit      = 30 * time.Second       // for the callback about a contact
	executions = 3                      // contacts, and as many idle periods
	secret     = "a-token-of-this-trace"
)

// step is a function on the path of a contact.
type step struct {
	file, name  string
	first, last int
}

func (s step) lines() int { return s.last - s.first + 1 }

// block is a stretch of code without branches, as the compiler's coverage counts it.
type block struct {
	file       string
	line, last int
}

// traced holds the functions that contacts execute.
type traced struct {
	path    []step // by every one of them, more often than the broker does by itself
	touched []step // by any of them, or at the same time
}

// trace runs a broker on SQLite and a simulated Nuntium, dispatches single contacts, and
// returns the functions that they execute from the request until the contact is done.
// A block is on the path if each contact executes it more often than any idle period of
// the same length, so that timers and pollers do not count.
func (t *tree) trace(ctx context.Context) (traced, error) {
	dir, err := os.MkdirTemp("", "weir-house-")
	if err != nil {
		return traced{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b, err := start(ctx, t.root, dir)
	if err != nil {
		return traced{}, err
	}
	c, err := b.measure(ctx)
	if err = errors.Join(err, b.stop()); err != nil {
		return traced{}, fmt.Errorf("%w\n%s", err, &b.errs)
	}
	path, touched := map[string][]block{}, map[string][]block{}
	for at, n := range c.any {
		if n > 0 {
			touched[at.file] = append(touched[at.file], at)
		}
		if c.each[at] > c.idle[at] {
			path[at.file] = append(path[at.file], at)
		}
	}
	return traced{t.steps(path), t.steps(touched)}, nil
}

// counts says how often each block was executed: at least by each contact, in sum by all
// of them, and at most in an idle period.
type counts struct{ each, any, idle map[block]int }

// measure sends contacts, each followed by an idle period of the same length.
func (b *broker) measure(ctx context.Context) (counts, error) {
	if err := b.contact(ctx); err != nil { // what only a first contact does is not counted
		return counts{}, err
	}
	if err := b.wait(ctx, settling); err != nil {
		return counts{}, err
	}
	c := counts{any: map[block]int{}, idle: map[block]int{}}
	for i := range executions {
		began := time.Now()
		n, err := b.during(ctx, b.contact)
		if err != nil {
			return counts{}, err
		}
		if i == 0 {
			c.each = maps.Clone(n)
		}
		for at := range n {
			c.any[at] += n[at]
		}
		for at := range c.each {
			c.each[at] = min(c.each[at], n[at])
		}
		took := time.Since(began)
		n, err = b.during(ctx, func(ctx context.Context) error { return b.wait(ctx, took) })
		if err != nil {
			return counts{}, err
		}
		for at := range n {
			c.idle[at] = max(c.idle[at], n[at])
		}
	}
	return c, b.allDone(ctx)
}

// steps returns the functions that hold the given blocks.
func (t *tree) steps(executed map[string][]block) (out []step) {
	for _, f := range t.files {
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || len(fn.Body.List) == 0 {
				continue
			}
			s := step{f.path, fn.Name.Name, t.fset.Position(fn.Pos()).Line, t.fset.Position(fn.End()).Line}
			if slices.ContainsFunc(executed[f.path], func(b block) bool { return s.first <= b.line && b.last <= s.last }) {
				out = append(out, s)
			}
		}
	}
	return out
}

// broker is the traced process, its simulated provider and a client of it.
type broker struct {
	dir      string
	process  *exec.Cmd
	commands io.WriteCloser
	answers  *bufio.Scanner
	errs     bytes.Buffer
	url      string
	provider *http.Server
	// acknowledged receives a value for each callback that the broker has acknowledged.
	acknowledged chan struct{}
}

func start(ctx context.Context, root, dir string) (_ *broker, err error) {
	b := &broker{dir: dir, acknowledged: make(chan struct{}, 100)}
	program := filepath.Join(dir, "traced")
	build := exec.CommandContext(ctx, "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"/...", "-o", program, "./internal/house/traced") //nolint:gosec // paths of our own
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build -cover: %w\n%s", err, out)
	}
	nuntium, err := simulator.New(simulator.Options{
		Applications: []simulator.Application{{Name: "weir", Tokens: []string{secret}}},
		Channels:     []simulator.Channel{{Name: "sms", Application: "weir", Enabled: true}},
		Outcomes:     []string{simulator.Delivered}, DeliverTime: 50 * time.Millisecond,
		Client: &http.Client{Transport: callbacks{b.acknowledged}, Timeout: limit},
	})
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b.provider = &http.Server{Handler: nuntium, ReadHeaderTimeout: time.Second}
	go func() { _ = b.provider.Serve(listener) }()
	go nuntium.Run(ctx)

	b.process = exec.CommandContext(ctx, program) //nolint:gosec // built above
	b.process.Env = append(os.Environ(), "DATABASE_URL=sqlite://"+filepath.Join(dir, "weir.db"), "LISTEN_ADDR=127.0.0.1:0", "WEIR_API_TOKENS="+secret, "GOCOVERDIR="+dir)
	b.process.Stderr = &b.errs
	if b.commands, err = b.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := b.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b.answers = bufio.NewScanner(out)
	if err := b.process.Start(); err != nil {
		return nil, err
	}
	if !b.answers.Scan() {
		return nil, errors.Join(fmt.Errorf("the traced broker did not start: %s", &b.errs), b.stop())
	}
	b.url = "http://" + b.answers.Text()
	_, err = b.request(ctx, "PUT", "/v1/channels/sms", map[string]any{"type": "nuntium", "capacity": 5, "settings": map[string]any{
		"base_url": "http://" + listener.Addr().String(), "account": "demo", "application": "weir", "token": secret, "channel": "sms",
	}})
	return b, err
}

func (b *broker) stop() error {
	return errors.Join(b.commands.Close(), b.process.Wait(), b.provider.Close())
}

// command sends a line to the traced process and waits for its answer.
func (b *broker) command(line string) error {
	if _, err := fmt.Fprintln(b.commands, line); err != nil {
		return err
	}
	if !b.answers.Scan() {
		return fmt.Errorf("%s: the traced broker has ended", line)
	}
	return nil
}

// during returns how often each block was executed while act ran.
func (b *broker) during(ctx context.Context, act func(context.Context) error) (map[block]int, error) {
	dir, err := os.MkdirTemp(b.dir, "counts-")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(b.command("clear"), act(ctx), b.command("write "+dir)); err != nil {
		return nil, err
	}
	profile := filepath.Join(dir, "profile")
	if out, err := exec.CommandContext(ctx, "go", "tool", "covdata", "textfmt", "-i="+dir, "-o="+profile).CombinedOutput(); err != nil { //nolint:gosec // paths of our own
		return nil, fmt.Errorf("go tool covdata: %w\n%s", err, out)
	}
	text, err := os.ReadFile(profile) //nolint:gosec // written above
	if err != nil {
		return nil, err
	}
	counts := map[block]int{}
	row := regexp.MustCompile(`(?m)^` + module + `/(.*):(\d+)\.\d+,(\d+)\.\d+ \d+ (\d+)$`)
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		line, _ := strconv.Atoi(m[2])
		last, _ := strconv.Atoi(m[3])
		n, _ := strconv.Atoi(m[4])
		file := m[1]
		if !strings.HasPrefix(file, "internal/house/") {
			counts[block{file, line, last}] += n
		}
	}
	return counts, nil
}

// wait lets the broker be for a while.
func (b *broker) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// contact sends one contact, waits until the broker has acknowledged the provider's
// callback about it, and for the checkpoint. It asks the broker nothing in between.
func (b *broker) contact(ctx context.Context) error {
	_, err := b.request(ctx, "POST", "/v1/channels/sms/contacts", map[string]any{"contacts": []any{
		map[string]any{"key": strconv.FormatInt(time.Now().UnixNano(), 36), "to": "+12025550100", "messages": []string{"hello"}},
	}})
	if err != nil {
		return err
	}
	select {
	case <-b.acknowledged:
	case <-time.After(limit):
		return errors.New("no callback was acknowledged")
	case <-ctx.Done():
		return ctx.Err()
	}
	return b.wait(ctx, checkpoint)
}

// callbacks is the transport of the provider's callbacks; it reports each that the broker
// acknowledged.
type callbacks struct{ acknowledged chan struct{} }

// RoundTrip implements http.RoundTripper.
func (c callbacks) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && answer.StatusCode < 300 {
		c.acknowledged <- struct{}{}
	}
	return answer, err
}

// allDone reports an error unless every contact was delivered.
func (b *broker) allDone(ctx context.Context) error {
	text, err := b.request(ctx, "GET", "/v1/contacts?state=done&limit=100", nil)
	if err == nil && bytes.Count(text, []byte(`"state":"done","outcome":"completed"`)) != executions+1 {
		err = fmt.Errorf("%d contacts should have been completed: %s", executions+1, text)
	}
	return err
}

func (b *broker) request(ctx context.Context, method, path string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, b.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+secret)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err = io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s %s", method, path, answer.Status, text)
	}
	return text, err
}
