package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/internal/mariadb"
	"weir/internal/polling"
	"weir/persistence"
	"weir/persistence/testmysql"
)

// OnBoth runs a test on both databases.
func OnBoth(t *testing.T, run func(t *testing.T, url string)) {
	for name, url := range map[string]func(testing.TB) string{
		"sqlite": func(t testing.TB) string { return "sqlite://" + filepath.Join(t.TempDir(), "weir.db") },
		"mysql":  testmysql.URL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, url(t))
		})
	}
}

// OpenFaulty opens a store whose writer's connection the test controls.
func OpenFaulty(t *testing.T, url string, o ...persistence.Options) (*persistence.Store, *Faulty) {
	t.Helper()
	var f *Faulty
	db, err := persistence.OpenDatabase(t.Context(), url, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	f = newFaulty(db)
	s := persistence.On(f, append(o, persistence.Options{})[0])
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	migrate(t, s, f)
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, f
}

// OpenChannel makes a channel and begins an incarnation of its broker.
func OpenChannel(t *testing.T, s *persistence.Store, name string) (weir.ChannelID, weir.Incarnation) {
	t.Helper()
	c, _, err := s.PutChannel(t.Context(), weir.Channel{Name: name, Capacity: 1})
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.Incarnate(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	return c.ID, i
}

// Commit commits transitions of one channel. The result comes when it is known.
func Commit(s *persistence.Store, by weir.Incarnation, list ...weir.Transition) <-chan weir.CommitResult {
	done := make(chan weir.CommitResult, 1)
	s.Commit(weir.Change{By: by, Transitions: list}, func(r weir.CommitResult) { done <- r })
	return done
}

// Advance is the next step of a contact: claim, requeue once, claim, finish.
func Advance(c weir.Contact) weir.Transition {
	t := weir.Transition{Contact: c, From: c.Rev, Was: c.State}
	var err error
	now := time.Now()
	switch {
	case c.State == weir.Queued:
		t.Contact.Progress, err = c.Claim(now)
	case c.Attempt == 1:
		var ended weir.Attempt
		t.Contact.Progress, ended, err = c.Requeue(now, time.Time{}, "again")
		t.Ended = &ended
	default:
		t.Contact.Progress, err = c.Finish(now, weir.Completed, "")
	}
	if err != nil {
		panic(err)
	}
	return t
}

// Free ends the lease of a process that was killed, as time would. A database of one file has
// none: its lock ends with the process. An empty database has none either.
func Free(t testing.TB, url string) {
	t.Helper()
	if strings.HasPrefix(url, "sqlite:") {
		return
	}
	db, err := mariadb.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	name, tables := url[strings.LastIndexByte(url, '/')+1:], 0
	err = db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = 'owner'", name).Scan(&tables)
	if err == nil && tables > 0 {
		_, err = db.ExecContext(t.Context(), "UPDATE "+name+".owner SET start_number = 0") //nolint:gosec // the name of the test database
	}
	if err != nil {
		t.Fatal(err)
	}
}

// WhenUp repeats what a client repeats: whatever was not answered.
func WhenUp(ctx context.Context, do func() error) error {
	var err error
	polling.Until(time.Minute, 5*time.Millisecond, func() bool {
		err = do()
		return weir.CodeOf(err) != weir.CodeUnavailable || ctx.Err() != nil
	})
	return err
}

// OpenMySQL opens a database of a server past Weir.
func OpenMySQL(t *testing.T, url string) *sql.DB {
	t.Helper()
	account, place, _ := strings.Cut(strings.TrimPrefix(url, "mysql://"), "@")
	address, name, _ := strings.Cut(place, "/")
	db, err := sql.Open("mysql", account+"@tcp("+address+")/"+name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// ContactSpecs returns n contacts to be accepted, with keys of a caller.
func ContactSpecs(caller, n int) []weir.Spec {
	list := make([]weir.Spec, n)
	for i := range list {
		list[i] = weir.Spec{To: "1"}
		if i%2 == 0 {
			list[i].Key = fmt.Sprintf("%d-%d", caller, i)
		}
	}
	return list
}

// ReadAll reads contacts.
func ReadAll(t *testing.T, s *persistence.Store, refs []weir.Ref) []weir.Contact {
	t.Helper()
	var list []weir.Contact
	for _, ref := range refs {
		c, _, err := s.Contact(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}
