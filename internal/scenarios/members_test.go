package scenarios_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// pair returns two worlds on one database, with one provider.
func pair(t *testing.T) (first, second *world) {
	url := testmysql.URL(t)
	first = newWorld(t, url)
	first.start()
	second = newWorld(t, url)
	second.lab = first.lab
	second.start()
	return first, second
}

// runs reports whether this process holds the channel's lease, by the database.
func (w *world) runs(channel string) bool {
	w.Helper()
	ch, err := w.store.Channel(w.Context(), channel)
	if err != nil {
		w.Fatal(err)
	}
	held, err := w.store.Renew(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, id := range held {
		if id == ch.ID {
			return true
		}
	}
	return false
}

// oneOwner fails the test unless exactly one of the two processes runs a channel.
func oneOwner(t *testing.T, channel string, a, b *world) {
	t.Helper()
	if x, y := a.runs(channel), b.runs(channel); x == y {
		t.Fatalf("channel %s is run by the first: %v, by the second: %v", channel, x, y)
	}
}

// Scenario 66: two processes on one database.
func TestScenario66_TwoProcessesOneOwner(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	a.channel("ch", 5)
	ids := a.accept("ch", many("a", 8)...)
	a.until("the first sends", func() bool { return a.figure("ch", "active") == 5 })
	oneOwner(t, "ch", a, b)

	// Requests to the other process reach the owner.
	maps.Copy(ids, b.accept("ch", many("b", 4)...))
	b.finish("a-0001", "a-0002")
	a.until("the callbacks count", func() bool { return len(a.lab.sentKeys()) == 7 })
	b.want(202, "DELETE", "/v1/contacts/"+ids["a-0003"], nil)
	b.until("the cancel arrives", func() bool { return len(a.lab.canceledKeys()) == 1 })
	if o := b.done(ids["a-0003"]); o != "canceled" {
		t.Fatalf("ended as %s", o)
	}
	b.patch("ch", fields{"capacity": 6})
	a.until("the capacity counts", func() bool { now, _ := a.lab.use("ch"); return now == 6 })
	for _, key := range []string{"a-0004", "a-0005", "a-0006", "a-0007", "a-0008", "b-0001", "b-0002", "b-0003", "b-0004"} {
		a.speaks(key)
		b.finish(key) // all of them at the process that does not run the channel
	}
	for _, id := range ids {
		a.done(id)
	}
	oneOwner(t, "ch", a, b)
	a.inFlight("ch", 0)
	a.expectNoDuplicates()
}

// Scenario 66: the owner dies; the other process takes over within a lease and
// recovers what is in flight.
func TestScenario66_FailOverOnDeath(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	a.channel("ch", 5)
	ids := a.accept("ch", many("c", 20)...)
	a.until("the first sends", func() bool { return a.figure("ch", "active") == 5 })
	a.crash()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := a.store.Close(ctx); err != nil { // this also ends the lock that shows it is alive
		t.Fatal(err)
	}
	b.finish("c-0001") // a provider repeats it until it is answered 2xx; here that is at once
	b.within(12*time.Second, "the fail-over", func() {
		b.until("the second sends on", func() bool { return len(b.lab.sentKeys()) == 6 })
	})
	if now, _ := b.lab.use("ch"); now != 5 || !b.runs("ch") {
		t.Fatalf("%d in flight at the provider; the second runs the channel: %v", now, b.runs("ch"))
	}
	for i := 2; i <= 20; i++ {
		key := fmt.Sprintf("c-%04d", i)
		b.speaks(key)
		b.finish(key)
	}
	for _, id := range ids {
		b.done(id)
	}
	b.expectNoDuplicates()
}

// Scenario 66: an owner that shuts down in order hands its channels over at once.
func TestScenario66_FailOverOnDrain(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	a.channel("ch", 5)
	ids := a.accept("ch", many("c", 10)...)
	a.until("the first sends", func() bool { return a.figure("ch", "active") == 5 })
	if err := a.system.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a.runs("ch") {
		t.Fatal("the first kept the channel")
	}
	for i := 1; i <= 10; i++ {
		key := fmt.Sprintf("c-%04d", i)
		b.speaks(key)
		b.finish(key) // on the first of them the second process takes the channel over
	}
	for _, id := range ids {
		b.done(id)
	}
	if !b.runs("ch") {
		t.Fatal("the second does not run the channel")
	}
	b.expectNoDuplicates()
}

// Scenario 66 on SQLite: the second process is a standby until the first ends.
func TestScenario66_SecondProcessStandsByOnSQLite(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "weir.db")
	first := newWorld(t, url)
	first.start()
	first.channel("ch", 5)
	ids := first.accept("ch", many("c", 10)...)
	first.until("the first sends", func() bool { return first.figure("ch", "active") == 5 })

	store := storetest.OpenOnly(t, url, persistence.Options{Logger: first.logger()})
	joined := make(chan error, 1)
	go func() { joined <- store.Join(context.Background()) }()
	first.waitIdle()
	select {
	case err := <-joined:
		t.Fatalf("the second process did not wait: %v", err)
	default:
	}
	first.crash()
	if err := first.store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-joined; err != nil {
		t.Fatal(err)
	}
	second := newWorld(t, url)
	second.lab, second.store = first.lab, store
	second.start()
	for i := 1; i <= 10; i++ {
		key := fmt.Sprintf("c-%04d", i)
		second.speaks(key)
		second.finish(key)
	}
	for _, id := range ids {
		second.done(id)
	}
	second.expectNoDuplicates()
}
