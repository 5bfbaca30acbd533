package persistence_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// The shape of a batch under load: on each of ten channels two contacts are
// accepted, two claimed, two taken by the provider and two ended.
const (
	roundChannels = 10
	roundEach     = 2
	roundsInAir   = 25 // rounds between dispatch and end
)

// rounds writes one batch after the other, each of the same shape.
type rounds struct {
	b       *testing.B
	s       *persistence.Store
	each    int           // contacts of a channel in a batch
	working time.Duration // of the writer: from its release to its answers
	brokers []weir.Incarnation
	begun   [][]weir.Contact // by round
	wants   chan int         // for the callers: a channel that gets a contact
	got     chan weir.Contact
	release chan struct{} // lets the writer go
}

// BenchmarkRounds measures the whole way of a contact through the store, in
// batches of one size: time and bytes are those of one contact.
func BenchmarkRounds(b *testing.B) {
	for name, url := range roundStores(b) {
		b.Run(name, func(b *testing.B) {
			r := newRounds(b, storetest.Open(b, url(), persistence.Options{}), roundEach)
			n := b.N/r.size() + 1
			given, cpu := r.s.Given(), cpuTime()
			b.ReportAllocs()
			b.ResetTimer()
			for range n + roundsInAir {
				r.next(n)
			}
			b.StopTimer()
			close(r.release)
			contacts := float64(n * r.size())
			b.ReportMetric(float64(r.s.Given()-given)/contacts*1000, "statements/1000")
			b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/contacts, "cpu-µs/contact")
		})
	}
}

// BenchmarkRoundsCeiling measures how many contacts a second the one writer carries: it
// commits batch after batch, and nothing else runs meanwhile. The time that it waits while a
// batch is put together does not count. The smaller batch is the least for which the writer
// does not wait for more; with the larger one, near the bound of a batch, a commit's share of
// the time is small.
func BenchmarkRoundsCeiling(b *testing.B) {
	for name, url := range roundStores(b) {
		for _, each := range []int{7, 20} { // four rows a contact: 280 and 800
			b.Run(fmt.Sprintf("%s/batch-%d", name, each*roundChannels), func(b *testing.B) {
				r := newRounds(b, storetest.Open(b, url(), persistence.Options{}), each)
				n := b.N/r.size() + 1
				for range roundsInAir { // from here on a batch has contacts of each kind
					r.next(n + roundsInAir)
				}
				r.working = 0
				b.ResetTimer()
				for range n {
					r.next(n + roundsInAir)
				}
				b.StopTimer()
				close(r.release)
				b.ReportMetric(float64(n*r.size())/r.working.Seconds(), "contacts/s")
				b.ReportMetric(float64(r.working.Microseconds())/float64(n), "µs/batch")
			})
		}
	}
}

// roundStores returns the stores, each with a function that makes a new database.
func roundStores(b *testing.B) map[string]func() string {
	b.Helper()
	return map[string]func() string{
		"sqlite": func() string { return "sqlite://" + filepath.Join(b.TempDir(), "weir.db") },
		"mysql":  func() string { return testmysql.URL(b) },
	}
}

// size returns the number of contacts in a batch.
func (r *rounds) size() int { return roundChannels * r.each }

func newRounds(b *testing.B, s *persistence.Store, each int) *rounds {
	b.Helper()
	r := &rounds{b: b, s: s, each: each, wants: make(chan int), release: make(chan struct{})}
	r.got = make(chan weir.Contact, r.size())
	for i := range roundChannels {
		c, _, err := s.PutChannel(b.Context(), weir.Channel{Name: fmt.Sprint("c", i), Capacity: 2 * each * roundsInAir})
		if err != nil {
			b.Fatal(err)
		}
		by, err := s.Incarnate(b.Context(), c.ID)
		if err != nil {
			b.Fatal(err)
		}
		r.brokers = append(r.brokers, by)
	}
	for range r.size() {
		go r.call()
	}
	held, release := make(chan struct{}), r.release
	r.commit(0, nil, func() { close(held); <-release })
	<-held
	b.Cleanup(func() { close(r.wants) })
	return r
}

// call is a client that hands contacts in one by one.
func (r *rounds) call() {
	for i := range r.wants {
		got, err := r.s.Accept(r.b.Context(), r.brokers[i].Channel, []weir.Spec{{
			To: "sms://15550001", Priority: weir.Normal, Messages: []string{strings.Repeat("x", 200)},
		}})
		if err != nil {
			r.b.Error(err)
			return
		}
		r.got <- got[0].Contact
	}
}

// next submits everything of a round while the writer is held, lets it go
// and waits for the answers. The last answer holds the writer for the next.
func (r *rounds) next(n int) {
	round := len(r.begun)
	var accepted []weir.Contact
	fresh := 0
	if round < n {
		fresh = r.size()
	}
	for i := range fresh {
		r.wants <- i % roundChannels
	}
	for r.s.Waiting() < fresh {
		runtime.Gosched()
	}
	r.advance(round-1, weir.Progress.Claim, r.each)
	r.advance(round-2, func(p weir.Progress, at time.Time) (weir.Progress, error) { return p.Accept(at, "1234567") }, 1)
	r.advance(round-roundsInAir, func(p weir.Progress, at time.Time) (weir.Progress, error) { return p.Finish(at, weir.Completed, "") }, 1)
	held, release := make(chan struct{}), make(chan struct{})
	r.commit(0, nil, func() { close(held); <-release })
	began := time.Now()
	close(r.release)
	<-held
	r.working += time.Since(began)
	r.release = release
	for range fresh {
		accepted = append(accepted, <-r.got)
	}
	r.begun = append(r.begun, accepted)
}

// advance takes the contacts of a round one step further, so many of a channel
// in one change.
func (r *rounds) advance(round int, step func(weir.Progress, time.Time) (weir.Progress, error), together int) {
	if round < 0 || round >= len(r.begun) {
		return
	}
	of := map[weir.ChannelID][]weir.Transition{}
	now := time.Now()
	for i := range r.begun[round] {
		c := &r.begun[round][i]
		was := c.Progress
		is, err := step(was, now)
		if err != nil {
			r.b.Fatal(err)
		}
		c.Progress = is
		of[c.Channel] = append(of[c.Channel], weir.Transition{Contact: *c, From: was.Rev, Was: was.State})
	}
	for i, by := range r.brokers {
		for list := of[by.Channel]; len(list) > 0; list = list[min(together, len(list)):] {
			r.commit(i, list[:min(together, len(list))], func() {})
		}
	}
}

func (r *rounds) commit(i int, list []weir.Transition, answered func()) {
	r.s.Commit(weir.Change{By: r.brokers[i], Transitions: list}, func(result weir.CommitResult) {
		if result.Err != nil || len(result.Stale) > 0 {
			r.b.Errorf("%+v", result)
		}
		answered()
	})
}
