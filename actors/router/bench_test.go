package router_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	actor "weir/actors/router"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/router"
	"weir/router/journal"
)

// BenchmarkCycle is a job's whole life through the actor, on a file with
// synchronous=FULL: created, offered, accepted, completed, closed, each step
// answered once it is durable.
func BenchmarkCycle(b *testing.B) {
	for _, callers := range []int{64, 256, 1000} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			store := storetest.Open(b, "sqlite://"+filepath.Join(b.TempDir(), "weir.db"), persistence.Options{})
			r := start(b, store, nil)
			r.furnish(callers)
			var next atomic.Int64
			var wait sync.WaitGroup
			used := processTime(b)
			b.ResetTimer()
			for range callers {
				wait.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						cycle(b, r, "j"+strconv.FormatInt(i, 10))
					}
				})
			}
			wait.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cycles/s")
			b.ReportMetric(float64(b.N)/(processTime(b)-used).Seconds(), "cycles/cpu-s")
		})
	}
}

func cycle(b testing.TB, r *rig, id string) {
	events, err := r.try(router.PutJob{ID: id, Spec: job()})
	offer, ok := find[*journal.OfferIssuedEvent](events)
	if err != nil || !ok {
		b.Errorf("job %s got no offer: %v", id, err)
		return
	}
	events, err = r.try(router.AcceptOffer{WorkerID: offer.WorkerID, OfferID: offer.OfferID})
	accepted, ok := find[*journal.OfferAcceptedEvent](events)
	if err != nil || !ok {
		b.Errorf("the offer of job %s was not accepted: %v", id, err)
		return
	}
	a := accepted.AssignmentID
	for _, c := range []router.Command{router.CompleteJob{JobID: id, AssignmentID: a}, router.CloseJob{JobID: id, AssignmentID: a}} {
		if _, err := r.try(c); err != nil {
			b.Errorf("job %s: %v", id, err)
			return
		}
	}
}

// processTime returns the CPU time of the process on all cores.
func processTime(b testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWakeUp measures from the instant at which a worker requests to close
// a job until the offer that it gets next is durable and announced, at 1000
// cycles a second.
func BenchmarkWakeUp(b *testing.B) {
	const workers, rate = 100, 1000
	store := storetest.Open(b, "sqlite://"+filepath.Join(b.TempDir(), "weir.db"), persistence.Options{})
	r := start(b, store, nil)
	r.furnish(workers)
	offers := map[string]chan *journal.OfferIssuedEvent{}
	for i := range workers {
		offers["w"+strconv.Itoa(i)] = make(chan *journal.OfferIssuedEvent, 1)
	}
	r.Watch(func(events []journal.Event) {
		for _, e := range events {
			if o, ok := e.(*journal.OfferIssuedEvent); ok {
				offers[o.WorkerID] <- o
			}
		}
	})
	for i := range b.N + workers {
		r.do(router.PutJob{ID: "j" + strconv.Itoa(i), Spec: job()})
	}
	pace := make(chan struct{}, rate)
	var mu sync.Mutex
	var took []time.Duration
	var wait sync.WaitGroup
	b.ResetTimer()
	for _, mine := range offers {
		wait.Go(func() {
			var freed time.Time
			for o := range mine {
				if !freed.IsZero() {
					mu.Lock()
					took = append(took, time.Since(freed))
					mu.Unlock()
				}
				if _, more := <-pace; !more {
					return
				}
				events, _ := r.try(router.AcceptOffer{WorkerID: o.WorkerID, OfferID: o.OfferID})
				a, ok := find[*journal.OfferAcceptedEvent](events)
				if !ok {
					b.Error("an offer was not accepted")
					return
				}
				if _, err := r.try(router.CompleteJob{JobID: o.JobID, AssignmentID: a.AssignmentID}); err != nil {
					b.Error(err)
				}
				freed = time.Now()
				if _, err := r.try(router.CloseJob{JobID: o.JobID, AssignmentID: a.AssignmentID}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	tick := time.NewTicker(time.Second / rate)
	for range b.N {
		select {
		case <-tick.C:
			pace <- struct{}{}
		case <-b.Context().Done():
			b.Fatal("ended early")
		}
	}
	tick.Stop()
	b.StopTimer()
	close(pace)
	wait.Wait()
	slices.Sort(took)
	if n := len(took); n > 0 {
		b.ReportMetric(float64(took[n/2].Microseconds())/1000, "ms-p50")
		b.ReportMetric(float64(took[n*99/100].Microseconds())/1000, "ms-p99")
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cycles/s")
}

// BenchmarkAnnounce encodes the public events of a job's life by hand, and their form
// in the journal with encoding/json, which is as long.
func BenchmarkAnnounce(b *testing.B) {
	list := jobEvents(b)
	for name, encode := range map[string]func(journal.Event) error{
		"hand": func(e journal.Event) error { _, err := actor.Announce(e); return err },
		"json": func(e journal.Event) error { _, err := json.Marshal(e); return err },
	} {
		b.Run(name, func(b *testing.B) { benchEach(b, list, encode) })
	}
}

// BenchmarkAppend encodes the events of a job's life for the journal, by hand and with
// encoding/json.
func BenchmarkAppend(b *testing.B) {
	list := jobEvents(b)
	data := make([]byte, 0, 1<<20)
	for name, encode := range map[string]func(journal.Event) error{
		"hand": func(e journal.Event) error { _, err := journal.Append(data, e); return err },
		"json": func(e journal.Event) error { _, err := json.Marshal(e); return err },
	} {
		b.Run(name, func(b *testing.B) { benchEach(b, list, encode) })
	}
}

func benchEach(b *testing.B, list []journal.Event, encode func(journal.Event) error) {
	b.ReportAllocs()
	used := processTime(b)
	for b.Loop() {
		for _, e := range list {
			if err := encode(e); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64((processTime(b)-used).Microseconds())/float64(b.N), "cpu-µs/job")
}

// jobEvents returns the public events of a job's life.
func jobEvents(b *testing.B) (list []journal.Event) {
	b.Helper()
	s, now := router.New(router.DefaultSettings()), time.Now()
	do := func(c router.Command) []journal.Event {
		events, err := s.Execute(c, now)
		if err != nil {
			b.Fatal(err)
		}
		return events
	}
	do(router.PutQueue{ID: "q"})
	do(router.PutWorker{ID: "w", Spec: worker()})
	list = do(router.PutJob{ID: "j", Spec: job()})
	offer, _ := find[*journal.OfferIssuedEvent](list)
	list = append(list, do(router.AcceptOffer{WorkerID: "w", OfferID: offer.OfferID})...)
	accepted, _ := find[*journal.OfferAcceptedEvent](list)
	list = append(list, do(router.CompleteJob{JobID: "j", AssignmentID: accepted.AssignmentID})...)
	list = append(list, do(router.CloseJob{JobID: "j", AssignmentID: accepted.AssignmentID})...)
	return slices.DeleteFunc(list, func(e journal.Event) bool { return !journal.Public(e) })
}
