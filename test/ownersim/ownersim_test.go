package ownersim_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"weir/persistence/ownership"
	"weir/test/ownersim"
	"weir/web/forward"
)

var (
	seeds = flag.Uint64("ownersim.seeds", 50, "how many runs are simulated")
	first = flag.Uint64("ownersim.first", 0, "the seed of the first one")
)

// Every run keeps the invariants.
func TestRun(t *testing.T) {
	t.Parallel()
	takes, calls, unknown := 0, 0, 0
	for seed := *first; seed < *first+*seeds; seed++ {
		r := ownersim.Run(seed, ownersim.Real())
		if r.Failure != "" {
			t.Fatalf("%s; it is repeated by -ownersim.first=%d -ownersim.seeds=1. The last events:\n%s", r.Failure, seed, strings.Join(r.Last, "\n"))
		}
		takes, calls, unknown = takes+r.Takes, calls+r.Calls, unknown+r.Unknown
	}
	t.Logf("%d runs: the database was taken %d times, the provider called %d times, %d contacts became unknown", *seeds, takes, calls, unknown)
}

// A seed gives the same run again.
func TestRun_IsReproducible(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		a, b := ownersim.Run(seed, ownersim.Real()), ownersim.Run(seed, ownersim.Real())
		if strings.Join(a.Last, "\n") != strings.Join(b.Last, "\n") {
			t.Errorf("seed %d: two runs end differently", seed)
		}
	}
}

// Each deliberate fault is found within 200 seeds.
func TestRun_FindsFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(r *ownersim.Rules){
		"the time of a lease counts from the answer": func(r *ownersim.Rules) {
			r.ValidUntil = func(_, answered time.Time, lease time.Duration) time.Time {
				return ownership.ValidUntil(answered, lease)
			}
		},
		"an owner acts to the end of its lease, and a little longer": func(r *ownersim.Rules) {
			r.ValidUntil = func(asked, _ time.Time, lease time.Duration) time.Time {
				return asked.Add(lease + 100*time.Millisecond)
			}
		},
		"an expired lease is taken at once": func(r *ownersim.Rules) {
			r.Watch = func(w *ownership.Watch, row ownership.Row, lease time.Duration, self, successor int64) ownership.Step {
				if row.Expired() && !row.Free() {
					return ownership.Take
				}
				return w.Decide(row, lease, self, successor)
			}
		},
		"a void lease is taken at once": func(r *ownersim.Rules) {
			r.Watch = func(w *ownership.Watch, row ownership.Row, lease time.Duration, self, successor int64) ownership.Step {
				if row.Void(lease) && !row.Free() {
					return ownership.Take
				}
				return w.Decide(row, lease, self, successor)
			}
		},
		"a lease is judged anew when it is taken": func(r *ownersim.Rules) {
			r.MayTake = func(is, _ ownership.Row, lease time.Duration, self int64) bool {
				return is.Free() || is.Expired() || is.Void(lease) || is.Start == self
			}
		},
		"a request is repeated after it was sent": func(r *ownersim.Rules) {
			r.Forward = func(s forward.State, left time.Duration) forward.Step {
				s.Repeatable = true
				return forward.Decide(s, left)
			}
		},
		"a standby serves":                        func(r *ownersim.Rules) { r.Serves = func(bool) bool { return true } },
		"the fences are not raised":               func(r *ownersim.Rules) { r.RaiseFence = false },
		"the owner's epoch is not raised":         func(r *ownersim.Rules) { r.RaiseEpoch = false },
		"the epoch of transactions is not raised": func(r *ownersim.Rules) { r.RaiseMeta = false },
		"transactions do not check the epoch":     func(r *ownersim.Rules) { r.CheckMeta = false },
		"the log is not read":                     func(r *ownersim.Rules) { r.ReadLog = false },
		"no row shows that a batch was committed": func(r *ownersim.Rules) { r.KeepRow = false },
		"released before the last batch":          func(r *ownersim.Rules) { r.FlushFirst = false },
		"an owner that has lost does not exit":    func(r *ownersim.Rules) { r.ExitsIfLost = false },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(200) {
				rules := ownersim.Real()
				fault(&rules)
				if r := ownersim.Run(seed, rules); r.Failure != "" {
					t.Log(r.Failure)
					return
				}
			}
			t.Error("200 runs, and none has shown it")
		})
	}
}
