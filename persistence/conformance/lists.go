package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"weir"
)

// allPages reads all pages of a list.
func (b *bench) allPages(f weir.ContactFilter) []weir.Contact {
	b.t.Helper()
	var all []weir.Contact
	for {
		list, next, err := b.Contacts(b.ctx(), f)
		b.ok(err)
		if f.Limit > 0 && len(list) > f.Limit {
			b.t.Errorf("a page has %d contacts, want %d at most", len(list), f.Limit)
		}
		all = append(all, list...)
		if next == "" {
			return all
		}
		f.Cursor = next
	}
}

func testPaging(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	var all []weir.Contact
	for _, name := range []string{"a", "empty", "b"} {
		id, lease := b.owned(name)
		if name == "empty" {
			continue
		}
		list := pagingSpecs()
		got := b.accept(id, list...)
		var changes []weir.Transition
		for i := range got {
			if i%4 == 0 {
				changes = append(changes, claim(got[i], now()))
				got[i] = changes[len(changes)-1].Contact
			}
		}
		b.commitAll(lease, changes...)
		all = append(all, got...)
	}
	for name, f := range map[string]weir.ContactFilter{
		"everything":    {},
		"channel":       {Channel: all[0].Channel},
		"state":         {States: []weir.State{weir.Sending}},
		"client queued": {States: []weir.State{weir.Delayed, weir.Queued}},
		"survey":        {Survey: "s2"},
		"all of it":     {Channel: all[len(all)-1].Channel, States: []weir.State{weir.Queued}, Survey: "s1"},
		"key":           {Key: "k3"},
		"key and state": {Key: "k4", States: []weir.State{weir.Queued}},
		"no such key":   {Key: "none"},
	} {
		for _, f.Limit = range []int{0, 1, 7, 1000} {
			checkList(t, b, name, f, all)
		}
	}
	checkCursors(t, b, all)
}

func pagingSpecs() []weir.Spec {
	var list []weir.Spec
	for i := range 30 {
		s := sms(fmt.Sprintf("k%d", i))
		s.Survey = fmt.Sprintf("s%d", i%3)
		if i%6 == 1 {
			s.NotBefore = now().Add(time.Duration(i) * time.Hour)
		}
		list = append(list, s)
	}
	return list
}

func checkList(t *testing.T, b *bench, name string, f weir.ContactFilter, all []weir.Contact) {
	t.Helper()
	want := map[weir.Ref]bool{}
	for i := range all {
		c := &all[i]
		state := len(f.States) == 0
		for _, s := range f.States {
			state = state || s == c.State
		}
		if state && (f.Channel == 0 || f.Channel == c.Channel) && (f.Survey == "" || f.Survey == c.Survey) && (f.Key == "" || f.Key == c.Key) {
			want[c.Ref] = true
		}
	}
	got := b.allPages(f)
	for i := range got {
		if !want[got[i].Ref] {
			t.Errorf("%s, limit %d: %v is wrong or there twice", name, f.Limit, got[i].Ref)
		}
		delete(want, got[i].Ref)
	}
	if len(want) > 0 {
		t.Errorf("%s, limit %d: %d are missing", name, f.Limit, len(want))
	}
}

