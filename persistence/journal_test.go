package persistence_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"weir"
	"weir/internal/mariadb"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

func openAs(t *testing.T, url, owner string) *persistence.Store {
	t.Helper()
	return storetest.Open(t, url, persistence.Options{Owner: owner, LeaseTTL: time.Hour})
}

// hold keeps the writer from folding until release is called: it waits within an
// answer.
func hold(t *testing.T, s *persistence.Store, l weir.Lease) (release func()) {
	t.Helper()
	held, end := make(chan struct{}), make(chan struct{})
	s.Commit(weir.Change{Lease: l}, func(weir.CommitResult) { close(held); <-end })
	<-held
	release = sync.OnceFunc(func() { close(end) })
	t.Cleanup(release) // before the store is closed
	return release
}

// fly accepts contacts and takes them through the journal: the first stays
// queued, the second is claimed, the third active, the fourth done. The writer is
// held then, and none is folded unless the test was slow.
func fly(t *testing.T, s *persistence.Store, id weir.ChannelID, l weir.Lease) (list []weir.Contact, release func()) {
	t.Helper()
	got, err := s.Accept(t.Context(), id, []weir.Spec{{To: "sms://1"}, {To: "sms://2"}, {To: "sms://3"}, {To: "sms://4"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		c := got[i].Contact
		for step := range i {
			tr := weir.Transition{From: c.Rev, Was: c.State}
			var err error
			now := time.Now()
			switch step {
			case 0:
				c.Progress, err = c.Claim(now)
			case 1:
				c.Progress, err = c.Progress.Accept(now, "ref")
			default:
				c.Progress, err = c.Finish(now, weir.Completed, "")
			}
			if err != nil {
				t.Fatal(err)
			}
			c.Progress = persistence.Kept(c.Progress)
			tr.Contact = c
			if r := <-commit(s, l, tr); r.Err != nil || len(r.Stale) > 0 {
				t.Fatalf("%+v", r)
			}
		}
		list = append(list, c)
	}
	return list, hold(t, s, l)
}

func sameContacts(t *testing.T, s *persistence.Store, want []weir.Contact) {
	t.Helper()
	refs := make([]weir.Ref, len(want))
	for i := range want {
		refs[i] = want[i].Ref
	}
	if d := cmp.Diff(want, readAll(t, s, refs)); d != "" {
		t.Errorf("contacts (-want +got):\n%s", d)
	}
}

func ids(list []weir.Contact) []weir.ContactID {
	out := []weir.ContactID{}
	for i := range list {
		out = append(out, list[i].ID)
	}
	return out
}

// TestNobodySeesRowsThatAreBehind reads while nothing can be folded.
func TestNobodySeesRowsThatAreBehind(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, url string) {
		s := openAs(t, url, "a")
		id, lease := openChannel(t, s, "a")
		list, release := fly(t, s, id, lease)
		sameContacts(t, s, list)
		head, err := s.Head(t.Context(), id, list[0].Lane(), 0, 2)
		if d := cmp.Diff(ids(list[:1]), ids(head)); d != "" || err != nil {
			t.Errorf("queued (%v):\n%s", err, d)
		}
		release()
		flight, err := s.InFlight(t.Context(), id)
		if d := cmp.Diff(list[1:3], flight); d != "" || err != nil {
			t.Errorf("in flight (%v):\n%s", err, d)
		}
		if n := s.Unfolded(); n != 0 {
			t.Errorf("%d contacts are not folded after a read that needs them", n)
		}
		sameContacts(t, s, list)
	})
}

// TestJournalOutlivesItsProcess copies a database as a power cut would leave it.
func TestJournalOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	dir, copied := t.TempDir(), t.TempDir()
	s := openAs(t, "sqlite://"+filepath.Join(dir, "weir.db"), "a")
	id, lease := openChannel(t, s, "a")
	list, release := fly(t, s, id, lease)
	defer release()
	files, err := filepath.Glob(filepath.Join(dir, "weir.db*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".lock") {
			continue
		}
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, filepath.Base(file)), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	stopped := storetest.OpenOnly(t, "sqlite://"+filepath.Join(copied, "weir.db"), persistence.Options{})
	if err := stopped.MigrateDown(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "SIGTERM") {
		t.Errorf("the schema was taken back while the journal holds something: %v", err)
	}
	next := openAs(t, "sqlite://"+filepath.Join(copied, "weir.db"), "a")
	sameContacts(t, next, list)
	flight, err := next.InFlight(t.Context(), id)
	if d := cmp.Diff(list[1:3], flight); d != "" || err != nil {
		t.Errorf("in flight (%v):\n%s", err, d)
	}
	if err := next.MigrateDown(t.Context(), 1); err != nil {
		t.Errorf("the journal of a former process is not empty: %v", err)
	}
}

