package contacts_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"weir"
	"weir/internal/race"
	"weir/persistence"
	contactstore "weir/persistence/contacts"
	"weir/persistence/storetest"
)

// tables plays the life of a channel against the tables that its contacts are in.
type tables struct {
	t      *testing.T
	db     *sql.DB
	store  *persistence.Store
	broken *storetest.Faulty

	channel  weir.ChannelID
	by       weir.Incarnation
	contacts []weir.Contact
}

// Whatever happens, a contact is in the table of one state or in the log, it is in
// contacts_expiring while it waits and its window ends, and the counters are exact.
func TestTables_HoldEachContactOnce(t *testing.T) {
	race.Skip(t, "one step after the other")
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		m := &tables{t: t}
		m.store, m.broken = storetest.OpenFaulty(t, url)
		m.store.SetIndexEvery(3)
		m.db = m.broken.Pools().Read
		n := 0
		rapid.Check(t, func(r *rapid.T) {
			n++
			m.contacts = nil
			m.broken.Set(false, func() storetest.Fault { return storetest.None })
			m.channel, m.by = storetest.OpenChannel(t, m.store, fmt.Sprintf("c%d", n))
			for range rapid.IntRange(1, 8).Draw(r, "steps") {
				m.breakCommit(r)
				switch rapid.IntRange(0, 5).Draw(r, "step") {
				case 0:
					m.begin(r)
				case 1:
					m.purge(r)
				case 2, 3:
					m.accept(r)
				default:
					m.change(r)
				}
				m.check(r)
			}
		})
	})
}

func (m *tables) must(r *rapid.T, do func() error) {
	if err := storetest.WhenUp(context.Background(), do); err != nil {
		r.Fatal(err)
	}
}

// breakCommit breaks some COMMIT that follows.
func (m *tables) breakCommit(r *rapid.T) {
	at, kind := rapid.IntRange(1, 40).Draw(r, "which breaks"), rapid.SampledFrom([]storetest.Fault{storetest.Before, storetest.After}).Draw(r, "how")
	m.broken.Set(false, func() storetest.Fault {
		if at--; at == 0 {
			return kind
		}
		return storetest.None
	})
}

func (m *tables) accept(r *rapid.T) {
	var specs []weir.Spec
	for range rapid.IntRange(1, 4).Draw(r, "contacts") {
		s := weir.Spec{To: "sms://1", Key: fmt.Sprintf("%d", len(m.contacts)+len(specs))}
		if rapid.Bool().Draw(r, "delayed") {
			s.NotBefore = time.Now().Add(time.Minute)
		}
		if rapid.Bool().Draw(r, "window") {
			s.NotAfter = time.Now().Add(time.Hour).Truncate(time.Second)
		}
		s.Survey = rapid.SampledFrom([]string{"", "s"}).Draw(r, "survey")
		specs = append(specs, s)
	}
	claims := weir.Claims{}
	if rapid.Bool().Draw(r, "by the broker") {
		claims = weir.Claims{By: m.by, First: rapid.IntRange(0, len(specs)).Draw(r, "claimed")}
	}
	m.must(r, func() error {
		a, err := m.store.NewAcceptance(context.Background(), m.channel, specs)
		if err != nil {
			return err
		}
		a.Submit(claims)
		got, err := a.Wait()
		if err == nil {
			for i := range got {
				m.contacts = append(m.contacts, got[i].Contact)
			}
		}
		return err
	})
}

// change commits changes at once, some of them stale.
func (m *tables) change(r *rapid.T) {
	var results []<-chan weir.CommitResult
	var stale []int
	for range rapid.IntRange(1, 3).Draw(r, "changes") {
		var list []weir.Transition
		bad := 0
		for i := range m.contacts {
			if !rapid.Bool().Draw(r, "changes") {
				continue
			}
			tr, ok := nextOf(r, m.contacts[i])
			if !ok {
				continue
			}
			if rapid.IntRange(0, 9).Draw(r, "stale") == 0 {
				tr.From += 100
				bad++
			} else {
				m.contacts[i] = tr.Contact
			}
			list = append(list, tr)
		}
		stale = append(stale, bad)
		results = append(results, storetest.Commit(m.store, m.by, list...))
	}
	for i, result := range results {
		if got := <-result; got.Err != nil || len(got.Stale) != stale[i] {
			r.Fatalf("%+v, want %d stale", got, stale[i])
		}
	}
}

