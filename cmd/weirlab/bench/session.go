package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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

// halved sets the rate of a loaded run to half of what live has reached on the same
// store; --rate, if it was not measured.
func (s *session) halved(st step) step {
	st.Rate = s.o.Rate
	g := medians(groups(s.done)).findVariant(load.Live, st.name(), st.Variant(), st.Channels)
	if g != nil {
		st.Rate = max(1, int(g.median(rate)/2))
	}
	st.N = max(1, int(st.Lasting.Seconds()*float64(st.Rate)))
	return st
}

// once makes one run with a new database.
func (s *session) once(ctx context.Context, st step) (f Figures, err error) {
	if st.Mode == load.Loaded {
		st = s.halved(st)
	}
	if st.Store == "" && s.o.URL == "" || st.Peer == PeerBaseline {
		s.quiet(ctx)
		f, err = s.child(ctx, Task{Workload: st.Workload, Baseline: st.Peer == PeerBaseline, Provider: s.provider.url})
		f.Peer = st.name()
		return f, err
	}
	if s.o.URL != "" {
		s.quiet(ctx)
		f, err = s.running(ctx, st)
		f.Peer = st.name()
		return f, err
	}
	d, err := s.database(ctx, st)
	if err != nil {
		return f, err
	}
	if !st.kept() { // a kept database is used by the next repetition, too
		defer func() { err = errors.Join(err, d.drop()) }()
	}
	if st.Mode == load.Growth {
		return s.growth(ctx, st, d)
	}
	s.quiet(ctx)
	f, err = s.measured(ctx, st, d)
	f.Peer = st.name()
	return f, err
}

// measured makes the run on a database.
func (s *session) measured(ctx context.Context, st step, d database) (Figures, error) {
	if st.overHTTP() {
		return s.overHTTP(ctx, st, d)
	}
	return s.child(ctx, Task{Workload: st.Workload, Provider: s.provider.url, Database: d.url, Meter: d.meter, Profile: s.o.Profile})
}

// database returns the database that was filled for the step, otherwise a new one.
func (s *session) database(ctx context.Context, st step) (database, error) {
	if d, ok := s.filled[st.place()]; ok {
		return d, nil
	}
	if st.Mode == load.Growth {
		d, err := s.filledWith(ctx, st)
		if err == nil && st.kept() {
			s.filled[st.place()] = d
		}
		return d, err
	}
	from, err := s.store(ctx, st.Store)
	if err != nil {
		return database{}, err
	}
	d, err := from.fresh(ctx)
	if err != nil || !st.kept() {
		return d, err
	}
	s.filled[st.place()] = d
	return d, s.backlog(ctx, st, d)
}

// backlog queues contacts in a paused channel.
func (s *session) backlog(ctx context.Context, st step, d database) error {
	s.progress.say("%d contacts are queued in a paused channel", st.Queued)
	bulk := step{load.Workload{Mode: load.Bulk, N: st.Queued, Channels: 1, Capacity: st.Capacity, Batch: 1000, Delay: st.Delay, Answer: st.Answer}, PeerBulk, st.Store}
	s.quiet(ctx)
	f, err := s.overHTTP(ctx, bulk, d)
	f.Peer = bulk.name()
	if err != nil {
		return err
	}
	return s.note(f)
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
	return newBroker(ctx, program, d.url, folder, st.Mode)
}

// overHTTP runs a workload on a Weir in a separate process.
func (s *session) overHTTP(ctx context.Context, st step, d database) (f Figures, err error) {
	b, err := s.newBroker(ctx, st, d)
	if err != nil {
		return f, err
	}
	defer b.stop()
	if err := b.start(ctx); err != nil {
		return f, err
	}
	subject := newHTTPSubject(b.url, token, ownPrefix, st.Channels)
	subject.broker, subject.full = b, st.Mode == load.Bulk && st.Channels == 1
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
	m := measurement{w: st.Workload, s: subject, p: p, store: r, broker: b}
	f, err = m.run(ctx)
	f.CPULoad = perTenThousand(machine.Own().CPU-load, st.N)
	return f, err
}

// running runs a workload on a Weir that already runs, in channels of its own,
// which are always removed.
func (s *session) running(ctx context.Context, st step) (f Figures, err error) {
	prefix := "bench-" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	subject := newHTTPSubject(s.o.URL, s.o.Token, prefix, st.Channels)
	p := provider.Client{URL: s.provider.url}
	defer func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
		defer cancel()
		err = errors.Join(err, subject.remove(limit))
	}()
	if err := subject.setUp(ctx, p, st.Workload); err != nil {
		return f, err
	}
	r, err := Meter{}.open()
	if err != nil {
		return f, err
	}
	load := machine.Own().CPU
	f, err = measurement{w: st.Workload, s: subject, p: p, store: r}.run(ctx)
	f.Others = 0 // the broker's share of it is unknown
	f.CPULoad = perTenThousand(machine.Own().CPU-load, st.N)
	return f, err
}

// cleanUpLimit is the max time to remove the channels from a running Weir.
const cleanUpLimit = time.Minute
