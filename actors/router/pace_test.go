package router_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"weir/persistence/storetest"
	"weir/router"
)

// groups returns the number of groups since the last set.
func (g *gate) groups() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}

// Events that arrive while a group is being written collect in one group, until
// they justify a commit of their own or the first write takes unusually long.
func TestGroupsGrowBehindOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGate(storetest.SQLite(t))
		r := start(t, store, nil)
		r.furnish(1)
		var calls []<-chan error
		put := func(name string, n int) {
			for i := range n {
				calls = append(calls, later(func() error {
					_, err := r.try(router.PutJob{ID: fmt.Sprintf("%s%d", name, i), Spec: job()})
					return err
				}))
				synctest.Wait() // one by one, so that each could have a group of its own
			}
		}
		answered := func() {
			t.Helper()
			for _, c := range calls {
				if err := <-c; err != nil {
					t.Error(err)
				}
			}
			calls = nil
		}
		store.set(always(hold))
		put("a", 30)
		if n := store.groups(); n != 1 {
			t.Errorf("%d groups while the first is being written", n)
		}
		put("b", 60)
		if n := store.groups(); n != 2 {
			t.Errorf("%d groups; the second is large enough not to wait", n)
		}
		store.open()
		answered()

		time.Sleep(time.Second)
		store.set(always(hold))
		put("c", 2)
		if n := store.groups(); n != 1 {
			t.Errorf("%d groups of two jobs", n)
		}
		time.Sleep(time.Second)
		put("d", 1)
		if n := store.groups(); n != 2 {
			t.Errorf("%d groups after a second", n)
		}
		store.open()
		answered()
	})
}

// After a large group the router waits briefly for more events; after a small
// one it does not wait.
func TestPace_WaitsForMoreOnlyAfterALargeGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGate(storetest.SQLite(t))
		r := start(t, store, nil)
		r.furnish(1)
		for i := range 5 {
			begin := time.Now()
			r.do(router.PutJob{ID: fmt.Sprint(i), Spec: job()})
			if took := time.Since(begin); took > 0 {
				t.Errorf("job %d took %v", i, took)
			}
		}
	})
}
