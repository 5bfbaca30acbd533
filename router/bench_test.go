package router_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

const (
	benchWorkers = 10_000
	benchSkills  = 10
)

// benchRouter returns a router with many workers, each with three of ten skills true
// and the rest false, one queue, and waiting jobs that no worker can take.
func benchRouter(b *testing.B, workers, waiting int) (*router.State, time.Time) {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	s, now := router.New(router.DefaultSettings()), start()
	do := func(c router.Command) {
		if _, err := s.Execute(c, now); err != nil {
			b.Fatal(err)
		}
	}
	do(router.PutDistribution{ID: "d", Spec: resource.DistributionSpec{Mode: resource.Mode{Kind: resource.LongestIdle}}})
	do(router.PutQueue{ID: "q", Spec: resource.QueueSpec{DistributionPolicyID: "d"}})
	for i := range workers {
		labels := label.Set{}
		for k := range benchSkills {
			labels["skill"+strconv.Itoa(k)] = label.Bool(false)
		}
		for _, k := range r.Perm(benchSkills)[:3] {
			labels["skill"+strconv.Itoa(k)] = label.Bool(true)
		}
		do(router.PutWorker{ID: fmt.Sprintf("w%05d", i), Spec: resource.WorkerSpec{
			Queues: []string{"q"}, Capacity: 1, Labels: labels, AvailableForOffers: true,
			Channels: []resource.Channel{{ChannelID: "voice", CapacityCostPerJob: 1}},
		}})
	}
	for i := range waiting {
		// Every tenth job has a requirement of its own, so that there are many
		// classes.
		language := "Klingon"
		if i%10 == 0 {
			language = "Klingon" + strconv.Itoa(i%1000)
		}
		do(router.PutJob{ID: "blocked" + strconv.Itoa(i), Spec: resource.JobSpec{
			ChannelID: "voice", QueueID: "q",
			RequestedWorkerSelectors: append(skillSelectors(i), resource.WorkerSelector{Key: "language", Operator: label.Equal, Value: label.Text(language)}),
		}})
	}
	return s, now
}

// skillSelectors requires two of ten skills.
func skillSelectors(i int) []resource.WorkerSelector {
	a := i % benchSkills
	b := (a + 1 + i/benchSkills%(benchSkills-1)) % benchSkills
	return []resource.WorkerSelector{
		{Key: "skill" + strconv.Itoa(a), Operator: label.Equal, Value: label.Bool(true)},
		{Key: "skill" + strconv.Itoa(b), Operator: label.Equal, Value: label.Bool(true)},
	}
}

// blocked returns the number of waiting jobs that no worker can take; with
// -short just enough to show that the benchmark works.
func blocked() int {
	if testing.Short() {
		return 1_000
	}
	return 1_000_000
}

func BenchmarkMatch(b *testing.B) {
	for _, workers := range []int{100, benchWorkers} {
		for _, waiting := range []int{0, blocked()} {
			b.Run(fmt.Sprintf("workers=%d/blocked=%d", workers, waiting), func(b *testing.B) {
				s, now := benchRouter(b, workers, waiting)
				specs := make([]resource.JobSpec, 90)
				for i := range specs {
					specs[i] = resource.JobSpec{ChannelID: "voice", QueueID: "q", RequestedWorkerSelectors: skillSelectors(i)}
				}
				benchMatch(b, s, now, specs)
			})
		}
	}
}