// TestWhoTakesOverFoldsFirst has another process take a channel whose owner has
// not folded, go on with its contacts, and the former owner fold afterwards.
func TestWhoTakesOverFoldsFirst(t *testing.T) {
	t.Parallel()
	url := testmysql.URL(t)
	a, b := openAs(t, url, "a"), openAs(t, url, "b")
	id, lease := openChannel(t, a, "a")
	other, otherLease := openChannel(t, a, "other")
	list, release := fly(t, a, id, lease)
	sameContacts(t, b, list) // as any other process sees them
	if err := a.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	lease, ok, err := b.Acquire(t.Context(), id)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	flight, err := b.InFlight(t.Context(), id)
	if d := cmp.Diff(list[1:3], flight); d != "" || err != nil {
		t.Errorf("in flight (%v):\n%s", err, d)
	}
	tr := weir.Transition{Contact: list[2], From: list[2].Rev, Was: list[2].State}
	if tr.Contact.Progress, err = list[2].Finish(time.Now(), weir.Busy, "late"); err != nil {
		t.Fatal(err)
	}
	list[2].Progress = persistence.Kept(tr.Contact.Progress)
	if r := <-commit(b, lease, tr); r.Err != nil || len(r.Stale) > 0 {
		t.Fatalf("%+v", r)
	}
	release()
	rest, release := fly(t, a, other, otherLease)
	release()
	if _, _, err := a.Contacts(t.Context(), weir.ContactFilter{}); err != nil || a.Unfolded() > 0 { // folds
		t.Fatal(a.Unfolded(), err)
	}
	for _, s := range []*persistence.Store{a, b} {
		sameContacts(t, s, list)
		sameContacts(t, s, rest)
	}
}

// TestJournalOfTheDeadIsSwept: what a process left that is gone is removed from
// the journal by the next that comes.
func TestJournalOfTheDeadIsSwept(t *testing.T) {
	t.Parallel()
	server := testmysql.Start(t)
	url := server.URL(t)
	s := openAs(t, url, "a")
	id, lease := openChannel(t, s, "a")
	list, release := fly(t, s, id, lease)
	server.Kill() // with it go the connections of a
	server.Restart()
	expire(t, url, "leases")
	next := openAs(t, url, "b")
	if _, ok, err := next.Acquire(t.Context(), id); err != nil || !ok {
		t.Fatal(ok, err)
	}
	sameContacts(t, next, list)
	if _, err := next.Purge(t.Context(), time.Now().Add(-time.Hour), 1); err != nil {
		t.Fatal(err)
	}
	if err := next.MigrateDown(t.Context(), 0); err != nil {
		t.Error("rows of a process that is gone are left in the journal:", err)
	}
	release()
}

// expire ends all leases of a table, as time would.
func expire(t *testing.T, url, table string) {
	t.Helper()
	db, err := mariadb.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec("UPDATE " + url[strings.LastIndexByte(url, '/')+1:] + "." + table + " SET expires_at = 0"); err != nil {
		t.Fatal(err)
	}
}

func records() *rapid.Generator[[]persistence.Record] {
	instant := rapid.Map(rapid.Int64Range(0, 4e15), func(us int64) time.Time {
		if us%5 == 0 {
			return time.Time{}
		}
		return time.UnixMicro(us).UTC()
	})
	count, number := rapid.IntRange(0, 1000), rapid.Int64Range(1, 1<<62)
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) persistence.Record {
		return persistence.Record{
			Ref:  weir.Ref{Channel: weir.ChannelID(number.Draw(t, "channel")), ID: weir.ContactID(number.Draw(t, "id"))},
			Base: number.Draw(t, "base"),
			Progress: weir.Progress{
				Rev: number.Draw(t, "rev"), State: weir.State(rapid.IntRange(1, 6).Draw(t, "state")),
				DueAt: instant.Draw(t, "due"), Attempt: count.Draw(t, "attempt"), Failures: count.Draw(t, "failures"),
				ClaimedAt: instant.Draw(t, "claimed"), SentAt: instant.Draw(t, "sent"), HeardAt: instant.Draw(t, "heard"), FinishedAt: instant.Draw(t, "finished"),
				ProviderRef: rapid.String().Draw(t, "ref"), Parts: rapid.StringOf(rapid.RuneFrom([]rune(".df"))).Draw(t, "parts"),
				Outcome: weir.Outcome(rapid.String().Draw(t, "outcome")), Reason: rapid.String().Draw(t, "reason"), CancelRequested: rapid.Bool().Draw(t, "cancel"),
			},
		}
	}))
}

func TestRecordsAreAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		list := records().Draw(r, "records")
		data := persistence.EncodeRecords(list)
		got, err := persistence.DecodeRecords(data)
		if d := cmp.Diff(list, got, cmpopts.EquateEmpty()); d != "" || err != nil {
			r.Fatalf("(%v)\n%s", err, d)
		}
		if n := rapid.IntRange(0, len(data)-1).Draw(r, "broken off at"); n < len(data) {
			if got, err := persistence.DecodeRecords(data[:n]); err == nil && len(got) >= len(list) && len(list) > 0 {
				r.Fatalf("a row that is broken off gives %d records of %d", len(got), len(list))
			}
		}
	})
}

func FuzzDecodeRecords(f *testing.F) {
	f.Add(persistence.EncodeRecords([]persistence.Record{{Ref: weir.Ref{Channel: 1, ID: 2}, Base: 3, Progress: weir.Progress{Rev: 4, State: weir.Done, Outcome: weir.Completed}}}))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := persistence.DecodeRecords(data)
		if err != nil {
			return
		}
		again, err := persistence.DecodeRecords(persistence.EncodeRecords(list))
		if d := cmp.Diff(list, again); d != "" || err != nil {
			t.Errorf("(%v)\n%s", err, d)
		}
	})
}

// TestFoldsTakeRowsAsTheyAre folds contacts whose rows somebody else has written:
// one that is behind is brought up, one that is further or gone is left.
func TestFoldsTakeRowsAsTheyAre(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "weir.db")
	s := openAs(t, "sqlite://"+file, "a")
	id, lease := openChannel(t, s, "a")
	list, release := fly(t, s, id, lease)
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, q := range []struct {
		text string
		id   weir.ContactID
	}{
		{"DELETE FROM contacts WHERE id = ?", list[1].ID},
		{"UPDATE contacts SET rev = 1, state = 3 WHERE id = ?", list[2].ID},
		{"UPDATE contacts SET rev = 9, state = 3 WHERE id = ?", list[3].ID},
	} {
		if _, err := db.ExecContext(t.Context(), q.text, int64(q.id)); err != nil {
			t.Fatal(err)
		}
	}
	release()
	if _, err := s.InFlight(t.Context(), id); err != nil || s.Unfolded() > 0 {
		t.Fatal(s.Unfolded(), err)
	}
	sameContacts(t, s, list[2:3])
	c, _, err := s.Contact(t.Context(), list[3].Ref)
	if err != nil || c.Rev != 9 {
		t.Errorf("a contact that had gone further is %+v (%v)", c.Progress, err)
	}
	if _, _, err := s.Contact(t.Context(), list[1].Ref); weir.CodeOf(err) != weir.CodeNotFound {
		t.Errorf("a contact that was purged: %v", err)
	}
}

// TestFoldsThatAreRefused: a row that cannot be written loses nothing, keeps nobody
// from going on, and does not keep the store from being closed.
func TestFoldsThatAreRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "weir.db")
	s := storetest.OpenOnly(t, "sqlite://"+file, persistence.Options{})
	if err := s.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	id, lease := openChannel(t, s, "a")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	exec := func(text string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TRIGGER refuse BEFORE UPDATE ON contacts BEGIN SELECT RAISE(ABORT, 'refused'); END")
	list, release := fly(t, s, id, lease)
	release()
	if _, err := s.InFlight(t.Context(), id); weir.CodeOf(err) != weir.CodeInternal {
		t.Errorf("a read that needs exact rows: %v", err)
	}
	more, release := fly(t, s, id, lease)
	release()
	list = append(list, more...)
	sameContacts(t, s, list)
	begun := time.Now()
	if err := s.Close(t.Context()); err != nil || time.Since(begun) > 5*time.Second {
		t.Errorf("closed after %v: %v", time.Since(begun), err)
	}
	exec("DROP TRIGGER refuse")
	next := openAs(t, "sqlite://"+file, "b")
	sameContacts(t, next, list)
	if flight, err := next.InFlight(t.Context(), id); err != nil || len(flight) != 4 {
		t.Errorf("%d in flight, want 4 (%v)", len(flight), err)
	}
}
