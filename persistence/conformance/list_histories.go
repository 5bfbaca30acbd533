package conformance

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
	"weir/persistence"
	"weir/persistence/dialect"
	"weir/persistence/storetest"
)

// listHistory holds the contacts that a store has to list, however much of its index by channel is written.
type listHistory struct {
	*bench
	kept     string // the URL
	n        int
	begin    time.Time
	channels []weir.ChannelID
	leases   map[weir.ChannelID]weir.Incarnation
	contacts []weir.Contact
}

// testListHistories lists contacts after random histories: acceptances, ends at instants in any order, purges, erasures,
// and processes that are killed. The next process finds the index by channel as the last one left it, or an
// older schema without it, or is given smaller ids.
func testListHistories(t *testing.T, backend Backend) {
	if backend.URL(t) == "sqlite://:memory:" { // nothing of it outlives its process
		return
	}
	rapid.Check(t, func(r *rapid.T) {
		h := &listHistory{kept: backend.URL(t), begin: now(), leases: map[weir.ChannelID]weir.Incarnation{}}
		h.open(t, r)
		for _, name := range []string{"a", "b", "empty"} {
			id, _ := h.owned(name)
			h.channels = append(h.channels, id)
		}
		h.take()
		for range rapid.IntRange(3, 12).Draw(r, "steps") {
			h.step(t, r)
		}
		h.check(r)
		h.close()
	})
}

// testListAfterRestart takes the histories that chance seldom finds: the log of flights drops rows while ends are in
// memory alone; the schema is upgraded; ids are smaller than some that the index by channel has.
func testListAfterRestart(t *testing.T, backend Backend) {
	if backend.URL(t) == "sqlite://:memory:" {
		return
	}
	h := &listHistory{kept: backend.URL(t), begin: now(), leases: map[weir.ChannelID]weir.Incarnation{}}
	h.openWith(t, 1000)
	for _, name := range []string{"a", "b", "empty"} {
		id, _ := h.owned(name)
		h.channels = append(h.channels, id)
	}
	h.take()
	again := func(every int, meanwhile func()) {
		h.close()
		meanwhile()
		h.openWith(t, every)
		h.take()
		h.check(t)
	}
	h.ended(60) // batches enough to drop what the log no longer needs
	h.check(t)
	again(1000, func() {})
	h.ended(60)
	again(7, func() {})
	h.ended(60)
	again(1000, func() { h.upgrade(t) })
	h.ended(3)
	for more := true; more; h.check(t) {
		more = must[bool](t)(h.IndexOldContacts(h.ctx(), 100))
	}
	h.ended(3)
	again(1, func() {})
	waits := h.accept(h.channels[0], sms("waits"))[0]
	again(1, func() { h.shift(t, &waits); h.contacts = append(h.contacts, waits) })
	h.ended(3)
	h.check(t)
	again(1000, func() {})
	if got := must[int](t)(h.Purge(h.ctx(), h.begin.Add(time.Hour), 1000)); got != len(h.contacts)-1 {
		t.Errorf("%d contacts were purged, want %d", got, len(h.contacts)-1)
	}
	h.contacts = []weir.Contact{waits}
	h.check(t)
	again(1000, func() {})
	h.close()
}

// ended accepts and ends some contacts, one after the other.
func (h *listHistory) ended(n int) {
	for range n {
		h.n++
		s := sms(fmt.Sprintf("k%d", h.n))
		s.To = fmt.Sprintf("+1555%04d", h.n%3)
		c := h.accept(h.channels[h.n%2], s)[0]
		tr := claim(c, now())
		h.commitAll(h.leases[c.Channel], tr)
		tr = finish(tr.Contact, h.begin.Add(time.Duration(h.n*7%11)*time.Minute), weir.Completed)
		h.commitAll(h.leases[c.Channel], tr)
		h.contacts = append(h.contacts, tr.Contact)
	}
}

// open begins a process, whose batches add few contacts to the index, or hardly any.
func (h *listHistory) open(t *testing.T, r *rapid.T) {
	h.openWith(t, rapid.SampledFrom([]int{1, 3, 10, 1000}).Draw(r, "contacts that a batch adds"))
}

