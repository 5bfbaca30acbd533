package router_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/actors/router"
	"weir/persistence/storetest"
	routing "weir/router"
	"weir/router/journal"
	"weir/router/resource"
)

// body returns a snapshot without its first line, which holds the clock: the
// clock of an unused state is the time of its last event.
func body(snapshot string) string {
	_, rest, _ := strings.Cut(snapshot, "\n")
	return rest
}

// Wherever a process crashes between commits, the next one recovers the state
// that the written events give, and everything acknowledged holds.
func TestRecovery_AnyCrashIsRecoveredFrom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			store := newGate(storetest.SQLite(t))
			for life := range 3 {
				r := start(t, store, func(o *router.Options) { o.SnapshotEvents = 1 + random.IntN(60) })
				if life == 0 {
					r.furnish(4)
				}
				want, err := store.known()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(body(want), body(r.bytes())); diff != "" {
					t.Fatalf("life %d begins with another state (-written +found):\n%s", life, diff)
				}
				dead := crash(store, 1+random.IntN(40), []verdict{drop, mute}[random.IntN(2)])
				answered := live(r, seed, life, dead)
				r.Close()
				store.writes.Wait()
				store.set(always(pass))
				if last := store.last(); answered > last {
					t.Fatalf("event %d was answered, the last that was written is %d", answered, last)
				}
			}
		})
	}
}

// crash applies a verdict to the nth group and drops all later ones. The
// channel is closed when the nth group arrives.
func crash(store *gate, nth int, how verdict) (dead chan struct{}) {
	dead = make(chan struct{})
	store.set(func(n int) verdict {
		switch {
		case n < nth:
			return pass
		case n == nth:
			close(dead)
			return how
		default:
			return drop
		}
	})
	return dead
}

// live runs several callers with random operations until they finish or the
// router is dead, and returns the last acknowledged event.
func live(r *rig, seed uint64, life int, dead <-chan struct{}) (answered uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var callers, watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-dead:
			r.Close()
		case <-ctx.Done():
		}
	})
	var mu sync.Mutex
	for caller := range 3 {
		random := rand.New(rand.NewPCG(seed, uint64(life*10+caller)))
		callers.Go(func() {
			for i := range 60 {
				id := strconv.Itoa(life) + "-" + strconv.Itoa(caller) + "-" + strconv.Itoa(i)
				events, err := something(ctx, r.Router, random, id)
				if stopped(err) {
					return
				}
				mu.Lock()
				for _, e := range events {
					answered = max(answered, e.Head().Seq)
				}
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	cancel()
	watch.Wait()
	return answered
}

// something performs one random operation on existing resources.
func something(ctx context.Context, r *router.Router, random *rand.Rand, id string) (events []journal.Event, err error) {
	var jobs, offers, assigned []string
	view := func(s *routing.State) {
		for _, job := range s.IDs(resource.Job, "", 1000) {
			j, _ := s.Job(job)
			jobs = append(jobs, job)
			for _, o := range j.Offers {
				offers = append(offers, o.WorkerID, o.OfferID)
			}
			for _, a := range j.Assignments {
				if a.ClosedAt.IsZero() {
					assigned = append(assigned, job, a.AssignmentID)
				}
			}
		}
	}
	build := func(s *routing.State) routing.Command {
		view(s)
		return command(random, id, jobs, offers, assigned)
	}
	err = apply(ctx, r, build, &events)
	return events, err
}

func command(random *rand.Rand, id string, jobs, offers, assigned []string) routing.Command {
	pair := func(list []string) (string, string) {
		i := random.IntN(len(list)/2) * 2
		return list[i], list[i+1]
	}
	switch n := random.IntN(12); {
	case n < 2 && len(offers) > 0:
		w, o := pair(offers)
		return routing.AcceptOffer{WorkerID: w, OfferID: o}
	case n == 2 && len(offers) > 0:
		w, o := pair(offers)
		return routing.DeclineOffer{WorkerID: w, OfferID: o}
	case n < 5 && len(assigned) > 0:
		j, a := pair(assigned)
		return []routing.Command{
			routing.CompleteJob{JobID: j, AssignmentID: a, Note: "done"}, routing.CloseJob{JobID: j, AssignmentID: a},
			routing.UnassignJob{JobID: j, AssignmentID: a},
		}[random.IntN(3)]
	case n == 5 && len(jobs) > 0:
		return routing.CancelJob{ID: jobs[random.IntN(len(jobs))], Note: "no more"}
	case n == 6:
		return routing.SetAvailable{Available: random.IntN(3) > 0, Workers: []string{"w" + strconv.Itoa(random.IntN(4))}}
	case n == 7 && len(jobs) > 0:
		return routing.DeleteJob{ID: jobs[random.IntN(len(jobs))]}
	default:
		spec := job()
		spec.Priority = new(random.IntN(5))
		return routing.PutJob{ID: "j" + id, Spec: spec}
	}
}
