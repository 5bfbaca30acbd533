package fill_test

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weir"
	"weir/persistence"
	"weir/persistence/fill"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// many is more than one statement inserts, and no multiple of that.
const many = 12_345

func stores() map[string]func(*testing.T) string {
	return map[string]func(*testing.T) string{
		"sqlite": func(t *testing.T) string {
			t.Helper()
			return "sqlite://" + filepath.Join(t.TempDir(), "weir.db")
		},
		"mysql": func(t *testing.T) string { t.Helper(); return testmysql.URL(t) },
	}
}

// begin returns an instant some hours ago, in whole milliseconds.
func begin() time.Time { return time.Now().Add(-3 * time.Hour).Truncate(time.Millisecond).UTC() }

// filled is a store with three channels, with contacts inserted into the first two.
type filled struct {
	*persistence.Store
	channels []weir.Channel
	told     []int
}

func newFilled(t *testing.T, url string, list ...fill.Contacts) filled {
	t.Helper()
	f := filled{Store: storetest.Open(t, url, persistence.Options{})}
	for _, name := range []string{"a", "b", "c"} {
		c, _, err := f.PutChannel(t.Context(), weir.Channel{Name: name, Capacity: 10})
		if err != nil {
			t.Fatal(err)
		}
		f.channels = append(f.channels, c)
	}
	s, err := fill.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range list {
		for _, name := range []string{"a", "b"} {
			id, err := s.Channel(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			c.Channels = append(c.Channels, id)
		}
		if err := s.Contacts(t.Context(), c, func(n int) { f.told = append(f.told, n) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Store = storetest.Open(t, url, persistence.Options{}) // which counts what waits
	return f
}

// list reads all contacts of a channel in a state.
func (f filled) list(t *testing.T, channel weir.ChannelID, state weir.State) []weir.Contact {
	t.Helper()
	var all []weir.Contact
	for cursor := ""; ; {
		page, next, err := f.Contacts(t.Context(), weir.ContactFilter{Channel: channel, States: []weir.State{state}, Limit: 1000, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if cursor = next; next == "" {
			return all
		}
	}
}

func TestFill_ContactsAreCountedAndListed(t *testing.T) {
	t.Parallel()
	for name, url := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := begin()
			f := newFilled(t, url(t),
				fill.Contacts{Finished: true, Count: many, Begin: at, Message: "hello"},
				fill.Contacts{First: many, Count: many, Begin: at, Message: "hello"})
			if want := []int{10_000, many, 10_000, many}; !slices.Equal(f.told, want) {
				t.Errorf("told %v, want %v", f.told, want)
			}
			// Number 12,345 is odd, and belongs to the second channel.
			for i, want := range []int64{many / 2, many - many/2, 0} {
				got, err := f.QueuedCount(t.Context(), f.channels[i].ID)
				if err != nil || got != want || int64(len(f.list(t, f.channels[i].ID, weir.Queued))) != want {
					t.Errorf("channel %d has %d queued (%v), want %d", i, got, err, want)
				}
			}
			if n := len(f.list(t, f.channels[0].ID, weir.Done)); n != many-many/2 {
				t.Errorf("channel 0 has %d finished, want %d", n, many-many/2)
			}
			id := f.channels[1].ID
			backlogs, err := f.Backlogs(t.Context(), []weir.ChannelID{id})
			if want := at.Add(many * time.Millisecond); err != nil || !backlogs[id].OldestQueuedAt.Equal(want) {
				t.Errorf("the oldest is of %v (%v), want %v", backlogs[id].OldestQueuedAt, err, want)
			}
		})
	}
}

func TestFill_ContactIsLikeAnAcceptedOne(t *testing.T) {
	t.Parallel()
	for name, url := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := begin()
			f := newFilled(t, url(t), fill.Contacts{First: 7, Count: 1, Begin: at, Message: "it's 5"})
			spec := weir.Spec{Key: "k", To: "+15551000007", Priority: weir.Normal, Messages: []string{"it's 5"}}
			accepted, err := f.Accept(t.Context(), f.channels[1].ID, []weir.Spec{spec})
			if err != nil {
				t.Fatal(err)
			}
			list := f.list(t, f.channels[1].ID, weir.Queued)
			if len(list) != 2 || list[0].ID >= list[1].ID {
				t.Fatalf("queued are %v", list)
			}
			ours := cmpopts.IgnoreFields(weir.Contact{}, "ID", "Key", "QueuedAt")
			if diff := cmp.Diff(accepted[0].Contact, list[0], ours); diff != "" {
				t.Error(diff)
			}
			if want := at.Add(7 * time.Millisecond); !list[0].QueuedAt.Equal(want) || !strings.HasSuffix(list[0].Key, "-8") {
				t.Errorf("queued at %v, want %v; key %q", list[0].QueuedAt, want, list[0].Key)
			}
			queue, err := f.Head(t.Context(), f.channels[1].ID, weir.LaneOf(weir.Normal, ""), 0, 10)
			if err != nil || len(queue) != 2 || queue[0].ID != list[0].ID {
				t.Errorf("the head of the queue is %v (%v), want both, in order", queue, err)
			}
		})
	}
}

func TestFill_FinishedContactCanBePurged(t *testing.T) {
	t.Parallel()
	for name, url := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := begin()
			f := newFilled(t, url(t), fill.Contacts{Finished: true, Count: 10, Begin: at, Message: "hello"})
			if n, err := f.Purge(t.Context(), at.Add(18*time.Millisecond), 100); err != nil || n != 4 {
				t.Errorf("%d purged (%v), want the 4 that had ended", n, err)
			}
			c := f.list(t, f.channels[0].ID, weir.Done)[0]
			if c.Outcome != weir.Completed || c.Attempt != 1 || c.ClaimedAt.IsZero() || !c.ClaimedAt.Before(c.SentAt) || !c.SentAt.Before(c.FinishedAt) {
				t.Errorf("a finished contact is %+v", c)
			}
		})
	}
}

func TestPeople_HaveRefusedAndWereContacted(t *testing.T) {
	t.Parallel()
	for name, store := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := store(t)
			f := newFilled(t, url)
			target, err := fill.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = target.Close() }()
			last := 0
			if err := target.People(t.Context(), fill.People{Channel: f.channels[0].ID, Count: many, Begin: begin(), Span: many * time.Millisecond}, func(n int) { last = n }); err != nil || last != many {
				t.Fatalf("%d: %v", last, err)
			}
			if err := target.Settle(t.Context()); err != nil {
				t.Error(err)
			}
			db, err := persistence.OpenDatabase(t.Context(), url, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			for _, table := range []string{"consent_states", "person_contacts"} {
				var n, firstDigits int
				if err := db.Pools().Read.QueryRowContext(t.Context(), "SELECT COUNT(*), COUNT(DISTINCT SUBSTR(HEX(hash), 1, 1)) FROM "+table+" WHERE LENGTH(hash) = 16").Scan(&n, &firstDigits); err != nil || n != many || firstDigits != 16 {
					t.Errorf("%s has %d rows, whose hashes begin with %d digits: %v", table, n, firstDigits, err)
				}
			}
		})
	}
}
