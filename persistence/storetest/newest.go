package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"weir"
)

// testNewest compares lists, newest first, with the contacts in the store, page by
// page and while others arrive.
func testNewest(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	begin := now().Truncate(time.Millisecond)
	all := b.mixed()
	finished := begin.Add(10 * time.Minute)
	for name, f := range map[string]weir.ContactFilter{
		"everything":        {},
		"channel":           {Channel: all[0].Channel},
		"queued":            {States: []weir.State{weir.Queued}},
		"queued of one":     {Channel: all[0].Channel, States: []weir.State{weir.Queued}},
		"done":              {States: []weir.State{weir.Done}},
		"outcome":           {Outcome: weir.Failed},
		"survey":            {Survey: "s2"},
		"of a survey, done": {Survey: "s1", States: []weir.State{weir.Done}},
		"finished":          {FinishedSince: finished, FinishedUntil: finished.Add(20 * time.Minute)},
		"finished since":    {FinishedSince: finished},
		"finished until":    {FinishedUntil: finished},
		"accepted":          {Since: begin, Until: begin.Add(time.Hour), States: []weir.State{weir.Sending}},
		"both":              {Since: begin, FinishedUntil: finished},
		"none accepted":     {Until: begin.Add(-time.Hour)},
	} {
		for _, f.Limit = range []int{1, 7, 1000} {
			want := slices.DeleteFunc(slices.Clone(all), func(c weir.Contact) bool { return !matches(&f, &c) })
			f.Newest = false
			same(t, name+", oldest first, any order", sortedIDs(b.allPages(f)), sortedIDs(want))
			f.Newest = true
			onlyDone := f.Outcome != "" || bounded(&f) || slices.Equal(f.States, []weir.State{weir.Done})
			slices.SortFunc(want, func(x, y weir.Contact) int {
				if onlyDone {
					return cmp.Or(y.FinishedAt.Compare(x.FinishedAt), cmp.Compare(y.ID, x.ID))
				}
				return cmp.Compare(y.ID, x.ID)
			})
			same(t, fmt.Sprintf("%s, newest first, limit %d", name, f.Limit), ids(b.allPages(f)), ids(want))
		}
	}
	b.arrivals(all)
	b.searched(all)
}

// mixed makes contacts of two channels, alternately: some waiting in lanes, some in
// flight and some done.
func (b *bench) mixed() (all []weir.Contact) {
	at := now()
	one, first := b.owned("a")
	b.owned("empty")
	two, second := b.owned("b")
	leases := map[weir.ChannelID]weir.Lease{one: first, two: second}
	for i := range 60 {
		channel := []weir.ChannelID{one, two, two}[i%3]
		spec := sms(fmt.Sprintf("k%d", i))
		spec.Survey, spec.To = fmt.Sprintf("s%d", i%4), fmt.Sprintf("+1555%04d", i%10)
		c := b.accept(channel, spec)[0]
		if i%5 < 3 {
			tr := claim(c, at)
			b.commitAll(leases[channel], tr)
			if i%5 < 2 {
				tr = finish(tr.Contact, at.Add(time.Duration((i*7)%60)*time.Minute), []weir.Outcome{weir.Completed, weir.Failed}[i%2])
				b.commitAll(leases[channel], tr)
			}
			c = tr.Contact
		}
		all = append(all, c)
	}
	return all
}

func matches(f *weir.ContactFilter, c *weir.Contact) bool {
	return (f.Channel == 0 || f.Channel == c.Channel) && (f.Survey == "" || f.Survey == c.Survey) && (f.Outcome == "" || f.Outcome == c.Outcome) &&
		(len(f.States) == 0 || slices.Contains(f.States, c.State)) && !c.QueuedAt.Before(f.Since) && (f.Until.IsZero() || c.QueuedAt.Before(f.Until)) &&
		(!bounded(f) || c.State == weir.Done && !c.FinishedAt.Before(f.FinishedSince) && (f.FinishedUntil.IsZero() || c.FinishedAt.Before(f.FinishedUntil)))
}

// bounded reports whether the filter limits when contacts finished.
func bounded(f *weir.ContactFilter) bool {
	return !f.FinishedSince.IsZero() || !f.FinishedUntil.IsZero()
}

func sortedIDs(list []weir.Contact) []weir.ContactID { return slices.Sorted(slices.Values(ids(list))) }

// arrivals reads page after page while contacts arrive: each older contact is listed
// once, and no new contact appears on a later page.
func (b *bench) arrivals(all []weir.Contact) {
	b.t.Helper()
	var got []weir.Contact
	f := weir.ContactFilter{Newest: true, Limit: 9}
	for i := 0; i == 0 || f.Cursor != ""; i++ {
		list, next, err := b.Contacts(b.ctx, f)
		b.ok(err)
		got, f.Cursor = append(got, list...), next
		b.accept(all[i%2].Channel, sms(fmt.Sprintf("late %d", i)))
	}
	want := slices.Clone(all)
	slices.SortFunc(want, func(x, y weir.Contact) int { return cmp.Compare(y.ID, x.ID) })
	same(b.t, "pages while contacts arrive", ids(got), ids(want))
	_, next, err := b.Contacts(b.ctx, weir.ContactFilter{Newest: true, Limit: 1})
	b.ok(err)
	_, _, err = b.Contacts(b.ctx, weir.ContactFilter{Limit: 1, Cursor: next})
	wantCode(b.t, err, weir.CodeInvalid)
}

// searched lists the contacts of an address.
func (b *bench) searched(all []weir.Contact) {
	b.t.Helper()
	for _, f := range []weir.ContactFilter{
		{To: []string{"+15550003"}}, {To: []string{"nowhere", "+15550003"}, Channel: all[1].Channel}, {To: []string{"+15550003"}, States: []weir.State{weir.Done}},
		{To: []string{"nowhere"}}, {To: []string{"+15550003"}, Until: all[20].QueuedAt.Truncate(time.Millisecond)},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(c weir.Contact) bool { return !slices.Contains(f.To, c.To) || !matches(&f, &c) })
		for _, f.Limit = range []int{1, 2, 100} {
			got := b.allPages(f)
			same(b.t, fmt.Sprintf("contacts to %v, limit %d", f.To, f.Limit), sortedIDs(got), sortedIDs(want))
		}
	}
}