func (h *listHistory) openWith(t *testing.T, every int) {
	h.bench = benchOn(t, h.kept, persistence.Options{IndexEvery: every})
}

// failer fails a test.
type failer interface{ Fatalf(string, ...any) }

func (h *listHistory) close() { h.ok(h.Close(context.Background())) }

// take begins an incarnation of each broker.
func (h *listHistory) take() {
	for _, id := range h.channels {
		h.leases[id] = h.acquire(id)
	}
}

func (h *listHistory) step(t *testing.T, r *rapid.T) {
	switch rapid.IntRange(0, 9).Draw(r, "step") {
	case 0:
		h.restart(t, r)
	case 1:
		before := h.instant(r)
		ended := func(c weir.Contact) bool { return c.State == weir.Done && c.FinishedAt.Before(before) }
		want := len(h.contacts)
		h.contacts = slices.DeleteFunc(h.contacts, ended)
		if got := must[int](h.t)(h.Purge(h.ctx(), before, 1000)); got != want-len(h.contacts) {
			r.Fatalf("%d contacts were purged, want %d", got, want-len(h.contacts))
		}
	case 2:
		if i := h.one(r, weir.Done); i >= 0 {
			must[int](h.t)(h.DeleteContacts(h.ctx(), []weir.Ref{h.contacts[i].Ref}))
			h.contacts = slices.Delete(h.contacts, i, i+1)
		}
	case 3:
		must[bool](h.t)(h.IndexOldContacts(h.ctx(), rapid.IntRange(1, 5).Draw(r, "old contacts")))
	case 4, 5, 6:
		var list []weir.Spec
		for range rapid.IntRange(1, 4).Draw(r, "contacts") {
			h.n++
			s := sms(fmt.Sprintf("k%d", h.n))
			s.Survey, s.To = fmt.Sprintf("s%d", h.n%2), fmt.Sprintf("+1555%04d", h.n%3)
			list = append(list, s)
		}
		h.contacts = append(h.contacts, h.accept(h.channels[rapid.IntRange(0, 1).Draw(r, "channel")], list...)...)
	default:
		for range rapid.IntRange(1, 4).Draw(r, "ends") {
			h.end(r)
		}
	}
	if rapid.IntRange(0, 2).Draw(r, "lists") == 0 {
		h.check(r)
	}
}

// instant draws an instant at which a contact ends: few, so that some end at once.
func (h *listHistory) instant(r *rapid.T) time.Time {
	return h.begin.Add(time.Duration(rapid.IntRange(-5, 5).Draw(r, "minutes")) * time.Minute)
}

// one draws a contact of a state; -1: there is none.
func (h *listHistory) one(r *rapid.T, state weir.State) int {
	var of []int
	for i := range h.contacts {
		if h.contacts[i].State == state {
			of = append(of, i)
		}
	}
	if len(of) == 0 {
		return -1
	}
	return of[rapid.IntRange(0, len(of)-1).Draw(r, "which")]
}

// end claims a contact, and ends it or leaves it in flight; or it ends one in flight.
func (h *listHistory) end(r *rapid.T) {
	i := h.one(r, rapid.SampledFrom([]weir.State{weir.Queued, weir.Sending}).Draw(r, "from"))
	if i < 0 {
		return
	}
	c := h.contacts[i]
	if c.State == weir.Queued {
		tr := claim(c, now())
		h.commitAll(h.leases[c.Channel], tr)
		c = tr.Contact
	}
	if rapid.IntRange(0, 3).Draw(r, "stays in flight") > 0 {
		tr := finish(c, h.instant(r), rapid.SampledFrom([]weir.Outcome{weir.Completed, weir.Failed}).Draw(r, "outcome"))
		h.commitAll(h.leases[c.Channel], tr)
		c = tr.Contact
	}
	h.contacts[i] = c
}

