package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/machine"
)

// settleTime is the max time that a broker gets to come to rest before idle is measured; less
// if the measurement itself is shorter.
const settleTime = 5 * time.Second

// bulk measures enqueuing alone. The contacts stay queued.
func (m measurement) bulk(ctx context.Context) (Figures, error) {
	f := figuresOf(m.w)
	if err := m.reset(ctx); err != nil {
		return f, err
	}
	charge, err := m.meter(ctx)
	if err != nil {
		return f, err
	}
	if _, err := m.fill(ctx, &f); err != nil {
		return f, err
	}
	if err := charge(&f); err != nil {
		return f, err
	}
	queued, _, err := m.s.open(ctx)
	if queued != m.w.N {
		f.Error = fmt.Sprintf("%d of %d contacts are queued", queued, m.w.N)
	}
	return f, err
}

// fill queues all contacts in closed channels.
func (m measurement) fill(ctx context.Context, f *Figures) (*judge.Calls, error) {
	if err := m.s.pause(ctx, true); err != nil {
		return nil, err
	}
	began := time.Now()
	made, err := m.w.Enqueue(ctx, m.s, func() error { return nil })
	f.EnqueuePS = float64(m.w.N) / time.Since(began).Seconds()
	return made, err
}

// idle measures a broker with nothing left to do. Every channel has had a contact, so
// that none is idle because it was never used.
func (m measurement) idle(ctx context.Context) (Figures, error) {
	f, err := m.through(ctx)
	if err != nil || f.Error != "" {
		return f, err
	}
	if !machine.Sleep(ctx, min(settleTime, m.w.Lasting)) {
		return f, ctx.Err()
	}
	before, err := m.used(ctx)
	if err != nil {
		return f, err
	}
	others, began := machine.WatchOthers(), time.Now()
	if !machine.Sleep(ctx, m.w.Lasting) {
		return f, ctx.Err()
	}
	after, err := m.used(ctx)
	if err != nil {
		return f, err
	}
	spent, seconds := after.since(before), time.Since(began).Seconds()
	f.Others = others(m.parts(spent))
	f.IdleCPU = spent.cpu.Seconds() / seconds * 60
	f.IdleStore = spent.server.Seconds() / seconds * 60
	f.IdleStmts = max(0, spent.statements-m.store.own()) / seconds
	f.IdleOwnerCPU = spent.owner.Seconds() / seconds * 60
	f.IdleOwnerStmts, f.IdleStandbyStmts = spent.ownerStatements/seconds, spent.standbyStatements/seconds
	return f, nil
}

// watchRestart is how long a restart run is observed after the first send.
const watchRestart = 8 * time.Second

// restart measures a start with all contacts queued: they are queued in closed
// channels, the channels are opened, and the broker is stopped and started again
// immediately, so that it is up when the provider reports on contacts in flight.
func (m measurement) restart(ctx context.Context) (Figures, error) {
	f := figuresOf(m.w)
	if err := m.reset(ctx); err != nil {
		return f, err
	}
	made, err := m.fill(ctx, &f)
	if err != nil {
		return f, err
	}
	if err := m.s.pause(ctx, false); err != nil {
		return f, err
	}
	m.broker.Stop()
	if err := m.p.Mark(ctx); err != nil {
		return f, err
	}
	stub, err := m.p.Seen(ctx)
	if err != nil {
		return f, err
	}
	server, err := m.store.add(ctx, cost{})
	if err != nil {
		return f, err
	}
	others, began := machine.WatchOthers(), time.Now()
	if err := m.broker.start(ctx); err != nil {
		return f, err
	}
	seen, err := m.watchStart(ctx)
	if err != nil {
		return f, err
	}
	spent, err := m.used(ctx)
	if err != nil {
		return f, err
	}
	f.Others = others(spent.cpu + spent.provider - time.Duration(stub.CPU) + spent.server - server.server)
	f.FirstSend = seen.First.Sub(began).Seconds()
	f.FullRate, f.PerS = fullRate(seen.Timeline, judge.Beat)
	f.FullRate -= began.Sub(seen.Marked).Seconds()
	f.RSSClient, f.RSSServer = megabytes(spent.peak), megabytes(m.store.size())
	return f, m.judgeRestart(ctx, &f, made)
}

// watchStart waits for the first send, and then until the rate can be measured.
func (m measurement) watchStart(ctx context.Context) (judge.Seen, error) {
	began := time.Now()
	for {
		seen, err := m.p.Seen(ctx)
		switch {
		case err != nil:
			return seen, err
		case seen.First.IsZero() && time.Since(began) > stall:
			return seen, fmt.Errorf("nothing was sent within %s of the start", stall)
		case !seen.First.IsZero() && (time.Since(seen.First) > watchRestart || seen.Distinct >= m.w.N):
			return seen, nil
		}
		if !machine.Sleep(ctx, pollInterval) {
			return seen, ctx.Err()
		}
	}
}

// judgeRestart closes the channels and counts: contacts that were not sent must still
// be queued.
func (m measurement) judgeRestart(ctx context.Context, f *Figures, made *judge.Calls) error {
	if err := m.s.pause(ctx, true); err != nil {
		return err
	}
	var seen judge.Seen
	queued := 0
	for began := time.Now(); time.Since(began) < machine.EndLimit; {
		var err error
		if seen, err = m.p.Seen(ctx); err != nil {
			return err
		}
		if queued, _, err = m.s.open(ctx); err != nil {
			return err
		}
		if seen.Reported() >= seen.Distinct && seen.Distinct+queued == m.w.N {
			break
		}
		if !machine.Sleep(ctx, pollInterval) {
			return ctx.Err()
		}
	}
	var err error
	if seen.Order, err = m.inOrder(ctx, made); err != nil {
		return err
	}
	f.MaxActive, f.Duplicate, f.Lost = seen.MaxActive, seen.Twice, m.w.N-seen.Distinct-queued
	f.Error = strings.Join(seen.RestartFaults(m.w.Expectation(), queued), "; ")
	return nil
}

// fullRate returns when a timeline of arrivals first reached the sustained rate, in
// seconds from its beginning, and that rate per second. The sustained rate is the
// median of the later half of the timeline after the first arrival; it is reached at
// the end of the first half second with at least nine tenths of it.
func fullRate(line []int, beat time.Duration) (seconds, rate float64) {
	const window = 5
	first := 0
	for first < len(line) && line[first] == 0 {
		first++
	}
	sums := make([]float64, 0, len(line))
	for i := first; i+window <= len(line); i++ {
		sum := 0
		for _, n := range line[i : i+window] {
			sum += n
		}
		sums = append(sums, float64(sum))
	}
	if len(sums) == 0 {
		return 0, 0
	}
	full := middle(sums[len(sums)/2:])
	for i, sum := range sums {
		if sum >= 0.9*full {
			return (time.Duration(first+i+window) * beat).Seconds(), full / (window * beat.Seconds())
		}
	}
	return 0, 0
}
