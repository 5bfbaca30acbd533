package processes_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
	"weir/test/scenarios/world"
)

// Scenario 66: the owner of the database stalls. Another process takes over and recovers what
// is in flight; what the first does when it wakes is refused.
func TestOwner_ThatStalledIsReplacedAndRefused(t *testing.T) {
	t.Parallel()
	a := world.NewWorld(t, testmysql.URL(t))
	a.Quiet = true // it complains
	a.Begin()
	a.Channel("ch", 5)
	ids := a.Accept("ch", world.Many("c", 20)...)
	a.Until("the first sends", func() bool { return a.Figure("ch", "active") == 5 })
	b := a.Successor()
	if status := a.Report("c-0001", "all", "completed"); status != http.StatusServiceUnavailable { // a provider repeats it until it is answered 2xx
		t.Errorf("the former owner answers a callback with %d", status)
	}
	b.Finish("c-0001")
	b.Until("the second sends on", func() bool { return len(b.Lab.SentKeys()) == 6 })
	select {
	case <-a.Store.Lost():
	default:
		t.Error("the first does not know that it has lost the database")
	}
	if now, _ := b.Lab.Use("ch"); now != 5 {
		t.Errorf("%d in flight at the provider", now)
	}
	for i := 2; i <= 20; i++ {
		key := fmt.Sprintf("c-%04d", i)
		b.Speaks(key)
		b.Finish(key)
	}
	for _, id := range ids {
		b.Done(id)
	}
	b.ExpectNoDuplicates()
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
	first := world.NewWorld(t, url)
	first.Begin()
	first.Channel("ch", 5)
	ids := first.Accept("ch", world.Many("c", 10)...)
	first.Until("the first sends", func() bool { return first.Figure("ch", "active") == 5 })

	store := storetest.OpenOnly(t, url, persistence.Options{Logger: first.Logger()})
	joined := make(chan error, 1)
	go func() { joined <- store.Join(context.Background()) }()
	first.WaitIdle()
	select {
	case err := <-joined:
		t.Fatalf("the second process did not wait: %v", err)
	default:
	}
	first.Crash()
	if err := first.Store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-joined; err != nil {
		t.Fatal(err)
	}
	second := world.NewWorld(t, url)
	second.Lab, second.Store = first.Lab, store
	second.Begin()
	for i := 1; i <= 10; i++ {
		key := fmt.Sprintf("c-%04d", i)
		second.Speaks(key)
		second.Finish(key)
	}
	for _, id := range ids {
		second.Done(id)
	}
	second.ExpectNoDuplicates()
}
