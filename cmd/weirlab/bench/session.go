package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/bench/provider"
	"weir/cmd/weirlab/machine"
)

// session is one measurement: its provider, stores and figures.
type session struct {
	o        Options
	folder   string
	provider *providerProcess
	stores   map[string]*store
	filled   map[string]database // by place of their steps
	progress *progress
	done     []Figures
	runs     int           // brokers started; each has a folder
	waited   time.Duration // for a quiet machine
}

// Max times to wait for a quiet machine.
const (
	maxWait      = 15 * time.Second
	maxTotalWait = 90 * time.Second // in a set of some minutes, and in a comparison
)

// quiet waits until the machine is quiet.
func (s *session) quiet(ctx context.Context) {
	most := maxWait
	if s.o.Set == Short || s.o.Against != "" {
		most = min(most, max(time.Second, maxTotalWait-s.waited))
	}
	if s.o.N < load.Measured {
		most = 0
	}
	s.waited += machine.Quiet(ctx, most)
}

func newSession(o Options) (*session, error) {
	folder, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return nil, err
	}
	stub, err := startProvider(o)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	s := &session{o: o, folder: folder, provider: stub, stores: map[string]*store{}, filled: map[string]database{}}
	s.progress = newProgress(o.Err, nil)
	return s, nil
}

// end removes everything that the session created.
func (s *session) end() error {
	var errs []error
	for _, d := range s.filled {
		errs = append(errs, d.drop())
	}
	for _, st := range s.stores {
		st.end()
	}
	s.provider.end()
	return errors.Join(append(errs, os.RemoveAll(s.folder))...)
}

// child runs a task in a separate process.
func (s *session) child(ctx context.Context, t Task) (f Figures, err error) {
	in, err := json.Marshal(t)
	if err != nil {
		return f, err
	}
	var out bytes.Buffer
	cmd := exec.Command(s.o.Program, "bench", "child") //nolint:gosec,noctx // our own program; it is ended below
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, s.o.Err
	ended, err := machine.Spawn(cmd)
	if err != nil {
		return f, err
	}
	select {
	case <-ended:
	case <-ctx.Done():
		machine.End(cmd, ended)
		return f, ctx.Err()
	}
	if !cmd.ProcessState.Success() {
		return f, fmt.Errorf("the run's process ended with %s", cmd.ProcessState)
	}
	return f, json.Unmarshal(out.Bytes(), &f)
}

// measured makes the run on a database.
func (s *session) measured(ctx context.Context, st step, d database) (Figures, error) {
	if st.overHTTP() {
		return s.overHTTP(ctx, st, d)
	}
	return s.child(ctx, Task{Workload: st.Workload, Provider: s.provider.url, Database: d.url, Meter: d.meter, Profile: s.o.Profile})
}

// overHTTP runs a workload on a Weir in a separate process.
func (s *session) overHTTP(ctx context.Context, st step, d database) (f Figures, err error) {
	brokers, err := s.start(ctx, st, d)
	defer func() {
		for _, b := range slices.Backward(brokers) { // the owner last, so that nobody takes over
			b.Stop()
		}
	}()
	if err != nil {
		return f, err
	}
	b := brokers[0]
	subject := newHTTPSubject(b.URL, token, ownPrefix, st.Channels)
	subject.broker, subject.full = b, st.Mode == load.Bulk && st.Channels == 1
	var spread []string
	if len(brokers) > 1 {
		if err := subject.several(ctx, brokers, st.At); err != nil {
			return f, err
		}
		spread = subject.urls
	}
	r, err := d.meter.open()
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	p := provider.Client{URL: s.provider.url}
	if err := subject.setUp(ctx, p, st.Workload); err != nil {
		return f, err
	}
	load := machine.Own().CPU
	m := measurement{w: st.Workload, s: subject, p: p, store: r, broker: b, spread: spread}
	f, err = m.run(ctx)
	f.CPULoad = perTenThousand(machine.Own().CPU-load, st.N)
	return f, err
}

// store opens a store on first use.
func (s *session) store(ctx context.Context, name string) (*store, error) {
	if st := s.stores[name]; st != nil {
		return st, nil
	}
	if name == "mysql" {
		s.progress.say("a private MariaDB or MySQL server is started")
	}
	st, err := openStore(ctx, name, s.folder)
	if err == nil {
		s.stores[name] = st
	}
	return st, err
}

// newBroker prepares a Weir in a separate process.
func (s *session) newBroker(ctx context.Context, st step, d database) (*broker, error) {
	s.runs++
	folder := filepath.Join(s.folder, strconv.Itoa(s.runs))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	program := s.o.Weir
	if st.Peer == peerBefore {
		program = s.o.Against
	}
	b, err := newBroker(ctx, program, d.url, folder, st.Mode)
	if err == nil {
		b.Env = append(b.Env, environment(st.Workload)...)
	}
	return b, err
}
