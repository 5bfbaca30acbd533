package acd_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/router"
	"weir/router/acd"
	"weir/router/resource"
)

// The agents of the article, in the order in which they became available.
const (
	remy      = "56c4c66bb98"
	billy     = "836c66055b77"
	christine = "bd14b59ac8e4"
	courtney  = "43156c44832a"
	ellen     = "60f6a95b747c"
	andrew    = "929bb98b85fe"
)

func andrewSpec() resource.WorkerSpec { return acd.Agent("Andrew", "M", "English", "French") }

// article loads the article's table: six agents, one of them in a call, and
// seven queues with the versions that it prints.
func article(t testing.TB) *callCenter {
	t.Helper()
	d := emptyCallCenter(t, time.Date(2022, 1, 5, 14, 0, 0, 0, time.UTC))
	for _, c := range acd.Setup().Commands() {
		if _, isPool := c.(router.PutPool); !isPool {
			d.e.Must(c)
		}
	}
	for _, a := range []struct {
		id, at string
		spec   resource.WorkerSpec
	}{
		{remy, "14:01:19.416341", acd.Agent("Remy", "T", "English")},
		{billy, "14:01:29.257873", acd.Agent("Billy", "M", "English", "French", "Spanish")},
		{christine, "14:01:34.330782", acd.Agent("Christine", "F", "Spanish")},
		{courtney, "14:01:37.370825", acd.Agent("Courtney", "F", "English", "Spanish")},
		{ellen, "14:01:39.416341", acd.Agent("Ellen", "F", "English", "French", "Spanish")},
	} {
		at, err := time.Parse(time.DateTime, "2022-01-05 "+a.at)
		if err != nil {
			t.Fatal(err)
		}
		d.at(at)
		d.e.Must(router.PutWorker{ID: a.id, Spec: a.spec})
	}
	away := andrewSpec()
	away.AvailableForOffers = false
	d.e.Must(router.PutWorker{ID: andrew, Spec: away})
	for id, version := range map[string]uint64{
		"Q#English#F": 12, "Q#English#M": 14, "Q#English#T": 13, "Q#French#F": 44, "Q#French#M": 35, "Q#Spanish#F": 46, "Q#Spanish#M": 15,
	} {
		d.e.Must(router.PutPool{ID: id, Spec: resource.PoolSpec{
			QueueID: acd.Agents, ChannelID: acd.Channel, Selectors: selectors(t, id), CountFrom: version,
		}})
	}
	return d
}

// table returns version/depth of every queue, and the number of items that the
// article's table would have: agents, queues and messages.
func (d *callCenter) table() (figures map[string]string, items int) {
	figures = map[string]string{}
	d.see(func(s *router.State) {
		items = len(s.IDs(resource.Worker, "", 100))
		for _, p := range pools(s) {
			figures[p.ID] = fmt.Sprint(p.Version, "/", p.Depth)
			items += 1 + p.Depth
		}
	})
	return figures, items
}

// FIFO-2, FIFO-4, D6, D7: the worked example, step by step.
func articleInOrder(t *testing.T) {
	d := article(t)
	want := map[string]string{
		"Q#English#F": "12/2", "Q#English#M": "14/1", "Q#English#T": "13/1", "Q#French#F": "44/1",
		"Q#French#M": "35/1", "Q#Spanish#F": "46/3", "Q#Spanish#M": "15/1",
	}
	check := func(step string, items int) {
		t.Helper()
		got, n := d.table()
		if diff := cmp.Diff(want, got); diff != "" || n != items {
			t.Fatalf("%s: %d items, want %d; version/depth (-want +got):\n%s", step, n, items, diff)
		}
	}
	check("at first", 23)
	for i, step := range []struct {
		filter, agent, since string
		items                int
		change               map[string]string
	}{
		{"Q#Spanish#M", billy, "14:01:29.257873", 20, map[string]string{"Q#English#M": "15/0", "Q#French#M": "36/0", "Q#Spanish#M": "16/0"}},
		{"Q#French#M", "", "", 20, nil},
		{"Q#Spanish#F", christine, "14:01:34.330782", 19, map[string]string{"Q#Spanish#F": "47/2"}},
		{"Q#Spanish#F", courtney, "14:01:37.370825", 17, map[string]string{"Q#English#F": "13/1", "Q#Spanish#F": "48/1"}},
		{"Q#French#F", ellen, "14:01:39.416341", 14, map[string]string{"Q#English#F": "14/0", "Q#French#F": "45/0", "Q#Spanish#F": "49/0"}},
		{"Q#English#F", "", "", 14, nil},
		{"Q#English#T", remy, "14:01:19.416341", 13, map[string]string{"Q#English#T": "14/0"}},
	} {
		got := d.ask(fmt.Sprint(i), step.filter)
		if got != step.agent {
			t.Fatalf("%s gave %q, not %q", step.filter, got, step.agent)
		}
		if got != "" && d.worker(got).AvailableSince.Format("15:04:05.000000") != step.since {
			t.Errorf("%s was available since %v", got, d.worker(got).AvailableSince)
		}
		for k, v := range step.change {
			want[k] = v
		}
		check(step.filter, step.items)
	}
}

