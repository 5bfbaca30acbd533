package bench

import (
	"context"
	"strings"
	"time"

	"weir/cmd/weirlab/machine"
)

// kills is how often a crash run kills the broker.
const kills = 2

// crash is live with a broker that is killed at one third and at two thirds,
// and restarted each time. The callers retry until they are answered: every
// contact is acknowledged, and the provider must see all of them.
func (m measurement) crash(ctx context.Context) (Figures, error) {
	w, f := m.w, figuresOf(m.w)
	if err := m.reset(ctx); err != nil {
		return f, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	killed := make(chan error, 1)
	go func() {
		err := m.killAtThirds(ctx)
		if err != nil {
			cancel(err)
		}
		killed <- err
	}()
	others, began := machine.WatchOthers(), time.Now()
	if _, err := w.Enqueue(ctx, retryingSubject{m.s}, nil); err != nil {
		return f, err
	}
	queued := time.Now()
	if err := <-killed; err != nil {
		return f, err
	}
	seen, err := m.finish(ctx)
	if err != nil {
		return f, err
	}
	f.take(w, seen, began, began, queued)
	f.Others = others(time.Duration(seen.CPU)) // a killed process's CPU time can no longer be read
	f.Error = strings.Join(seen.Faults(w.Expectation(), kills), "; ")
	return f, nil
}

// killAtThirds kills the broker when the provider has a third of the contacts, and
// again when it has two thirds.
func (m measurement) killAtThirds(ctx context.Context) error {
	for k := 1; k <= kills; {
		seen, err := m.p.Seen(ctx)
		if err != nil {
			return err
		}
		if seen.Distinct >= m.w.N*k/(kills+1) {
			m.broker.Kill()
			if err := m.broker.start(ctx); err != nil {
				return err
			}
			k++
		}
		if !machine.Sleep(ctx, time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

// retryingSubject retries enqueuing until it is answered, as a client should: the keys
// stay the same, so no contact is queued twice.
type retryingSubject struct{ subject }

// retryLimit is how long a caller retries.
const retryLimit = 60 * time.Second

func (s retryingSubject) Enqueue(ctx context.Context, channel int, ids []int, began time.Time) error {
	for {
		err := s.subject.Enqueue(ctx, channel, ids, began)
		if err == nil || time.Since(began) > retryLimit {
			return err
		}
		if !machine.Sleep(ctx, 20*time.Millisecond) {
			return err
		}
	}
}