// nextOf draws a transition.
func nextOf(r *rapid.T, c weir.Contact) (weir.Transition, bool) {
	tr, now := weir.Transition{From: c.Rev, Was: c.State}, time.Now()
	var p weir.Progress
	var err error
	switch what := rapid.IntRange(0, 3).Draw(r, "transition"); {
	case c.State == weir.Done:
		return tr, false
	case c.State == weir.Queued && what > 0:
		p, err = c.Claim(now)
	case c.State == weir.Delayed && what > 0:
		p, err = c.Ready()
	case c.State.InFlight() && what == 1:
		var ended weir.Attempt
		p, ended, err = c.Requeue(now, rapid.SampledFrom([]time.Time{{}, now.Add(time.Minute)}).Draw(r, "due"), "again")
		tr.Ended = &ended
	case c.State == weir.Sending:
		p, err = c.Progress.Accept(now, "ref")
	default:
		p, err = c.Finish(now, weir.Canceled, "")
	}
	if err != nil {
		r.Fatal(err)
	}
	c.Progress = contactstore.Kept(p)
	tr.Contact = c
	return tr, true
}

// begin begins another incarnation.
func (m *tables) begin(r *rapid.T) {
	m.must(r, func() (err error) {
		m.by, err = m.store.Incarnate(context.Background(), m.channel)
		return err
	})
}

func (m *tables) purge(r *rapid.T) {
	m.must(r, func() error {
		_, err := m.store.Purge(context.Background(), time.Now().Add(-time.Hour), 10)
		return err
	})
}

func (m *tables) check(r *rapid.T) {
	want := map[string]int{}
	var inFlight []weir.Contact
	for i := range m.contacts {
		c := &m.contacts[i]
		switch {
		case c.State == weir.Queued:
			want["queued"]++
		case c.State == weir.Delayed:
			want["delayed"]++
		case c.State == weir.Done:
			want["done"]++
		default:
			inFlight = append(inFlight, *c)
		}
		if c.State.Waiting() && !c.NotAfter.IsZero() {
			want["expiring"]++
		}
	}
	for _, table := range []string{"queued", "delayed", "done", "expiring"} {
		var n int
		err := m.db.QueryRow("SELECT COUNT(DISTINCT s.id) FROM contacts_"+table+" s JOIN contacts c ON c.channel_id = s.channel_id AND c.id = s.id WHERE s.channel_id = ?", int64(m.channel)).Scan(&n)
		if err != nil || n != want[table] {
			r.Fatalf("%d contacts in contacts_%s, want %d (%v)", n, table, want[table], err)
		}
	}
	queued, err := m.store.QueuedCount(context.Background(), m.channel)
	if err != nil || int(queued) != want["queued"]+want["delayed"] {
		r.Fatalf("%d are counted as queued, want %d (%v)", queued, want["queued"]+want["delayed"], err)
	}
	if open, err := m.store.OpenChannels(context.Background()); err != nil || slices.Contains(open, m.channel) != (int(queued)+len(inFlight) > 0) {
		r.Fatalf("open channels: %v, with %d queued and %d in flight (%v)", open, queued, len(inFlight), err)
	}
	for _, states := range [][]weir.State{nil, {weir.Done}} {
		m.checkList(r, states)
	}
	slices.SortFunc(inFlight, func(a, b weir.Contact) int { return cmp.Compare(a.ID, b.ID) })
	got, err := m.store.InFlight(context.Background(), m.channel)
	if d := gocmp.Diff(inFlight, got, cmpopts.EquateEmpty()); d != "" || err != nil {
		r.Fatalf("in flight (%v):\n%s", err, d)
	}
	if known := m.store.Known(m.channel); known != len(inFlight) {
		r.Fatalf("memory knows %d contacts in flight, want %d", known, len(inFlight))
	}
}

// checkList lists the contacts of some states, each once, whether a batch has added them to the index by channel or not.
func (m *tables) checkList(r *rapid.T, states []weir.State) {
	var want, got []weir.ContactID
	for i := range m.contacts {
		if states == nil || slices.Contains(states, m.contacts[i].State) {
			want = append(want, m.contacts[i].ID)
		}
	}
	list, _, err := m.store.Contacts(context.Background(), weir.ContactFilter{Channel: m.channel, States: states, Limit: 1000})
	for i := range list {
		got = append(got, list[i].ID)
	}
	slices.Sort(want)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		r.Fatalf("%v are listed in states %v, want %v (%v)", got, states, want, err)
	}
}
