package people_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir"
	"weir/internal/document"
	consent "weir/people"
	"weir/persistence"
	"weir/persistence/fill"
	"weir/persistence/mysql"
	"weir/persistence/sqlite"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// benchmarkClaims measures batches of claims under a cap over all purposes: of new people; of as many, one of whom has a
// long history; of new people while it is not known who has a history; and of new people without the indexes by
// purpose and text, which long histories are read by.
func benchmarkClaims(b *testing.B, mysqlToo bool) {
	for _, name := range []string{"none", "long", "unread", "unindexed"} {
		b.Run(name, func(b *testing.B) {
			url, open := "sqlite://"+filepath.Join(b.TempDir(), "weir.db"), sqlite.Open
			if mysqlToo {
				url, open = testmysql.URL(b), mysql.Open
			}
			s := storetest.Open(b, url, persistence.Options{})
			_, address, _ := strings.Cut(url, "://")
			pool, err := open(b.Context(), address, slog.New(slog.DiscardHandler))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = pool.Close() })
			db := pool.Pools().Write
			p, _ := (&consent.Purpose{Caps: []consent.Cap{{Max: 3, Within: "7d", Over: consent.OverAll}}}).Compile()
			if err := s.OpenPeople(b.Context(), nil); err != nil {
				b.Fatal(err)
			}
			if err := s.PutPurpose(b.Context(), "p", p, document.Condition{}); err != nil {
				b.Fatal(err)
			}
			c, _, err := s.PutChannel(b.Context(), weir.Channel{Name: "a", Capacity: 1})
			if err != nil {
				b.Fatal(err)
			}
			lease, err := s.Incarnate(b.Context(), c.ID)
			if err != nil {
				b.Fatal(err)
			}
			const batch, long = 100, 0
			person := long
			claims := func(n int) []weir.Transition {
				var specs []weir.Spec
				for i := range n {
					to := person
					if person++; name == "long" && i == n/2 {
						to = long
					}
					specs = append(specs, weir.Spec{Key: fmt.Sprint(person), To: fmt.Sprintf("+1555%07d", to), Purpose: "p", Priority: weir.Normal, Messages: []string{"x"}})
				}
				list, err := s.Accept(b.Context(), c.ID, specs)
				if err != nil {
					b.Fatal(err)
				}
				var steps []weir.Transition
				for i := range list {
					steps = append(steps, storetest.Advance(list[i].Contact))
				}
				return steps
			}
			commit := func(steps []weir.Transition) {
				done := make(chan weir.CommitResult, 1)
				s.Commit(weir.Change{By: lease, Transitions: steps}, func(r weir.CommitResult) { done <- r })
				if r := <-done; r.Err != nil {
					b.Fatal(r.Err)
				}
			}
			commit(claims(1))
			var hash []byte
			if err := db.QueryRowContext(b.Context(), "SELECT hash FROM person_contacts").Scan(&hash); err != nil {
				b.Fatal(err)
			}
			at := fmt.Sprint(time.Now().Add(-time.Hour).UnixMicro())
			if err := fill.Rows(b.Context(), db, "person_contacts", []fill.Column{
				{Name: "hash", Value: fmt.Sprintf("X'%x'", hash)}, {Name: "claimed_at", Value: at + "+n"}, {Name: "channel_id", Value: "1"}, {Name: "contact_id", Value: "n"},
				{Name: "number", Value: "1"}, {Name: "purpose", Value: "'p'"}, {Name: "text", Value: "n"},
			}, 1, longEntries); err != nil {
				b.Fatal(err)
			}
			if name == "unindexed" {
				for _, index := range []string{"person_contacts_purpose", "person_contacts_text"} {
					drop := "DROP INDEX " + index
					if mysqlToo {
						drop += " ON person_contacts"
					}
					if _, err := db.ExecContext(b.Context(), drop); err != nil {
						b.Fatal(err)
					}
				}
			}
			for name != "unread" && must(s.ReadPeople(b.Context(), 100))(b) {
			}
			var spent, took time.Duration
			for b.Loop() {
				steps := claims(batch)
				before, begun := cpu(b), time.Now()
				commit(steps)
				spent, took = spent+cpu(b)-before, took+time.Since(begun)
			}
			b.ReportMetric(float64(took.Microseconds())/float64(b.N), "µs/claims")
			b.ReportMetric(float64(spent.Microseconds())/float64(b.N), "cpu-µs/claims")
		})
	}
}

// cpu returns the processor time of this process.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkClaims_SQLite(b *testing.B) { benchmarkClaims(b, false) }
func BenchmarkClaims_MySQL(b *testing.B)  { benchmarkClaims(b, true) }
