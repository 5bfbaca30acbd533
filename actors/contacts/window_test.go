package contacts

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir"
)

// queue is the naive model of a window: all contacts of a channel.
type queue struct {
	t      *rapid.T
	w      *window
	known  revisions
	led    weir.Ledger
	rows   map[weir.ContactID]weir.Contact // what waits in the store
	out    []weir.Contact                  // taken and not put back
	unread []weir.Contact                  // accepted; the event has not arrived
	pages  []pageUnderWay
	next   weir.ContactID
	anew   bool // read again from the start: contacts in memory go before the contacts read
}

type pageUnderWay struct {
	Page
	rows []weir.Contact // as the store returned them; nil: it was not read yet
	read bool
}

func (q *queue) accept(t *rapid.T) {
	for range rapid.IntRange(1, 30).Draw(t, "accepted") {
		c := weir.Contact{Ref: weir.Ref{Channel: 1, ID: q.next}}
		c.Priority, c.Survey, c.State = weir.Normal, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "survey"), weir.Queued
		q.next++
		q.rows[c.ID] = c
		q.unread = append(q.unread, c)
	}
}

func (q *queue) words(t *rapid.T) {
	for range min(len(q.unread), rapid.IntRange(1, 60).Draw(t, "words")) {
		q.word(t)
	}
}

func (q *queue) word(t *rapid.T) {
	i := rapid.IntRange(0, len(q.unread)-1).Draw(t, "whose")
	c := q.unread[i]
	q.unread = slices.Delete(q.unread, i, i+1)
	if !q.outdated(&c) {
		q.w.offer(&c)
	}
}

func (q *queue) outdated(c *weir.Contact) bool {
	return q.known.outdated(c) || slices.ContainsFunc(q.out, func(o weir.Contact) bool { return o.ID == c.ID })
}

// change records a change of a contact.
func (q *queue) change(c *weir.Contact) {
	c.Rev++
	q.known.record(c)
}

func (q *queue) ask(*rapid.T) {
	for _, p := range q.w.pagesToRead() {
		q.pages = append(q.pages, pageUnderWay{Page: p})
	}
}

// read reads the store for a page, or passes the result to the window.
func (q *queue) read(t *rapid.T) {
	if len(q.pages) == 0 {
		return
	}
	i := rapid.IntRange(0, len(q.pages)-1).Draw(t, "which page")
	p := &q.pages[i]
	if !p.read {
		p.read, p.rows = true, q.head(p.Page)
		return
	}
	got := q.pages[i]
	q.pages = slices.Delete(q.pages, i, i+1)
	if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
		q.w.failed(got.Lane)
		return
	}
	q.w.merge(got.Page, got.rows, q.outdated)
}

func (q *queue) head(p Page) []weir.Contact {
	var list []weir.Contact
	for _, c := range q.rows {
		if c.Lane() == p.Lane && c.ID > p.After {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b weir.Contact) int { return int(a.ID - b.ID) })
	return list[:min(len(list), p.Limit)]
}

// take takes the contact that is next. No contact is taken twice.
func (q *queue) take(*rapid.T) {
	c := q.w.next(&q.led)
	if c == nil {
		return
	}
	if _, waits := q.rows[c.ID]; !waits {
		q.t.Fatalf("contact %d is taken, which does not wait", c.ID)
	}
	q.w.take(c)
	delete(q.rows, c.ID)
	q.out = append(q.out, *c)
}

func (q *queue) back(t *rapid.T) {
	if len(q.out) == 0 {
		return
	}
	i := rapid.IntRange(0, len(q.out)-1).Draw(t, "who")
	c := q.out[i]
	q.out = slices.Delete(q.out, i, i+1)
	q.change(&c)
	if rapid.Bool().Draw(t, "is over") {
		return
	}
	q.rows[c.ID] = c
	q.w.putBack(&c)
}

func (q *queue) leaves(t *rapid.T) {
	id := weir.ContactID(rapid.IntRange(1, int(q.next)).Draw(t, "leaves"))
	if c, ok := q.rows[id]; ok {
		delete(q.rows, id)
		q.w.remove(id, c.Lane())
		q.change(&c)
	}
}

func (q *queue) rescan(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
		q.w.rescan()
		q.anew = true
	}
}

