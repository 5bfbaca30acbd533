package scenarios_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// successor returns another process on the database of this one, with the same provider. It
// starts, and owns the database, although this one may not know yet that it is not the owner.
func (w *world) successor() *world {
	w.Helper()
	next := newWorld(w.T, w.url)
	next.lab = w.lab
	if w.hooks != nil {
		next.hooks = &hooks{receivers: w.hooks.receivers}
	}
	storetest.Free(w.T, w.url)
	next.start()
	return next
}

// Scenario 66: the owner of the database stalls. Another process takes over and recovers what
// is in flight; what the first does when it wakes is refused.
func TestOwner_ThatStalledIsReplacedAndRefused(t *testing.T) {
	t.Parallel()
	a := newWorld(t, testmysql.URL(t))
	a.quiet = true // it complains
	a.start()
	a.channel("ch", 5)
	ids := a.accept("ch", many("c", 20)...)
	a.until("the first sends", func() bool { return a.figure("ch", "active") == 5 })
	b := a.successor()
	if status := a.report("c-0001", "all", "completed"); status != http.StatusServiceUnavailable { // a provider repeats it until it is answered 2xx
		t.Errorf("the former owner answers a callback with %d", status)
	}
	b.finish("c-0001")
	b.until("the second sends on", func() bool { return len(b.lab.sentKeys()) == 6 })
	select {
	case <-a.store.Lost():
	default:
		t.Error("the first does not know that it has lost the database")
	}
	if now, _ := b.lab.use("ch"); now != 5 {
		t.Errorf("%d in flight at the provider", now)
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

// Scenario 66: the second process waits until the first has ended.
func TestOwner_SecondProcessWaits(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(testing.TB) string{
		"sqlite":  func(t testing.TB) string { return "sqlite://" + filepath.Join(t.TempDir(), "weir.db") },
		"mariadb": testmysql.URL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secondWaits(t, url(t))
		})
	}
}

func secondWaits(t *testing.T, url string) {
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