// benchMatch measures the match alone: a waiting job finds its worker, and the
// offer is revoked.
func benchMatch(b *testing.B, s *router.State, now time.Time, specs []resource.JobSpec) {
	ids := make([]string, len(specs))
	for i, spec := range specs {
		ids[i] = "j" + strconv.Itoa(i)
		if _, err := s.Execute(router.PutJob{ID: ids[i], Spec: spec}, now); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	runtime.GC()
	i, used := 0, processTime(b)
	for b.Loop() {
		router.Rematch(s, ids[i%len(ids)])
		i++
	}
	perSecond(b, "matches", i, processTime(b)-used)
}

// BenchmarkCycle is a job's whole life: created, offered, accepted, completed,
// closed, deleted, with all its events.
func BenchmarkCycle(b *testing.B) {
	for _, waiting := range []int{0, blocked()} {
		b.Run(fmt.Sprintf("blocked=%d", waiting), func(b *testing.B) {
			s, now := benchRouter(b, benchWorkers, waiting)
			b.ReportAllocs()
			runtime.GC()
			i, used := 0, processTime(b)
			for b.Loop() {
				now = now.Add(time.Millisecond)
				cycle(b, s, now, i)
				i++
			}
			perSecond(b, "cycles", i, processTime(b)-used)
		})
	}
}

// processTime returns the CPU time of the process on all cores. On a shared
// machine it is steadier than wall-clock time.
func processTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func perSecond(b *testing.B, what string, n int, used time.Duration) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), what+"/s")
	b.ReportMetric(float64(n)/used.Seconds(), what+"/cpu-s")
}

func cycle(b *testing.B, s *router.State, now time.Time, i int) {
	id := "job" + strconv.Itoa(i)
	events, err := s.Execute(router.PutJob{ID: id, Spec: resource.JobSpec{ChannelID: "voice", QueueID: "q", RequestedWorkerSelectors: skillSelectors(i)}}, now)
	if err != nil {
		b.Fatal(err)
	}
	o := events[len(events)-1].(*journal.OfferIssuedEvent)
	if events, err = s.Execute(router.AcceptOffer{WorkerID: o.WorkerID, OfferID: o.OfferID}, now); err != nil {
		b.Fatal(err)
	}
	a := events[0].(*journal.OfferAcceptedEvent).AssignmentID
	for _, c := range []router.Command{
		router.CompleteJob{JobID: id, AssignmentID: a}, router.CloseJob{JobID: id, AssignmentID: a}, router.DeleteJob{ID: id},
	} {
		if _, err = s.Execute(c, now); err != nil {
			b.Fatal(err)
		}
	}
}

// snapshotRouter returns a router with many jobs in the mix that snapshots have: most
// wait, each with a label and two selectors; some are assigned, and as many are
// closed.
func snapshotRouter(b *testing.B, jobs int) *router.State {
	b.Helper()
	s, now := benchRouter(b, 100, 0)
	for i := range jobs {
		if i%10 == 0 {
			id := "job" + strconv.Itoa(i)
			events, err := s.Execute(router.PutJob{ID: id, Spec: resource.JobSpec{ChannelID: "voice", QueueID: "q"}}, now)
			if err != nil {
				b.Fatal(err)
			}
			if o, ok := events[len(events)-1].(*journal.OfferIssuedEvent); ok {
				accepted, err := s.Execute(router.AcceptOffer{WorkerID: o.WorkerID, OfferID: o.OfferID}, now)
				if err != nil {
					b.Fatal(err)
				}
				a := accepted[0].(*journal.OfferAcceptedEvent).AssignmentID
				for _, c := range []router.Command{router.CompleteJob{JobID: id, AssignmentID: a}, router.CloseJob{JobID: id, AssignmentID: a}} {
					if _, err := s.Execute(c, now); err != nil {
						b.Fatal(err)
					}
				}
			}
			continue
		}
		if _, err := s.Execute(router.PutJob{ID: "job" + strconv.Itoa(i), Spec: resource.JobSpec{
			ChannelID: "voice", QueueID: "q", Labels: label.Set{"contact": label.Text("+85512" + strconv.Itoa(i))},
			RequestedWorkerSelectors: append(skillSelectors(i), resource.WorkerSelector{Key: "language", Operator: label.Equal, Value: label.Text("Klingon")}),
		}}, now); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkSnapshot measures writing a snapshot and restoring it.
func BenchmarkSnapshot(b *testing.B) {
	s := snapshotRouter(b, 100_000)
	data, err := s.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"write": func() error { _, err := s.Snapshot(); return err },
		"read":  func() error { _, err := router.Restore(data); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			runtime.GC()
			used := processTime(b)
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((processTime(b)-used).Milliseconds())/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(len(data))/1e6, "MB")
		})
	}
}