// FIFO-3: the same table, last in, first out.
func articleNewestFirst(t *testing.T) {
	for filter, want := range map[string][]string{"Q#Spanish#F": {ellen, courtney, christine, ""}, "Q#English#F": {ellen, courtney, ""}} {
		d := article(t).lifo()
		for i, agent := range want {
			if got := d.ask(fmt.Sprint(i), filter); got != agent {
				t.Errorf("%s, %d: %q, not %q", filter, i, got, agent)
			}
		}
	}
}

// races is the number of runs of each race of the article.
const races = 10_000

// D1, R2: Spanish#M and French#M at the same time: exactly one caller gets
// Billy, the other gets no agent, and neither gets an error.
func articleRaceForOne(t *testing.T) {
	const at = 2 // concurrent series of races
	var all sync.WaitGroup
	for range at {
		all.Go(func() {
			d := article(t)
			for i := range races / at {
				got := d.race(fmt.Sprint(i), "Q#Spanish#M", "Q#French#M")
				if got[0]+got[1] != billy {
					t.Errorf("race %d: %q", i, got)
					return
				}
				for k := range got {
					d.finish(fmt.Sprint(i, ".", k))
				}
			}
		})
	}
	all.Wait()
}

// race asks with several filters at once.
func (d *callCenter) race(id string, filters ...string) []string {
	got := make([]string, len(filters))
	var both sync.WaitGroup
	for k, f := range filters {
		both.Go(func() { got[k] = d.ask(fmt.Sprint(id, ".", k), f) })
	}
	both.Wait()
	return got
}

// D3: two processes queue Andrew at once, and two callers want him: he is
// queued once and exactly one caller gets him.
func articleRaceToQueue(t *testing.T) {
	d := article(t)
	d.ask("billy", "Q#Spanish#M")
	away := andrewSpec()
	away.AvailableForOffers = false
	for i := range races {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if err := d.do(router.PutWorker{ID: andrew, Spec: andrewSpec()}); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if p := d.pool("Q#French#M"); p.Depth != 1 {
			t.Fatalf("%d: depth %d", i, p.Depth)
		}
		if got := d.race(fmt.Sprint("race", i), "Q#French#M", "Q#English#M"); got[0]+got[1] != andrew {
			t.Fatalf("%d: %q", i, got)
		}
		for k := range 2 {
			d.finish(fmt.Sprint("race", i, ".", k))
		}
		d.e.Must(router.PutWorker{ID: andrew, Spec: away})
	}
}

// D2: Andrew, queued between the two steps of "assign Q#Spanish#M", does not
// change who is first.
func articleQueuedMeanwhile(t *testing.T) {
	d := article(t)
	d.see(func(s *router.State) { // the first step: who is next
		next := s.AvailableWorkers(resource.PoolSpec{QueueID: acd.Agents, ChannelID: acd.Channel, Selectors: selectors(t, "Q#Spanish#M")}, false)
		if len(next) == 0 || next[0].WorkerID != billy {
			t.Errorf("next is %v", next)
		}
	})
	d.e.Must(router.PutWorker{ID: andrew, Spec: andrewSpec()})
	for i, step := range []struct{ filter, agent string }{{"Q#Spanish#M", billy}, {"Q#French#M", andrew}, {"Q#English#M", ""}} {
		if got := d.ask(fmt.Sprint(i), step.filter); got != step.agent {
			t.Errorf("%s gave %q, not %q", step.filter, got, step.agent)
		}
	}
}

// The article's demonstration: from an empty state, each queue's version equals
// its depth and its number of agents; then Chad, the earliest of four, is
// assigned.
func articleDemonstration(t *testing.T) {
	d := newCallCenter(t)
	for _, a := range []acd.Named[resource.WorkerSpec]{
		{ID: "chad", Spec: acd.Agent("Chad", "M", "English", "French", "Spanish")}, {ID: "alicia", Spec: acd.Agent("Alicia", "F", "English", "Spanish")},
		{ID: "m1", Spec: acd.Agent("A", "M", "English", "French", "Spanish")}, {ID: "m2", Spec: acd.Agent("B", "M", "English", "Spanish")},
		{ID: "m3", Spec: acd.Agent("C", "M", "French", "Spanish")},
	} {
		d.wait(time.Second).e.Must(router.PutWorker{ID: a.ID, Spec: a.Spec})
	}
	want := map[string]string{"Q#English#F": "1/1", "Q#English#M": "3/3", "Q#French#F": "0/0", "Q#French#M": "3/3", "Q#Spanish#F": "1/1", "Q#Spanish#M": "4/4"}
	got, items := d.table()
	if diff := cmp.Diff(want, got); diff != "" || items != 23 {
		t.Fatalf("%d items\n%s", items, diff)
	}
	if who := d.ask("1", "Q#Spanish#M"); who != "chad" {
		t.Fatalf("got %q", who)
	}
	want["Q#English#M"], want["Q#French#M"], want["Q#Spanish#M"] = "4/2", "4/2", "5/3"
	got, items = d.table()
	if diff := cmp.Diff(want, got); diff != "" || items != 20 {
		t.Errorf("%d items\n%s", items, diff)
	}
	if w := d.worker("chad"); len(w.AssignedJobs) != 1 {
		t.Errorf("%+v", w)
	}
}
