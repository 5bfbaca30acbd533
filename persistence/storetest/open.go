// Package storetest is the conformance suite of package persistence and gives
// other packages' tests a store.
package storetest

import (
	"context"
	"testing"
	"time"

	"weir/persistence"
)

// SQLite opens an empty store in memory, ready to use. It is closed when the
// test ends. It works inside a testing/synctest bubble.
func SQLite(t testing.TB) *persistence.Store {
	t.Helper()
	return Open(t, "sqlite://:memory:", persistence.Options{})
}

// Open opens, migrates and joins the store at a URL. It is closed when the
// test ends.
func Open(t testing.TB, url string, o persistence.Options) *persistence.Store {
	t.Helper()
	s := OpenOnly(t, url, o)
	ctx := context.Background()
	if err := s.MigrateUp(ctx); err != nil {
		t.Fatalf("migrate: %v", err)
	}
	if err := s.Join(ctx); err != nil {
		t.Fatalf("join: %v", err)
	}
	return s
}

// OpenOnly opens the store at a URL and does nothing else with it. It is
// closed when the test ends, if the test has not done so.
func OpenOnly(t testing.TB, url string, o persistence.Options) *persistence.Store {
	t.Helper()
	s, err := persistence.Open(context.Background(), url, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}
