package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/bench/provider"
	"weir/cmd/weirlab/machine"
)

var errGate = errors.New("a run did not pass its gates; see Error")

// Run measures every candidate once, then repeats. It fails if a gate was not passed.
func Run(ctx context.Context, o Options) error {
	o = o.completed()
	if err := o.check(); err != nil {
		return err
	}
	s, err := newSession(o)
	if err != nil {
		return err
	}
	if o.Against != "" {
		err = s.compare(ctx)
	} else if slices.Contains(o.ContactEvents, eventsOff) && len(o.ContactEvents) > 1 {
		err = s.compareContactEvents(ctx)
	} else if err = s.all(ctx, plan(o)); err == nil {
		s.conclude()
		err = s.gates()
	}
	return errors.Join(err, s.end())
}

// all makes the runs of a plan.
func (s *session) all(ctx context.Context, steps []step) error {
	s.progress = newProgress(s.o.Err, steps)
	for i, st := range steps {
		s.progress.begin(i)
		f, err := s.once(ctx, st)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", st.Mode, st.name(), err)
		}
		if err := s.note(f); err != nil {
			return err
		}
	}
	s.progress.end()
	return nil
}

// note writes the figures of a run.
func (s *session) note(f Figures) error {
	s.done = append(s.done, f)
	return json.NewEncoder(s.o.Out).Encode(f)
}

func (s *session) gates() error {
	for _, f := range s.done {
		if f.Error != "" {
			return errGate
		}
	}
	return nil
}

// conclude prints the medians and, for a set, the table of targets.
func (s *session) conclude() {
	if s.o.JSON {
		return
	}
	report(s.o.Out, s.done)
	if s.o.Set == Short || s.o.Set == Full {
		printTargets(s.o.Out, s.done)
	}
	if s.o.Set != "" {
		printSeveral(s.o.Out, s.done)
	}
}

// Bounds of how much worse a version may be than the one before it.
const (
	maxCPU  = 1.15 // CPU per contact
	minRate = 0.80 // contacts per second
	// maxComparisons is the max number of comparisons; another one follows if the
	// result so far is bad, because a machine has slow moments.
	maxComparisons = 3
)

// compare measures this program and an earlier one alternately, each as users run
// it, and fails if this one is worse.
func (s *session) compare(ctx context.Context) error {
	worse, err := s.untilGood(ctx, comparison(s.o), regressions)
	if err != nil {
		return err
	}
	return s.verdict(worse, "not slower than the version before it", "this version is slower than the one before it")
}

// untilGood makes the runs of a plan, once more if the result is bad, and returns what is.
func (s *session) untilGood(ctx context.Context, steps []step, bad func([]Figures) []string) (found []string, err error) {
	for range maxComparisons {
		if err := s.all(ctx, steps); err != nil {
			return nil, err
		}
		if err := s.gates(); err != nil {
			s.conclude()
			return nil, err
		}
		if found = bad(s.done); len(found) == 0 {
			break
		}
		s.progress.say("%v: measured again", found)
	}
	s.conclude()
	return found, nil
}

// verdict prints the result of a comparison; the error is that of a bad one.
func (s *session) verdict(bad []string, pass, fail string) error {
	for _, text := range bad {
		_, _ = fmt.Fprintln(s.o.Out, "FAIL:", text)
	}
	if len(bad) > 0 {
		return errors.New(fail)
	}
	_, _ = fmt.Fprintln(s.o.Out, "PASS:", pass)
	return nil
}

// comparison returns the runs of both programs. They take turns in being first, so that
// neither always follows a run of the other.
func comparison(o Options) []step {
	var steps []step
	pair := []string{peerBefore, PeerSingle}
	for range o.Repeat {
		for _, peer := range pair {
			steps = append(steps, o.steps(load.Live, peer)...)
		}
		slices.Reverse(pair)
	}
	return steps
}

// versionBefore returns the series of the earlier program with which one is compared.
func versionBefore(s series) (series, bool) {
	store, ok := strings.CutPrefix(s.peer, PeerSingle)
	s.peer = peerBefore + store
	return s, ok && s.mode == load.Live
}

// regressions lists the figures in which the program is worse than the earlier one.
func regressions(all []Figures) []string {
	var worse []string
	cpus, rates := byTurn(all, versionBefore, cpu), byTurn(all, versionBefore, rate)
	for _, g := range groups(all) {
		what := g.peer
		if g.events != "" {
			what += ", contact events " + g.events
		}
		worse = appendIfBeyond(worse, what+": CPU per contact ÷ that of the version before", cpus[g.series], atMost(maxCPU))
		worse = appendIfBeyond(worse, what+": contacts per second ÷ those of the version before", rates[g.series], atLeast(minRate))
	}
	if len(rates) == 0 {
		worse = append(worse, "there is nothing to compare")
	}
	return worse
}

// loaded sets the rate of a loaded run to its share of what live has reached on the same
// store, by one process if that was measured; --rate, if it was not measured.
func (s *session) loaded(st step) step {
	st.Rate = s.o.Rate
	m := medians(groups(s.done))
	g := m.findVariant(load.Live, st.name(), st.ByOne().Variant(), st.Channels)
	if g == nil {
		g = m.findVariant(load.Live, st.name(), st.Variant(), st.Channels)
	}
	if g != nil {
		st.Rate = max(1, int(g.median(rate)*st.Share))
	}
	st.N = max(1, int(st.Lasting.Seconds()*float64(st.Rate)))
	return st
}

// once makes one run with a new database.
func (s *session) once(ctx context.Context, st step) (f Figures, err error) {
	if st.Mode == load.Loaded {
		st = s.loaded(st)
	}
	if st.Store == "" && s.o.URL == "" || st.Peer == PeerBaseline {
		s.quiet(ctx)
		f, err = s.child(ctx, Task{Workload: st.Workload, Provider: s.provider.url})
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
	s.quiet(ctx)
	f, err = s.measured(ctx, st, d)
	f.Peer = st.name()
	return f, err
}

// database returns the database that was filled for the step, otherwise a new one.
func (s *session) database(ctx context.Context, st step) (database, error) {
	if d, ok := s.filled[st.place()]; ok {
		return d, nil
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

// running runs a workload on a Weir that already runs, in channels of its own,
// which are always removed.
func (s *session) running(ctx context.Context, st step) (f Figures, err error) {
	prefix := "bench-" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	urls := s.o.urls()
	subject := newHTTPSubject(urls[0], s.o.Token, prefix, st.Channels)
	var spread []string
	if len(urls) > 1 {
		st.Processes, spread, subject.urls = len(urls), urls, urls
		for _, url := range urls {
			subject.processes = append(subject.processes, &process{url: url})
		}
	}
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
	f, err = measurement{w: st.Workload, s: subject, p: p, store: r, spread: spread}.run(ctx)
	f.Others = 0 // the broker's share of it is unknown
	f.CPULoad = perTenThousand(machine.Own().CPU-load, st.N)
	return f, err
}

// cleanUpLimit is the max time to remove the channels from a running Weir.
const cleanUpLimit = time.Minute
