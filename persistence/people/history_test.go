package people_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	consent "weir/people"
	"weir/persistence"
	"weir/persistence/fill"
	"weir/persistence/mysql"
	"weir/persistence/people"
	"weir/persistence/sqlite"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// counting counts statements, and the rows that they return.
type counting struct {
	*sqlx.DB
	statements, rows int
}

func (c *counting) SelectContext(ctx context.Context, dest any, text string, args ...any) error {
	err := c.DB.SelectContext(ctx, dest, text, args...)
	c.statements, c.rows = c.statements+1, c.rows+reflect.ValueOf(dest).Elem().Len()
	return err
}

const (
	longEntries = 20_000
	otherPeople = 200
)

// person returns the hash of person n. Person 0 has a long history; the others have three entries each.
func person(n int) (h consent.Hash) {
	copy(h[:], fmt.Sprintf("%016d", n*7919%10_007))
	return h
}

// kinds are kinds of long histories, by what differs from contacts for several purposes over one channel.
func kinds() map[string][]fill.Column {
	return map[string][]fill.Column{
		"several purposes": nil,
		"one purpose":      {{Name: "purpose", Value: "'p'"}},
		"another purpose":  {{Name: "purpose", Value: "'q'"}},
		"several channels": {{Name: "channel_id", Value: "n % 7 + 1"}},
		"at one instant":   {{Name: "claimed_at", Value: "2"}},
		"a clock ahead":    {{Name: "claimed_at", Value: "4000000000000000+n"}},
		"one text":         {{Name: "text", Value: "5"}},
		"without texts":    {{Name: "text", Value: "0"}},
	}
}

func longHistory(t testing.TB, mysqlToo bool, kind ...fill.Column) *counting {
	t.Helper()
	url, open := "sqlite://"+filepath.Join(t.TempDir(), "weir.db"), sqlite.Open
	if mysqlToo {
		url, open = testmysql.URL(t), mysql.Open
	}
	storetest.Open(t, url, persistence.Options{})
	_, address, _ := strings.Cut(url, "://")
	pool, err := open(t.Context(), address, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	db := pool.Pools().Write
	for n := range otherPeople + 1 {
		first, entries := 1, longEntries
		if n > 0 {
			first, entries = 100_000+10*n, 3
		}
		row := []fill.Column{
			{Name: "hash", Value: fmt.Sprintf("X'%x'", person(n))}, {Name: "claimed_at", Value: "n+2"}, {Name: "channel_id", Value: "1"}, {Name: "contact_id", Value: "n"},
			{Name: "number", Value: "1"}, {Name: "purpose", Value: "CASE WHEN n % 5 = 0 THEN 'p' ELSE 'q' END"}, {Name: "text", Value: "CASE WHEN n % 9000 = 0 THEN 5 ELSE 7 END"},
		}
		for _, k := range kind {
			row[slices.IndexFunc(row, func(c fill.Column) bool { return c.Name == k.Name })] = k
		}
		if err := fill.Rows(t.Context(), db, "person_contacts", row, first, entries); err != nil {
			t.Fatal(err)
		}
	}
	return &counting{DB: sqlx.NewDb(db, "sqlite")}
}

// What is read for a claim has a bound, however long the person's history is, and whatever is in it; those of others are
// read with one statement again once it is known.
func readsFewRows(t *testing.T, mysqlToo bool) {
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readsFew(t, longHistory(t, mysqlToo, kind...))
		})
	}
}

func readsFew(t *testing.T, db *counting) {
	t.Helper()
	var r people.Reading
	all := make([]consent.Hash, otherPeople+1)
	for n := range all {
		all[n] = person(n)
	}
	needs := consent.Needs{All: 3, Purpose: 2, Text: true}
	alone, several := func(n int) []consent.Hash { return all[n : n+1] }, all
	for i, tt := range []struct {
		of               []consent.Hash
		statements, rows int // at most
	}{
		{alone(1), 1, 3}, {several, 12, 32*202 + 6*201}, {alone(0), 1, 6}, {several, 2, 3*otherPeople + 6},
	} {
		db.statements, db.rows = 0, 0
		got, err := r.Read(t.Context(), db, needs, "p", 5, tt.of...)
		if err != nil {
			t.Fatal(err)
		}
		if db.statements > tt.statements || db.rows > tt.rows {
			t.Errorf("batch %d: %d statements with %d rows, want up to %d with %d", i, db.statements, db.rows, tt.statements, tt.rows)
		}
		for _, h := range tt.of {
			if n := len(got[string(h[:])]); n < 3 || n > 100 && i != 1 {
				t.Errorf("batch %d: %d entries of %s", i, n, h[:])
			}
		}
	}
	var fresh people.Reading
	db.statements, db.rows = 0, 0
	if _, err := fresh.Read(t.Context(), db, needs, "p", 5, alone(0)...); err != nil || db.statements > 2 || db.rows > 64+6 {
		t.Errorf("the first claim after a start: %d statements with %d rows (%v)", db.statements, db.rows, err)
	}
}

func TestGate_ReadsFewRowsOfALongHistory(t *testing.T)        { readsFewRows(t, false) }
func TestGate_ReadsFewRowsOfALongHistoryOnMySQL(t *testing.T) { readsFewRows(t, true) }

func benchmarkHistory(b *testing.B, mysqlToo bool) {
	db := longHistory(b, mysqlToo)
	for name, first := range map[string]int{"none": 1, "long": 0} {
		b.Run(name, func(b *testing.B) {
			var r people.Reading
			batch := make([]consent.Hash, 100)
			for n := range batch {
				batch[n] = person(first + n)
			}
			for b.Loop() {
				if _, err := r.Read(b.Context(), db, consent.Needs{All: 3}, "p", 0, batch...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkHistory_SQLite(b *testing.B) { benchmarkHistory(b, false) }
func BenchmarkHistory_MySQL(b *testing.B)  { benchmarkHistory(b, true) }
