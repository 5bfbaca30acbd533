package contacts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"weir"
	"weir/operators"
	"weir/persistence"
	"weir/persistence/contacts"
	"weir/persistence/dialect"
	"weir/persistence/storetest"
)

// inEveryState accepts contacts and commits transitions: the first stays queued, the
// second is claimed, the third active, the fourth done, the fifth queued again.
func inEveryState(t *testing.T, s *persistence.Store, id weir.ChannelID, l weir.Incarnation) (list []weir.Contact) {
	t.Helper()
	got, err := s.Accept(t.Context(), id, []weir.Spec{{To: "sms://1"}, {To: "sms://2"}, {To: "sms://3"}, {To: "sms://4"}, {To: "sms://5"}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for i := range got {
		c := got[i].Contact
		for _, next := range []func(weir.Progress) (weir.Progress, error){
			func(p weir.Progress) (weir.Progress, error) { return p.Claim(now) },
			func(p weir.Progress) (weir.Progress, error) { return p.Accept(now, "ref") },
			func(p weir.Progress) (weir.Progress, error) {
				if i == 3 {
					return p.Finish(now, weir.Completed, "")
				}
				p, _, err := p.Requeue(now, now, "not there")
				return p, err
			},
		}[:min(i, 3)] {
			list = append(list[:i], advanceTo(t, s, l, c, next))
			c = list[i]
		}
		list = append(list[:i], c)
	}
	return list
}

func sameContacts(t *testing.T, s *persistence.Store, want []weir.Contact) {
	t.Helper()
	refs := make([]weir.Ref, len(want))
	for i := range want {
		refs[i] = want[i].Ref
	}
	if d := cmp.Diff(want, storetest.ReadAll(t, s, refs)); d != "" {
		t.Errorf("contacts (-want +got):\n%s", d)
	}
	all, _, err := s.Contacts(t.Context(), weir.ContactFilter{Channel: want[0].Channel})
	if d := cmp.Diff(want, all); d != "" || err != nil {
		t.Errorf("list of contacts (%v):\n%s", err, d)
	}
	for _, c := range want {
		list, _, err := s.Contacts(t.Context(), weir.ContactFilter{Channel: c.Channel, States: []weir.State{c.State}, Newest: c.ID%2 == 0})
		found := false
		for i := range list {
			found = found || cmp.Equal(list[i], c)
		}
		if !found || err != nil {
			t.Errorf("%v is not in the list of its state (%v)", c.State, err)
		}
	}
}

func sameInFlight(t *testing.T, s *persistence.Store, id weir.ChannelID, want []weir.Contact) {
	t.Helper()
	got, err := s.InFlight(t.Context(), id)
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || err != nil {
		t.Errorf("in flight (%v):\n%s", err, d)
	}
}

func TestFlights_ContactsAreReadInEveryState(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url, persistence.Options{LeaseTTL: time.Hour})
		id, lease := storetest.OpenChannel(t, s, "a")
		list := inEveryState(t, s, id, lease)
		sameContacts(t, s, list)
		sameInFlight(t, s, id, list[1:3])
		head, err := s.Head(t.Context(), id, list[0].Lane(), 0, 9)
		if d := cmp.Diff([]weir.Contact{list[0], list[4]}, head); d != "" || err != nil {
			t.Errorf("queued (%v):\n%s", err, d)
		}
		again, err := s.Accept(t.Context(), id, []weir.Spec{{Key: "k", To: "sms://6"}, {Key: "k", To: "sms://6"}})
		if err != nil || again[0].Duplicate || !again[1].Duplicate || !cmp.Equal(again[0].Contact, again[1].Contact) {
			t.Errorf("a key twice in one request: %+v (%v)", again, err)
		}
	})
}

// copyDatabase copies a database as a power cut would leave it.
func copyDatabase(t *testing.T, dir string) string {
	t.Helper()
	copied := t.TempDir()
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
	return "sqlite://" + filepath.Join(copied, "weir.db")
}

func TestFlights_ContactsInFlightOutliveTheirProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, was := storetest.OpenWithDatabase(t, "sqlite://"+filepath.Join(dir, "weir.db"), persistence.Options{})
	id, lease := storetest.OpenChannel(t, s, "a")
	list := inEveryState(t, s, id, lease)
	url, rows := copyDatabase(t, dir), rowsOf(t, was)
	for range 2 { // the second reads what the first has read
		next, db := storetest.OpenWithDatabase(t, url, persistence.Options{})
		if n := rowsOf(t, db); n != rows {
			t.Errorf("%d rows in the log, want %d", n, rows)
		}
		sameContacts(t, next, list)
		sameInFlight(t, next, id, list[1:3])
		if err := next.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// The next owner reads the log that the one before has left, and continues it: nothing is
// copied, and what counts no longer is deleted after a while.
func TestFlights_NextOwnerContinuesTheLog(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s, db := storetest.OpenWithDatabase(t, url, persistence.Options{LeaseTTL: time.Hour})
		id, by := storetest.OpenChannel(t, s, "a")
		other, theirs := storetest.OpenChannel(t, s, "other")
		list := inEveryState(t, s, id, by)
		rest := inEveryState(t, s, other, theirs)
		rest[1] = advanceTo(t, s, theirs, rest[1], func(p weir.Progress) (weir.Progress, error) { return p.Finish(time.Now(), weir.Busy, "") })
		rows := rowsOf(t, db)
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		next, db := storetest.OpenWithDatabase(t, url, persistence.Options{LeaseTTL: time.Hour})
		if n := rowsOf(t, db); n != rows {
			t.Errorf("%d rows in the log, want the %d that were there", n, rows)
		}
		sameContacts(t, next, list)
		sameContacts(t, next, rest)
		sameInFlight(t, next, id, list[1:3])
		sameInFlight(t, next, other, rest[2:3])
		figures, err := next.Flights(t.Context(), []weir.ChannelID{id, other})
		want := map[weir.ChannelID]operators.Figures{id: {InFlight: 2, Sending: 1, Active: 1}, other: {InFlight: 1, Active: 1}}
		if d := cmp.Diff(want, figures); d != "" || err != nil {
			t.Errorf("figures (%v):\n%s", err, d)
		}
		if by, err = next.Incarnate(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		list[2] = advanceTo(t, next, by, list[2], func(p weir.Progress) (weir.Progress, error) { return p.Finish(time.Now(), weir.Busy, "late") })
		list[1] = advanceTo(t, next, by, list[1], func(p weir.Progress) (weir.Progress, error) { return p.Accept(time.Now(), "taken") })
		// A broker that starts writes nothing, and what was written before stays as it is.
		if _, err = next.Incarnate(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		for range 40 {
			list[0] = advanceTo(t, next, by, list[0], func(p weir.Progress) (weir.Progress, error) { return p.Claim(time.Now()) })
			list[0] = advanceTo(t, next, by, list[0], func(p weir.Progress) (weir.Progress, error) {
				p, _, err := p.Requeue(time.Now(), time.Time{}, "again")
				return p, err
			})
		}
		if n := rowsOf(t, db); n > 20 {
			t.Errorf("%d rows in the log for two contacts in flight", n)
		}
		for range 2 {
			sameContacts(t, next, list)
			sameContacts(t, next, rest)
			sameInFlight(t, next, id, list[1:2])
			sameInFlight(t, next, other, rest[2:3])
			if err := next.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			next, _ = storetest.OpenWithDatabase(t, url, persistence.Options{LeaseTTL: time.Hour})
		}
	})
}

func rowsOf(t *testing.T, db dialect.Database) (n int) {
	t.Helper()
	if err := db.Pools().Read.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM contacts_in_flight").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func progresses() *rapid.Generator[weir.Progress] {
	instant := rapid.Map(rapid.Int64Range(0, 4e15), func(us int64) time.Time {
		if us%5 == 0 {
			return time.Time{}
		}
		return time.UnixMicro(us).UTC()
	})
	count := rapid.IntRange(0, 1000)
	return rapid.Custom(func(t *rapid.T) weir.Progress {
		return weir.Progress{
			Rev: rapid.Int64Range(1, 1<<62).Draw(t, "rev"), State: weir.State(rapid.IntRange(1, 6).Draw(t, "state")),
			DueAt: instant.Draw(t, "due"), Attempt: count.Draw(t, "attempt"), Failures: count.Draw(t, "failures"),
			ClaimedAt: instant.Draw(t, "claimed"), SentAt: instant.Draw(t, "sent"), HeardAt: instant.Draw(t, "heard"), FinishedAt: instant.Draw(t, "finished"),
			ProviderRef: rapid.StringN(0, 100, -1).Draw(t, "ref"), Parts: rapid.StringOf(rapid.RuneFrom([]rune(".df"))).Draw(t, "parts"),
			Outcome: weir.Outcome(rapid.String().Draw(t, "outcome")), Reason: rapid.StringN(0, 100, -1).Draw(t, "reason"), CancelRequested: rapid.Bool().Draw(t, "cancel"),
		}
	})
}

// A field that is added to the progress of a contact has to be added to its encoding.
func TestProgress_EveryFieldIsKept(t *testing.T) {
	t.Parallel()
	p := storetest.Filled[weir.Progress]()
	got, err := contacts.DecodeWaiting(contacts.EncodeProgress(p))
	if d := cmp.Diff(p, got); d != "" || err != nil {
		t.Errorf("a field is lost (%v):\n%s", err, d)
	}
}

func TestFlights_RecordsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	number := rapid.Int64Range(1, 1<<62)
	rapid.Check(t, func(r *rapid.T) {
		list := rapid.SliceOf(rapid.Custom(func(t *rapid.T) contacts.Record {
			return contacts.Record{
				Ref:      weir.Ref{Channel: weir.ChannelID(number.Draw(t, "channel")), ID: weir.ContactID(number.Draw(t, "id"))},
				Progress: progresses().Draw(t, "progress"),
			}
		})).Draw(r, "records")
		data := contacts.EncodeRecords(list)
		got, err := contacts.DecodeRecords(data)
		if d := cmp.Diff(list, got, cmpopts.EquateEmpty()); d != "" || err != nil {
			r.Fatalf("(%v)\n%s", err, d)
		}
		if n := rapid.IntRange(0, len(data)-1).Draw(r, "truncated at"); n < len(data) {
			if got, err := contacts.DecodeRecords(data[:n]); err == nil && len(got) >= len(list) && len(list) > 0 {
				r.Fatalf("a row that is truncated gives %d records of %d", len(got), len(list))
			}
		}
		p := progresses().Draw(r, "progress of one that waits")
		data = contacts.EncodeWaiting(p)
		if one, err := contacts.DecodeWaiting(data); err != nil || !cmp.Equal(one, contacts.Kept(p)) {
			r.Fatalf("%v\n%s", err, cmp.Diff(p, one))
		}
		if _, err := contacts.DecodeWaiting(data[:rapid.IntRange(0, len(data)-1).Draw(r, "cut at")]); err == nil {
			r.Fatal("a truncated progress was read")
		}
	})
}

func FuzzDecodeRecords(f *testing.F) {
	f.Add(contacts.EncodeRecords([]contacts.Record{{Ref: weir.Ref{Channel: 1, ID: 2}, Progress: weir.Progress{Rev: 4, State: weir.Done, Outcome: weir.Completed}}}))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = contacts.DecodeWaiting(data)
		list, err := contacts.DecodeRecords(data)
		if err != nil {
			return
		}
		again, err := contacts.DecodeRecords(contacts.EncodeRecords(list))
		if d := cmp.Diff(list, again); d != "" || err != nil {
			t.Errorf("(%v)\n%s", err, d)
		}
	})
}

// advanceTo commits a transition.
func advanceTo(t *testing.T, s *persistence.Store, l weir.Incarnation, c weir.Contact, next func(weir.Progress) (weir.Progress, error)) weir.Contact {
	t.Helper()
	tr := weir.Transition{From: c.Rev, Was: c.State}
	p, err := next(c.Progress)
	if err != nil {
		t.Fatal(err)
	}
	c.Progress = contacts.Kept(p)
	tr.Contact = c
	if r := <-storetest.Commit(s, l, tr); r.Err != nil || len(r.Stale) > 0 {
		t.Fatalf("%+v", r)
	}
	return c
}