// restart begins another process.
func (h *listHistory) restart(t *testing.T, r *rapid.T) {
	h.close()
	switch rapid.IntRange(0, 3).Draw(r, "meanwhile") {
	case 0: // it was an older program, and comes to a newer one
		h.upgrade(t)
	case 1: // the clock goes back: ids that are given from now on are smaller than that of one contact
		if i := h.one(r, weir.Queued); i >= 0 {
			h.shift(t, &h.contacts[i])
		}
	}
	h.open(t, r)
	h.take()
}

// upgrade takes the schema back to the step before the index by channel, and forth.
func (h *listHistory) upgrade(t *testing.T) {
	s := storetest.OpenOnly(t, h.kept, persistence.Options{})
	h.ok(s.TryOwn(context.Background()))
	h.ok(s.MigrateDown(context.Background(), 1))
	h.ok(s.MigrateUp(context.Background()))
	h.ok(s.Close(context.Background()))
}

// shift gives a contact an id of an hour later.
func (h *listHistory) shift(t *testing.T, c *weir.Contact) {
	db := must[dialect.Database](t)(persistence.OpenDatabase(context.Background(), h.kept, slog.New(slog.DiscardHandler)))
	const hour = int64(time.Hour/time.Millisecond) << 22
	for _, table := range []string{"contacts", "contacts_queued", "contacts_by_channel"} {
		_, err := db.Pools().Write.ExecContext(context.Background(), "UPDATE "+table+" SET id = id + ? WHERE id = ?", hour, int64(c.ID)) //nolint:gosec // texts of this test
		if table != "contacts_by_channel" {                                                                                              // a server has none
			h.ok(err)
		}
	}
	c.ID += weir.ContactID(hour)
	h.ok(db.Close())
}

// check compares lists with the contacts that there are.
func (h *listHistory) check(r failer) {
	for name, f := range map[string]weir.ContactFilter{
		"everything":       {},
		"a channel":        {Channel: h.channels[0]},
		"an empty channel": {Channel: h.channels[2]},
		"queued":           {States: []weir.State{weir.Queued}},
		"done":             {States: []weir.State{weir.Done}},
		"done of one":      {Channel: h.channels[1], States: []weir.State{weir.Done}},
		"failed":           {Outcome: weir.Failed},
		"of a survey":      {Survey: "s1"},
		"finished":         {FinishedSince: h.begin.Add(-2 * time.Minute), FinishedUntil: h.begin.Add(3 * time.Minute)},
		"after an end":     {FinishedAfter: h.begin},
		"to an address":    {To: []string{"+15550001"}},
	} {
		for _, f.Limit = range []int{1, 3, 1000} {
			want := slices.DeleteFunc(slices.Clone(h.contacts), func(c weir.Contact) bool {
				return !matches(&f, &c) || len(f.To) > 0 && !slices.Contains(f.To, c.To)
			})
			what := fmt.Sprintf("%s, limit %d", name, f.Limit)
			f.Newest = false
			h.equal(r, what, sortedIDs(h.allPages(f)), sortedIDs(want))
			if f.Newest = len(f.To) == 0; !f.Newest {
				continue
			}
			byEnd := f.Outcome != "" || bounded(&f) || slices.Equal(f.States, []weir.State{weir.Done})
			slices.SortFunc(want, func(x, y weir.Contact) int {
				if byEnd {
					return cmp.Or(y.FinishedAt.Compare(x.FinishedAt), cmp.Compare(y.ID, x.ID))
				}
				return cmp.Compare(y.ID, x.ID)
			})
			h.equal(r, what+", newest first", ids(h.allPages(f)), ids(want))
		}
	}
	to := must[weir.AddressPage](h.t)(h.ContactsTo(h.ctx(), []string{"+15550002"}, 0, 1000))
	want := slices.DeleteFunc(slices.Clone(h.contacts), func(c weir.Contact) bool { return c.To != "+15550002" })
	h.equal(r, "of an address over all channels", sortedIDs(to.Contacts), sortedIDs(want))
}

func (h *listHistory) equal(r failer, what string, got, want []weir.ContactID) {
	if !slices.Equal(got, want) {
		r.Fatalf("%s: %v, want %v", what, got, want)
	}
}
