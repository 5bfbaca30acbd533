package conformance_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"weir"
	"weir/persistence/conformance"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// A history that fails is shortened for seconds, not for half a minute. There are 20 of each kind, unless the command line
// has another number, as make nightly does.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.shrinktime": "5s", "rapid.checks": "20"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// A database in memory is SQLite like one in a file, but for its one connection: make test plays some topics,
// and make nightly all.
func TestConformance_HoldsInMemory(t *testing.T) {
	t.Parallel()
	some := []string{"accept", "transitions", "queue", "incoming", "order of events"}
	if os.Getenv("WEIR_TEST_NIGHTLY") != "" {
		some = nil
	}
	conformance.Run(t, conformance.Backend{URL: func(testing.TB) string { return "sqlite://:memory:" }}, some...)
}

func TestConformance_HoldsOnSQLite(t *testing.T) {
	t.Parallel()
	conformance.Run(t, conformance.Backend{URL: func(t testing.TB) string {
		return "sqlite://" + filepath.Join(t.TempDir(), "a name with spaces & 100%.db")
	}})
}

func TestConformance_HoldsOnMySQL(t *testing.T) {
	t.Parallel()
	conformance.Run(t, conformance.Backend{URL: testmysql.URL, Leased: true})
}

func TestStore_WorksInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		c, _, err := s.PutChannel(t.Context(), weir.Channel{Name: "a", Capacity: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Accept(t.Context(), c.ID, []weir.Spec{{To: "1"}}); err != nil {
			t.Fatal(err)
		}
	})
}
