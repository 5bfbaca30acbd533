package scenarios_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"weir/internal/mariadb"
)

// Scenario 174: a live process keeps its channels when the connection of its
// lock ends: killed, or lost in a server restart, a fail-over or a proxy.
func TestScenario174_TheConnectionOfTheLockEnds(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	a.channel("ch", 5)
	ids := a.accept("ch", many("c", 20)...)
	a.until("the first sends", func() bool { return a.figure("ch", "active") == 5 })
	channel, err := a.store.Channel(t.Context(), "ch")
	if err != nil {
		t.Fatal(err)
	}
	a.until("its lock's connection is killed", a.killLock)
	for range 10 {
		if _, taken, err := b.store.Acquire(t.Context(), channel.ID); err != nil || taken {
			t.Fatalf("the lease of a living process was taken (%v)", err)
		}
		b.waitIdle()
	}
	oneOwner(t, "ch", a, b)
	for _, key := range slices.Sorted(maps.Keys(ids)) {
		a.speaks(key)
		a.finish(key)
		a.done(ids[key])
	}
	a.expectNoDuplicates()
}

// killLock ends the connection that holds the lock of a process, as an operator
// would. It reports whether there was one: a lost lock is reacquired after a while.
func (w *world) killLock() bool {
	w.Helper()
	db, err := mariadb.Open(w.url)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var connection int64
	err = db.QueryRow("SELECT COALESCE(IS_USED_LOCK(CONCAT('weir.', LEFT(SHA2(?, 256), 40))), 0)",
		w.url[strings.LastIndexByte(w.url, '/')+1:]+"/"+w.store.Owner()).Scan(&connection)
	if err == nil && connection != 0 {
		_, err = db.Exec(fmt.Sprintf("KILL %d", connection)) // MySQL takes no parameter here
	}
	if err != nil {
		w.Fatal(err)
	}
	return connection != 0
}
