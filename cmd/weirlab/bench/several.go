package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"weir/cmd/weirlab/bench/load"
)

// process is one of several processes of a broker.
type process struct {
	url    string
	broker *broker       // nil: it runs elsewhere, and its metrics have its CPU time
	asking time.Duration // CPU time that it spent on requests for its metrics
}

// start starts the processes of a step; the first one owns the database. It returns those
// that were started, also with an error.
func (s *session) start(ctx context.Context, st step, d database) (brokers []*broker, err error) {
	for range max(1, st.Processes) {
		b, err := s.newBroker(ctx, st, d)
		if err != nil {
			return brokers, err
		}
		if st.Processes > 1 {
			first := b
			if len(brokers) > 0 {
				first = brokers[0]
			}
			b.Env = append(b.Env, "PUBLIC_URL="+first.URL) // all have to have the same
		}
		brokers = append(brokers, b)
		if err := b.start(ctx); err != nil {
			return brokers, err
		}
	}
	return brokers, nil
}

// several makes processes the broker under test. Requests go to the one that is named, or
// to each in turn.
func (s *httpSubject) several(ctx context.Context, brokers []*broker, at string) error {
	s.urls = nil
	owner := 0
	for _, b := range brokers {
		s.processes = append(s.processes, &process{url: b.URL, broker: b})
		raw, err := s.metrics(ctx, b.URL)
		if err != nil {
			return err
		}
		is := sample(raw, owns) == 1
		if is {
			owner++
		}
		if at == "" || at == load.Owner && is || at == load.Standby && !is && s.urls == nil {
			s.urls = append(s.urls, b.URL)
		}
	}
	if owner != 1 || len(s.urls) == 0 {
		return fmt.Errorf("%d of %d processes own the database", owner, len(brokers))
	}
	return nil
}

// usedByAll returns the resources that several processes have used, and the share of the
// owner of the database. They are unknown, and 0, if the token must not read metrics.
func (s *httpSubject) usedByAll(ctx context.Context) (sum cost, err error) {
	for _, p := range s.processes {
		c, raw, err := p.used(ctx, s)
		if refused, ok := errors.AsType[*refusedError](err); ok && (refused.status == http.StatusForbidden || refused.status == http.StatusUnauthorized) {
			return cost{}, nil
		}
		if err != nil {
			return cost{}, err
		}
		sum.cpu += c.cpu
		sum.peak += c.peak
		sum.commits += sample(raw, committed)
		statements := sample(raw, given)
		sum.statements += statements
		if sample(raw, owns) == 1 {
			sum.epoch, sum.owner, sum.ownerStatements = sample(raw, ownEpoch), c.cpu, statements
		} else {
			sum.standbyStatements += statements / float64(len(s.processes)-1)
		}
	}
	return sum, nil
}

// used returns what a process has used without these questions, and its metrics.
func (p *process) used(ctx context.Context, s *httpSubject) (c cost, metrics []byte, err error) {
	if p.broker == nil {
		metrics, err = s.metrics(ctx, p.url)
		c.cpu = time.Duration(sample(metrics, cpuTime) * float64(time.Second))
		return c, metrics, err
	}
	before, err := p.broker.used()
	if err != nil {
		return c, nil, err
	}
	if metrics, err = s.metrics(ctx, p.url); err != nil {
		return c, nil, err
	}
	c, err = p.broker.used()
	p.asking += c.cpu - before.cpu
	c.cpu -= p.asking
	return c, metrics, err
}

// processes is the number of processes in the runs of several.
const processes = 3

// severalSteps returns the runs of several processes, each in turn with the run that it is
// compared with: of one process, or at the owner of the database instead of at a standby.
// whole adds the steps that take long and vary little.
func severalSteps(o Options, whole bool) []step {
	o.Databases = []string{"mysql"}
	var steps []step
	add := func(mode string, number int, at string, change func(*load.Workload)) {
		for _, st := range o.steps(mode, PeerSingle) {
			st.Processes, st.At = number, at
			if change != nil {
				change(&st.Workload)
			}
			steps = append(steps, st)
		}
	}
	for _, mode := range []string{load.Turnaround, load.Latency, load.Router} {
		add(mode, processes, load.Owner, nil)
		add(mode, processes, load.Standby, nil)
	}
	narrow := func(w *load.Workload) {
		w.N, w.Channels, w.Capacity, w.Delay, w.Calls = min(w.N, 3000), 1, 20, narrowDelay, true
	}
	add(load.Live, 0, "", narrow)
	add(load.Live, 2, "", narrow)
	wide := func(w *load.Workload) {
		w.Channels, w.Capacity, w.Delay, w.Batch, w.Share = wideChannels, 50, wideDelay, 10, 0.5
	}
	for _, mode := range []string{load.Live, load.Loaded} { // loaded at half the rate of live by one process: three share its cores
		add(mode, 0, "", wide)
		add(mode, processes, "", wide)
	}
	if whole {
		o.Channels = 1000
		add(load.Idle, processes, "", nil)
	}
	return steps
}

// The workloads that one process and several are compared with: one busy channel of calls,
// and channels that together are limited by the program.
const (
	narrowDelay  = 30 * time.Millisecond
	wideChannels = 12
	wideDelay    = 50 * time.Millisecond
)
