package storetest

import (
	"fmt"
	"testing"
	"time"

	"weir"
)

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
	_, next, err := b.Contacts(b.ctx, weir.ContactFilter{States: []weir.State{weir.Queued}, Since: marks[0], Limit: 1})
	b.ok(err)
	_, _, err = b.Contacts(b.ctx, weir.ContactFilter{States: []weir.State{weir.Queued}, Limit: 1, Cursor: next})
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
