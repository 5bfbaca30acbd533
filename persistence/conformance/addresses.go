package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"weir"
)

// testAddresses finds the contacts and messages of people over channels: before they are
// indexed, while they are, and when they are purged.
func testAddresses(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	one, lease := b.owned("one")
	two, _ := b.owned("two")
	var all []weir.Contact
	people := []string{"+15550001", "15550001", "+15550002", "chat-7"}
	more := func(n int) {
		t.Helper()
		for range n {
			s := sms(fmt.Sprintf("k%d", len(all)))
			s.To = people[len(all)%len(people)]
			all = append(all, b.accept([]weir.ChannelID{one, one, two}[len(all)%3], s)...)
		}
	}
	const segment = 7
	steps := func() (n int) {
		for must[bool](t)(b.IndexAddresses(b.ctx(), segment)) {
			n++
		}
		return n
	}
	b.foundByAddress("nothing is accepted", all)
	if n := steps(); n != 0 {
		t.Errorf("%d segments of nothing", n)
	}
	more(30)
	b.foundByAddress("nothing is indexed", all)
	if n := steps(); n != 4 {
		t.Errorf("%d segments of 30 contacts, want 4", n)
	}
	b.foundByAddress("indexed", all)
	more(20)
	b.foundByAddress("some are indexed", all)
	if n := steps(); n != 3 {
		t.Errorf("%d more segments, want 3", n)
	}
	b.foundByAddress("indexed again", all)
	purges := func() (n int) {
		for must[bool](t)(b.PurgeAddresses(b.ctx(), 3)) {
			n++
		}
		return n
	}
	if n := purges(); n != 0 {
		t.Errorf("%d steps of a purge while all contacts exist", n)
	}
	at := now()
	for i := range all[:25] {
		if all[i].Channel == one {
			tr := claim(all[i], at)
			b.commitAll(lease, tr)
			b.commitAll(lease, finish(tr.Contact, at, weir.Completed))
			all[i], _ = b.read(all[i].Ref)
		}
	}
	b.foundByAddress("some are done", all)
	must[int](t)(b.Purge(b.ctx(), at.Add(time.Hour), 100))
	left := slices.DeleteFunc(slices.Clone(all), func(c weir.Contact) bool { return c.State == weir.Done })
	b.foundByAddress("some are purged", left)
	if n := purges(); n != 0 { // the first contact of channel two waits
		t.Errorf("%d steps of a purge while a segment has a contact", n)
	}
	b.messagesOf(one, two)
}

// foundByAddress compares the contacts of addresses with those that there are, page by page.
func (b *bench) foundByAddress(when string, all []weir.Contact) {
	b.t.Helper()
	for _, to := range [][]string{{"+15550001"}, {"15550001", "+15550001"}, {"chat-7", "+15550002", "nobody"}, {"nobody"}} {
		var want []weir.ContactID
		for i := range all {
			if slices.Contains(to, all[i].To) {
				want = append(want, all[i].ID)
			}
		}
		slices.SortFunc(want, func(x, y weir.ContactID) int { return cmp.Compare(y, x) })
		for _, limit := range []int{1, 3, 1000} {
			var got []weir.ContactID
			for before, more := weir.ContactID(0), true; more; {
				p := must[weir.AddressPage](b.t)(b.ContactsTo(b.ctx(), to, before, limit))
				if len(p.Contacts) > limit || p.More && len(p.Contacts) < limit || !p.GapSince.IsZero() || !p.GapUntil.IsZero() {
					b.t.Fatalf("%s: %d contacts of at most %d, more %v, gap %v", when, len(p.Contacts), limit, p.More, p.GapSince)
				}
				if got, more = append(got, ids(p.Contacts)...), p.More; more {
					before = got[len(got)-1]
				}
			}
			same(b.t, fmt.Sprintf("%s: contacts to %v, limit %d", when, to, limit), got, want)
		}
	}
}

// messagesOf receives messages over two channels and finds them by their senders.
func (b *bench) messagesOf(one, two weir.ChannelID) {
	b.t.Helper()
	for i, from := range []string{"+15550001", "+15550002", "15550001", "+15550001"} {
		must[bool](b.t)(b.Receive(b.ctx(), []weir.ChannelID{one, two}[i%2], weir.Incoming{From: from, Body: fmt.Sprint(i), ReceivedAt: now(), Fields: map[string]string{"n": "1"}}))
	}
	var got []string
	before := int64(0)
	for {
		list := must[[]weir.Received](b.t)(b.IncomingFrom(b.ctx(), []string{"+15550001", "15550001", "nobody"}, before, 2))
		for _, m := range list {
			got, before = append(got, fmt.Sprintf("%d %s %s %v", m.Channel, m.From, m.Body, m.Fields)), m.ID
		}
		if len(list) < 2 {
			break
		}
	}
	same(b.t, "messages", got, []string{
		fmt.Sprintf("%d +15550001 3 map[n:1]", two), fmt.Sprintf("%d 15550001 2 map[n:1]", one), fmt.Sprintf("%d +15550001 0 map[n:1]", one),
	})
}