func (q *queue) check(*rapid.T) {
	for id, l := range q.w.lanes {
		if !slices.IsSortedFunc(l.entries, func(a, b *weir.Contact) int { return int(a.ID - b.ID) }) {
			q.t.Fatalf("lane %d is not in order of acceptance", id)
		}
		if n := len(l.entries); n > 3*q.w.limit {
			q.t.Fatalf("lane %d holds %d contacts in memory", id, n)
		}
		for _, e := range l.entries {
			if _, waits := q.rows[e.ID]; !waits {
				q.t.Fatalf("lane %d has contact %d, which does not wait", id, e.ID)
			}
		}
	}
}

// drain lets everything come to rest and takes whatever is left: nothing may
// be missing, and each lane keeps its order.
func (q *queue) drain(t *rapid.T) {
	for len(q.unread) > 0 {
		q.word(t)
	}
	last := map[weir.Lane]weir.ContactID{}
	settle := func() {
		for q.ask(t); len(q.pages) > 0; q.ask(t) {
			p := q.pages[0]
			if !p.read {
				p.rows = q.head(p.Page)
			}
			q.pages = q.pages[1:]
			q.w.merge(p.Page, p.rows, q.outdated)
		}
	}
	for settle(); len(q.rows) > 0; settle() {
		n := len(q.rows)
		q.take(t)
		if len(q.rows) == n {
			t.Fatalf("%d contacts wait and none is seen", n)
		}
		c := q.out[len(q.out)-1]
		if c.ID < last[c.Lane()] && !q.anew {
			t.Fatalf("%d came after %d", c.ID, last[c.Lane()])
		}
		last[c.Lane()] = c.ID
	}
	if !q.w.empty() {
		t.Fatalf("nothing waits, and the window holds something")
	}
}

// TestWindow_LosesAndDoublesNothing checks the window against a store whose pages it receives late:
// nothing is lost, nothing comes twice, and memory is bounded.
func TestWindow_LosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := &queue{t: t, w: newWindow(minWindow), led: weir.Ledger{Capacity: 10}, rows: map[weir.ContactID]weir.Contact{}, next: 1}
		t.Repeat(map[string]func(*rapid.T){
			"accept": q.accept, "word": q.words, "ask": q.ask, "read": q.read, "take": q.take, "back": q.back,
			"leaves": q.leaves, "rescan": q.rescan, "": q.check,
		})
		q.drain(t)
	})
}

// The last revisions are known, and their number stays bounded.
func TestWindow_RevisionsAreBounded(t *testing.T) {
	t.Parallel()
	var r revisions
	row := func(id, rev int64) *weir.Contact {
		return &weir.Contact{Ref: weir.Ref{ID: weir.ContactID(id)}, Progress: weir.Progress{Rev: rev}}
	}
	for id := range int64(50_000) {
		r.record(row(id, 2))
		r.record(row(id, 3))
		for _, last := range []int64{id, max(0, id-maxRevisions+1)} {
			if !r.outdated(row(last, 2)) || r.outdated(row(last, 3)) {
				t.Fatalf("at %d: outdated %v and %v, want true and false", id, r.outdated(row(last, 2)), r.outdated(row(last, 3)))
			}
		}
	}
	if n := len(r.latest) + len(r.before); n > 2*maxRevisions {
		t.Fatalf("%d revisions are remembered", n)
	}
}

// TestWindow_BlockedContactGoesFirstWhenItFits: a contact that was too large for the
// channel is older than those in memory, and goes before them once it fits.
func TestWindow_BlockedContactGoesFirstWhenItFits(t *testing.T) {
	t.Parallel()
	w := newWindow(32)
	large := weir.Contact{Ref: weir.Ref{ID: 1}, Spec: weir.Spec{Priority: weir.Normal, Messages: make([]string, 5)}}
	small := weir.Contact{Ref: weir.Ref{ID: 2}, Spec: weir.Spec{Priority: weir.Normal, Messages: make([]string, 1)}}
	led := weir.Ledger{Capacity: 3}
	w.offer(&large)
	w.offer(&small)
	if next := w.next(&led); next == nil || next.ID != 2 || w.blocked() != 1 {
		t.Fatalf("next is %v with %d blocked, want the small one and one", next, w.blocked())
	}
	led.Capacity = 6
	w.rescan()
	if next := w.next(&led); next != nil {
		t.Fatalf("contact %d goes before its lane was read again", next.ID)
	}
	pages := w.pagesToRead()
	if len(pages) != 1 || pages[0].After != 0 {
		t.Fatalf("pages wanted: %v", pages)
	}
	w.merge(pages[0], []weir.Contact{large, small}, func(*weir.Contact) bool { return false })
	if next := w.next(&led); next == nil || next.ID != 1 {
		t.Fatalf("next is %v, want the large one", next)
	}
}
