package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/machine"
)

// routerVersion is the version of the router's API.
const routerVersion = "?api-version=2023-11-01"

// router creates jobs through the router's API, one after the other: each is answered when
// it is durable. Nothing of them is left.
func (m measurement) router(ctx context.Context) (f Figures, err error) {
	f = figuresOf(m.w)
	s, ok := m.s.(*httpSubject)
	if !ok {
		return f, errors.New("the router is measured over HTTP")
	}
	call := func(ctx context.Context, method, path string, body any) error {
		return s.do(ctx, method, "/routing/"+path+routerVersion, body, nil)
	}
	queue, policy := "queues/"+s.prefix, "distributionPolicies/"+s.prefix
	if err := call(ctx, http.MethodPatch, policy, map[string]any{"offerExpiresAfterSeconds": 60, "mode": map[string]any{"kind": "longestIdle"}}); err != nil {
		return f, err
	}
	job := func(i int) string { return fmt.Sprintf("jobs/%s-%d", s.prefix, i) }
	made := 0
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
		defer cancel()
		var errs []error
		for i := range made {
			errs = append(errs, call(ctx, http.MethodPost, job(i)+":cancel", map[string]any{}), call(ctx, http.MethodDelete, job(i), nil))
		}
		err = errors.Join(append(errs, err, call(ctx, http.MethodDelete, queue, nil), call(ctx, http.MethodDelete, policy, nil))...)
	}()
	if err := call(ctx, http.MethodPatch, queue, map[string]any{"distributionPolicyId": s.prefix}); err != nil {
		return f, err
	}
	if err := m.reset(ctx); err != nil {
		return f, err
	}
	charge, err := m.meter(ctx)
	if err != nil {
		return f, err
	}
	took := make([]time.Duration, 0, m.w.N)
	began := time.Now()
	for i := range m.w.N {
		at := time.Now()
		if err := call(ctx, http.MethodPatch, job(i), map[string]any{"channelId": "bench", "queueId": s.prefix}); err != nil {
			return f, err
		}
		made++
		took = append(took, time.Since(at))
		if !machine.Sleep(ctx, routerPause) {
			return f, ctx.Err()
		}
	}
	f.PerS = float64(m.w.N) / time.Since(began).Seconds()
	f.P50, f.P99 = judge.Quantiles(took)
	return f, charge(&f)
}

// routerPause keeps the requests apart, so that latency is measured, not throughput.
const routerPause = 5 * time.Millisecond