func checkCursors(t *testing.T, b *bench, all []weir.Contact) {
	t.Helper()
	_, next, err := b.Contacts(b.ctx(), weir.ContactFilter{Channel: all[0].Channel, Limit: 1})
	b.ok(err)
	for name, f := range map[string]weir.ContactFilter{
		"not a cursor":  {Cursor: "x y"},
		"not ours":      {Cursor: "e30"},
		"other filter":  {Cursor: next, States: []weir.State{weir.Queued}},
		"other channel": {Cursor: next, Channel: all[len(all)-1].Channel},
		"tail":          {Cursor: next + "A"},
	} {
		_, _, err := b.Contacts(b.ctx(), f)
		wantCode(t, err, weir.CodeInvalid)
		if e, ok := errors.AsType[*weir.Error](err); !ok || len(e.Fields) != 1 || e.Fields[0].Pointer != "/cursor" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func testPurge(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	list := b.accept(id, specs(20)...)
	at := now()
	for i := range 15 {
		tr := claim(list[i], at)
		b.commitAll(lease, tr)
		tr = requeue(tr.Contact, at, time.Time{})
		b.commitAll(lease, tr)
		b.commitAll(lease, finish(tr.Contact, at.Add(time.Duration(i)*time.Minute), weir.Failed))
	}
	for i := range 4 {
		must[bool](t)(b.Receive(b.ctx(), id, weir.Incoming{ReceivedAt: at.Add(time.Duration(i) * time.Minute)}))
	}
	before := at.Add(2 * time.Minute) // later than contacts 0 and 1, and messages 0 and 1
	if n := must[int](t)(b.Purge(b.ctx(), before, 3)); n != 3 {
		t.Errorf("purged %d, want the limit 3", n)
	}
	if n := must[int](t)(b.Purge(b.ctx(), before, 3)); n != 1 {
		t.Errorf("purged %d, want the last 1", n)
	}
	if left := b.allPages(weir.ContactFilter{}); len(left) != 18 || left[0].ID != list[2].ID {
		t.Errorf("%d contacts left", len(left))
	}
	if left := must[[]weir.Incoming](t)(b.IncomingSince(b.ctx(), id, 0, 10)); len(left) != 2 {
		t.Errorf("%d messages left", len(left))
	}
	if _, attempts := b.read(list[2].Ref); len(attempts) != 1 {
		t.Error("attempts of a contact that stays are gone")
	}
	b.wantQueued(id, 5)
	if again := b.accept(id, sms("key-0")); again[0].ID == list[0].ID {
		t.Error("a purged contact still has its key")
	}
	testPurgeChannel(t, b)
}

// testErase: what is done goes at once with everything that belongs to it, what is not done stays, and a repetition
// finds nothing.
func testErase(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	other, _ := b.owned("b")
	list := b.accept(id, specs(6)...)
	refs := []weir.Ref{{Channel: other, ID: list[0].ID}, {Channel: id, ID: 1}} // neither exists
	for i := range 3 {
		tr := claim(list[i], now())
		b.commitAll(lease, tr)
		tr = requeue(tr.Contact, now(), time.Time{})
		b.commitAll(lease, tr)
		b.commitAll(lease, finish(tr.Contact, now(), weir.Failed))
	}
	inFlight := claim(list[3], now())
	b.commitAll(lease, inFlight)
	for i := range list {
		if i != 1 {
			refs = append(refs, list[i].Ref)
		}
	}
	var messages []weir.Received
	for i := range 3 {
		must[bool](t)(b.Receive(b.ctx(), id, weir.Incoming{From: fmt.Sprint("+1555000", i), ReceivedAt: now()}))
	}
	for _, m := range must[[]weir.Incoming](t)(b.IncomingSince(b.ctx(), id, 0, 10))[:2] {
		messages = append(messages, weir.Received{Channel: id, Incoming: m}, weir.Received{Channel: other, Incoming: m})
	}
	for _, want := range []int{2, 0} {
		if n := must[int](t)(b.DeleteContacts(b.ctx(), refs)); n != want {
			t.Errorf("%d contacts were deleted, want %d", n, want)
		}
		if n := must[int](t)(b.EraseIncoming(b.ctx(), messages)); n != want {
			t.Errorf("%d messages were deleted, want %d", n, want)
		}
		if left := b.allPages(weir.ContactFilter{}); len(left) != 4 || left[0].ID != list[1].ID || left[1].ID != list[3].ID {
			t.Errorf("%d contacts are left", len(left))
		}
		if left := must[[]weir.Incoming](t)(b.IncomingSince(b.ctx(), id, 0, 10)); len(left) != 1 || left[0].From != "+15550002" {
			t.Errorf("messages are left: %+v", left)
		}
	}
	if _, attempts := b.read(list[1].Ref); len(attempts) != 1 {
		t.Error("attempts of a contact that stays are gone")
	}
	b.wantQueued(id, 2)
	b.commitAll(lease, finish(inFlight.Contact, now(), weir.Completed))
	if n := must[int](t)(b.DeleteContacts(b.ctx(), refs)); n != 1 {
		t.Errorf("%d contacts were deleted after the end of the one in flight", n)
	}
	if again := b.accept(id, sms("key-0")); again[0].ID == list[0].ID {
		t.Error("an erased contact still has its key")
	}
}

func testPurgeChannel(t *testing.T, b *bench) {
	id, lease := b.owned("gone")
	c := b.accept(id, sms("k"))[0]
	tr := claim(c, now())
	b.commitAll(lease, tr)
	b.commitAll(lease, finish(tr.Contact, now(), weir.Failed))
	b.ok(b.DeleteChannel(b.ctx(), id))
	must[int](t)(b.Purge(b.ctx(), now().Add(-time.Hour), 100))
	must[weir.Channel](t)(b.ChannelByID(b.ctx(), id))
	must[int](t)(b.Purge(b.ctx(), now().Add(time.Hour), 100))
	_, err := b.ChannelByID(b.ctx(), id)
	wantCode(t, err, weir.CodeNotFound)
	if next := b.channel("next"); next.ID <= id {
		t.Error("the id of a purged channel was given again")
	}
}

// testAcceptedBetween lists by the instant of acceptance, which ids contain in
// milliseconds.
func testAcceptedBetween(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	a, lease := b.owned("a")
	other := b.channel("b").ID
	var marks []time.Time // one before each group
	var groups [][]weir.Contact
	for i := range 4 {
		marks = append(marks, b.nextMillisecond())
		var list []weir.Contact
		for j := range 3 {
			list = append(list, b.accept(a, sms(fmt.Sprint("key-", i, j)))...)
		}
		if i%2 == 0 {
			b.end(lease, weir.Lost, "", list[1])
		}
		groups = append(groups, append(list, b.accept(other, sms(""))...))
	}
	marks = append(marks, b.nextMillisecond())
	want := func(channel weir.ChannelID, from, until int, keep func(*weir.Contact) bool) []weir.ContactID {
		var out []weir.ContactID
		for _, g := range groups[from:until] {
			for i := range g {
				c, _ := b.read(g[i].Ref)
				if c.Channel == channel && keep(&c) {
					out = append(out, c.ID)
				}
			}
		}
		return out
	}
	all := func(*weir.Contact) bool { return true }
	queued := func(c *weir.Contact) bool { return c.State == weir.Queued }
	lost := func(c *weir.Contact) bool { return c.Outcome == weir.Lost }
	for name, x := range map[string]struct {
		f    weir.ContactFilter
		want []weir.ContactID
	}{
		"since":     {weir.ContactFilter{Channel: a, Since: marks[2]}, want(a, 2, 4, all)},
		"until":     {weir.ContactFilter{Channel: a, Until: marks[2]}, want(a, 0, 2, all)},
		"between":   {weir.ContactFilter{Channel: a, Since: marks[1], Until: marks[3]}, want(a, 1, 3, all)},
		"of both":   {weir.ContactFilter{Since: marks[1], Until: marks[2]}, append(want(a, 1, 2, all), want(other, 1, 2, all)...)},
		"in states": {weir.ContactFilter{Channel: a, States: []weir.State{weir.Queued, weir.Delayed}, Since: marks[1]}, want(a, 1, 4, queued)},
		"outcome":   {weir.ContactFilter{Channel: a, Outcome: weir.Lost, Since: marks[1], Until: marks[4]}, want(a, 1, 4, lost)},
		"a key":     {weir.ContactFilter{Key: groups[2][0].Key, Since: marks[2]}, want(a, 2, 3, all)[:1]},
		"too late":  {weir.ContactFilter{Key: groups[2][0].Key, Since: marks[3]}, nil},
		"later":     {weir.ContactFilter{Since: marks[4]}, nil},
		"before":    {weir.ContactFilter{Until: marks[0]}, nil},
		"turned":    {weir.ContactFilter{Since: marks[3], Until: marks[1]}, nil},
	} {
		for _, x.f.Limit = range []int{0, 1, 2} {
			same(t, name, ids(b.allPages(x.f)), x.want)
		}
	}
	_, next, err := b.Contacts(b.ctx(), weir.ContactFilter{States: []weir.State{weir.Queued}, Since: marks[0], Limit: 1})
	b.ok(err)
	_, _, err = b.Contacts(b.ctx(), weir.ContactFilter{States: []weir.State{weir.Queued}, Limit: 1, Cursor: next})
	wantCode(t, err, weir.CodeInvalid)
}

// nextMillisecond waits for the next millisecond by calling a store that takes time to answer.
func (b *bench) nextMillisecond() time.Time {
	next := time.Now().Truncate(time.Millisecond).Add(time.Millisecond)
	for time.Now().Before(next) {
		b.channel("a")
	}
	return next
}

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
		"finished after":    {FinishedAfter: finished},
		"after an end":      {FinishedAfter: begin.Add(-time.Hour), Channel: all[0].Channel},
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
	b.inOrderOfEnds(all)
	b.arrivals(all)
	b.searched(all)
}

// inOrderOfEnds lists what ended after each end, over all channels and of one of them,
// and goes on after a page as a client does that polls: by the instant of the last end.
func (b *bench) inOrderOfEnds(all []weir.Contact) {
	b.t.Helper()
	done := slices.DeleteFunc(slices.Clone(all), func(c weir.Contact) bool { return c.State != weir.Done })
	slices.SortFunc(done, func(x, y weir.Contact) int {
		return cmp.Or(x.FinishedAt.Compare(y.FinishedAt), cmp.Compare(x.ID, y.ID))
	})
	for _, channel := range []weir.ChannelID{0, all[0].Channel, all[1].Channel} {
		of := slices.DeleteFunc(slices.Clone(done), func(c weir.Contact) bool { return channel != 0 && c.Channel != channel })
		for i, c := range append([]weir.Contact{{Progress: weir.Progress{FinishedAt: of[0].FinishedAt.Add(-time.Microsecond)}}}, of...) {
			want := of[i:]
			for len(want) > 0 && !want[0].FinishedAt.After(c.FinishedAt) { // ends of one instant
				want = want[1:]
			}
			for _, limit := range []int{1, 7, 1000} {
				got := b.allPages(weir.ContactFilter{Channel: channel, FinishedAfter: c.FinishedAt, Limit: limit})
				same(b.t, fmt.Sprintf("channel %d, after end %d, limit %d", channel, i, limit), ids(got), ids(want))
			}
		}
	}
}

// mixed makes contacts of two channels, alternately: some waiting in lanes, some in
// flight and some done.
func (b *bench) mixed() (all []weir.Contact) {
	at := now()
	one, first := b.owned("a")
	b.owned("empty")
	two, second := b.owned("b")
	leases := map[weir.ChannelID]weir.Incarnation{one: first, two: second}
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

// testByRef compares contacts that are read together, by their references, with what each is by itself.
func testByRef(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	all := b.mixed()
	later := sms("later")
	later.NotBefore = now().Add(time.Hour)
	all = append(all, b.accept(all[0].Channel, later)...)
	states := map[weir.State]int{}
	var refs []weir.Ref
	var want []weir.Contact
	for i := range all {
		one, _, err := b.Contact(b.ctx(), all[i].Ref)
		b.ok(err)
		if one.State != all[i].State {
			t.Errorf("contact %d is %s, want %s", i, one.State, all[i].State)
		}
		states[one.State]++
		want = append(want, one)
		refs = append(refs, all[i].Ref)
		for n := range 40 { // more than a statement names, and none of them exists
			refs = append(refs, weir.Ref{Channel: all[i].Channel, ID: 1<<40 + weir.ContactID(40*i+n)})
		}
	}
	if len(states) < 4 {
		t.Errorf("contacts in the states %v only", states)
	}
	refs = append(refs, weir.Ref{Channel: 1 << 40, ID: all[0].ID})
	got := must[[]weir.Contact](t)(b.ContactsByRef(b.ctx(), refs))
	for _, list := range [][]weir.Contact{got, want} {
		slices.SortFunc(list, func(x, y weir.Contact) int {
			return cmp.Or(cmp.Compare(x.Channel, y.Channel), cmp.Compare(x.ID, y.ID))
		})
	}
	same(t, "by reference", got, want)
	if none := must[[]weir.Contact](t)(b.ContactsByRef(b.ctx(), nil)); len(none) > 0 {
		t.Errorf("of no reference: %d contacts", len(none))
	}
}

func matches(f *weir.ContactFilter, c *weir.Contact) bool {
	return (f.Channel == 0 || f.Channel == c.Channel) && (f.Survey == "" || f.Survey == c.Survey) && (f.Outcome == "" || f.Outcome == c.Outcome) &&
		(len(f.States) == 0 || slices.Contains(f.States, c.State)) && !c.QueuedAt.Before(f.Since) && (f.Until.IsZero() || c.QueuedAt.Before(f.Until)) &&
		(!bounded(f) || c.State == weir.Done && !c.FinishedAt.Before(f.FinishedSince) && (f.FinishedUntil.IsZero() || c.FinishedAt.Before(f.FinishedUntil)) &&
			c.FinishedAt.After(f.FinishedAfter))
}

// bounded reports whether the filter limits when contacts finished.
func bounded(f *weir.ContactFilter) bool {
	return !f.FinishedSince.IsZero() || !f.FinishedUntil.IsZero() || !f.FinishedAfter.IsZero()
}

func sortedIDs(list []weir.Contact) []weir.ContactID { return slices.Sorted(slices.Values(ids(list))) }

// arrivals reads page after page while contacts arrive: each older contact is listed
// once, and no new contact appears on a later page.
func (b *bench) arrivals(all []weir.Contact) {
	b.t.Helper()
	var got []weir.Contact
	f := weir.ContactFilter{Newest: true, Limit: 9}
	for i := 0; i == 0 || f.Cursor != ""; i++ {
		list, next, err := b.Contacts(b.ctx(), f)
		b.ok(err)
		got, f.Cursor = append(got, list...), next
		b.accept(all[i%2].Channel, sms(fmt.Sprintf("late %d", i)))
	}
	want := slices.Clone(all)
	slices.SortFunc(want, func(x, y weir.Contact) int { return cmp.Compare(y.ID, x.ID) })
	same(b.t, "pages while contacts arrive", ids(got), ids(want))
	_, next, err := b.Contacts(b.ctx(), weir.ContactFilter{Newest: true, Limit: 1})
	b.ok(err)
	_, _, err = b.Contacts(b.ctx(), weir.ContactFilter{Limit: 1, Cursor: next})
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
