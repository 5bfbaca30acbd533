package contacts

import (
	"cmp"
	"slices"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
)

// ageLimit is how often a waiting contact of a lower priority is passed over
// before one of that priority is served: high goes before normal, but normal
// never starves.
const ageLimit = 9

// window is the part of a channel's queue that is in memory: for each lane the
// oldest contacts, in order of acceptance. The rest stays in the store and is
// read page by page as the window empties, so that memory does not grow with
// the queue. The window decides which contact is next.
type window struct {
	limit   int // max contacts to hold, over all lanes
	lanes   map[weir.Lane]*lane
	clock   [3]int64 // by priority: turn of the lane served last
	skipped [3]int   // by priority: how often it was passed over
}

// lane is one survey's share at one priority.
type lane struct {
	id      weir.Lane
	entries []*weir.Contact // oldest first
	horizon weir.ContactID  // every contact up to this one was read
	more    bool            // the store may have contacts beyond the horizon
	loading bool            // a page is being read
	missed  weir.ContactID  // lowest contact that joined beyond the horizon while the page was being read
	again   bool            // the lane was restarted while the page was being read
	turn    int64           // slots served so far, in the lane's virtual time
	blocked int             // contacts up to the horizon that are too large for the channel
	oldest  *weir.Contact   // of the blocked ones
}

func newWindow(bound int) *window {
	return &window{limit: bound, lanes: map[weir.Lane]*lane{}}
}

// lane finds or creates a lane. A new lane starts at the current turn and does not
// make up for the turns that it missed.
func (w *window) lane(id weir.Lane) *lane {
	l := w.lanes[id]
	if l == nil {
		l = &lane{id: id, turn: w.clock[id.Priority()]}
		w.lanes[id] = l
	}
	return l
}

// offer adds a contact that was just accepted or became due. It stays only in the
// store if older contacts of its lane are not read yet or the window is full.
func (w *window) offer(c *weir.Contact) {
	l := w.lane(c.Lane())
	if len(l.entries) >= w.share() && c.ID > l.horizon {
		l.leaveInStore(c.ID)
		return
	}
	l.add(c)
	if len(l.entries) > 2*w.share() {
		l.trim(w.share())
	}
}

// putBack returns a contact that had been taken.
func (w *window) putBack(c *weir.Contact) { w.lane(c.Lane()).add(c) }

// add inserts a contact at its place, unless that place is in a part of the
// queue that is not read yet.
func (l *lane) add(c *weir.Contact) {
	switch {
	case c.ID <= l.horizon:
		l.insert(c)
	case l.more || l.loading:
		l.leaveInStore(c.ID)
	default:
		l.insert(c)
		l.horizon = c.ID
	}
}

// leaveInStore leaves a contact to the store, to be read with a later page. A page that
// is being read may have been read before the contact joined, and must not move
// the horizon past it.
func (l *lane) leaveInStore(id weir.ContactID) {
	l.more = true
	if l.loading && (l.missed == 0 || id < l.missed) {
		l.missed = id
	}
}

// trim keeps the oldest n entries and leaves the others to the store again:
// many contacts that become due at once may all be before the horizon.
func (l *lane) trim(n int) {
	last := l.entries[n-1].ID
	l.leaveInStore(last + 1)
	l.entries = slices.Delete(l.entries, n, len(l.entries))
	l.horizon = min(l.horizon, last)
	if l.blocked > 0 {
		l.restart() // some of them may be read again
	}
}

// restart causes the lane to be read again from its start. Contacts that were blocked
// may fit now, and go before those in memory.
func (l *lane) restart() {
	if l.blocked > 0 {
		l.entries = nil
	}
	l.horizon, l.blocked, l.oldest = 0, 0, nil
	l.more, l.again = true, l.loading
}

// insert keeps the order of acceptance. A contact that is already there is not
// added again.
func (l *lane) insert(c *weir.Contact) {
	i, found := l.place(c.ID)
	if !found {
		l.entries = slices.Insert(l.entries, i, c)
	}
}

// place returns where a contact is among the entries, or would be.
func (l *lane) place(id weir.ContactID) (i int, found bool) {
	return slices.BinarySearchFunc(l.entries, id, func(e *weir.Contact, id weir.ContactID) int { return cmp.Compare(e.ID, id) })
}

// merge adds a page. outdated reports whether a contact has changed since its row was
// read. If the lane was restarted meanwhile, a page from its start is still good, or
// hints that come faster than pages would stop the channel, but is read again.
func (w *window) merge(p Page, rows []weir.Contact, outdated func(*weir.Contact) bool) {
	l := w.lane(p.Lane)
	missed, again := l.missed, l.again
	l.loading, l.again, l.missed, l.more = false, false, 0, len(rows) == p.Limit || missed != 0 || again
	if again && p.After > 0 {
		return
	}
	for i := range rows {
		c := &rows[i]
		if missed != 0 && c.ID >= missed {
			break // the next page has these, and the contact that joined
		}
		l.horizon = max(l.horizon, c.ID)
		if !outdated(c) {
			l.insert(c)
		}
	}
	if again {
		l.horizon = 0
	}
}

// failed records that a page could not be read.
func (w *window) failed(id weir.Lane) {
	l := w.lane(id)
	l.loading, l.again, l.missed = false, false, 0
}

// remove removes a contact wherever it is, and reports whether it was in the
// window.
func (w *window) remove(c weir.ContactID, in weir.Lane) bool {
	l := w.lanes[in]
	if l == nil {
		return false
	}
	i, found := l.place(c)
	if found {
		l.entries = slices.Delete(l.entries, i, i+1)
	}
	return found
}

// unblock stops counting a contact as blocked.
func (w *window) unblock(c *weir.Contact) {
	l := w.lanes[c.Lane()]
	if l == nil || c.ID > l.horizon || l.blocked == 0 {
		return
	}
	l.blocked--
	if l.blocked == 0 || l.oldest != nil && l.oldest.ID == c.ID {
		l.oldest = nil
	}
}

// find looks up a contact by id alone.
func (w *window) find(id weir.ContactID) (*weir.Contact, bool) {
	for _, l := range w.lanes {
		if i, found := l.place(id); found {
			return l.entries[i], true
		}
	}
	return nil, false
}

// next returns the contact that is next, without taking it: by priority with
// aging, within a priority by the lanes' turns, within a lane the oldest. It
// returns nil if none waits or if the next one does not fit: that one holds all
// others back, except that replies may use their reserve. Contacts too large for
// the channel are removed and counted as blocked.
func (w *window) next(led *weir.Ledger) *weir.Contact {
	heads := w.heads(led)
	p, ok := w.first(heads)
	if !ok {
		return nil
	}
	head := heads[p].entries[0]
	if led.Fits(p, head.Size()) {
		return head
	}
	if r := heads[weir.Reply]; r != nil && led.FitsReserve(r.entries[0].Size()) {
		return r.entries[0]
	}
	return nil
}

// heads returns for each priority the lane that is next; nil if none waits.
func (w *window) heads(led *weir.Ledger) [3]*lane {
	var heads [3]*lane
	for _, l := range w.lanes {
		l.removeBlocked(led)
		if len(l.entries) == 0 {
			continue
		}
		if h := heads[l.id.Priority()]; h == nil || l.turn < h.turn || l.turn == h.turn && l.entries[0].ID < h.entries[0].ID {
			heads[l.id.Priority()] = l
		}
	}
	return heads
}

// removeBlocked removes entries from the lane's head that could never fit, and counts
// them as blocked. Those beyond the horizon are read and counted later.
func (l *lane) removeBlocked(led *weir.Ledger) {
	for len(l.entries) > 0 && led.Blocked(l.id.Priority(), l.entries[0].Size()) {
		if c := l.entries[0]; c.ID <= l.horizon {
			l.oldest = cmp.Or(l.oldest, c)
			l.blocked++
		}
		l.entries = l.entries[1:]
	}
}

// first returns the priority that is next: the highest with a waiting contact,
// unless another has aged past ageLimit.
func (w *window) first(heads [3]*lane) (first weir.Priority, ok bool) {
	for p := weir.Reply; p <= weir.Normal; p++ {
		switch {
		case heads[p] == nil:
		case w.skipped[p] >= ageLimit:
			return p, true
		case !ok:
			first, ok = p, true
		}
	}
	return first, ok
}

// take removes the contact that next returned and counts the turn.
func (w *window) take(c *weir.Contact) {
	p := c.Priority
	for q := p + 1; q <= weir.Normal; q++ {
		if w.waits(q) {
			w.skipped[q]++
		}
	}
	w.skipped[p] = 0
	l := w.lanes[c.Lane()]
	w.clock[p] = max(w.clock[p], l.turn)
	l.turn = w.clock[p] + int64(c.Size())
	w.remove(c.ID, c.Lane())
}

func (w *window) waits(p weir.Priority) bool {
	for id, l := range w.lanes {
		if id.Priority() == p && len(l.entries) > 0 {
			return true
		}
	}
	return false
}

// pagesToRead lists the pages to read now, and removes lanes that are exhausted.
func (w *window) pagesToRead() []Page {
	var pages []Page
	if w.empty() {
		clear(w.lanes)
		return nil
	}
	for id, l := range w.lanes {
		if l.more && !l.loading && len(l.entries) <= w.share()/2 {
			l.loading = true
			pages = append(pages, Page{id, l.horizon, w.share()})
		} else if len(l.entries) == 0 && !l.more && !l.loading && l.blocked == 0 && l.turn <= w.clock[id.Priority()] {
			delete(w.lanes, id)
		}
	}
	return pages
}

// rescan causes every lane to be read again from its start: after the capacity
// changed, because of the blocked contacts, and after contacts were
// accepted whose ids may be before the horizon.
func (w *window) rescan() {
	for _, l := range w.lanes {
		l.restart()
	}
}

// share returns how many contacts of one lane the window holds.
func (w *window) share() int { return max(16, w.limit/max(1, len(w.lanes))) }

// position describes the contacts that go before a waiting one: those
// of higher priority and the older ones of its lane. From other lanes of its
// priority one goes in each turn. It is nil if there are none in memory.
func (w *window) position(contact *weir.Contact) []api.Clause {
	higher, older, beyond := 0, 0, false
	for id, l := range w.lanes {
		switch {
		case id.Priority() < contact.Priority:
			higher += len(l.entries)
		case id == contact.Lane():
			older, _ = l.place(contact.ID)
			beyond = l.more && contact.ID > l.horizon
		}
	}
	switch {
	case higher == 0 && older == 0:
		return nil
	case older == 0:
		return []api.Clause{operators.NewClause(operators.TextAheadHigher, "higher", higher)}
	case higher == 0 && beyond:
		return []api.Clause{operators.NewClause(operators.TextAheadMore, "older", older)}
	case higher == 0 && older == 1:
		return []api.Clause{operators.NewClause(operators.TextAheadOne)}
	case higher == 0:
		return []api.Clause{operators.NewClause(operators.TextAhead, "older", older)}
	case beyond:
		return []api.Clause{operators.NewClause(operators.TextAheadHigherAndMore, "higher", higher, "older", older)}
	case older == 1:
		return []api.Clause{operators.NewClause(operators.TextAheadHigherAndOne, "higher", higher)}
	default:
		return []api.Clause{operators.NewClause(operators.TextAheadHigherAnd, "higher", higher, "older", older)}
	}
}

// empty reports whether nothing waits in the window and nothing is known to wait
// beyond it.
func (w *window) empty() bool {
	for _, l := range w.lanes {
		if len(l.entries) > 0 || l.more || l.loading || l.blocked > 0 {
			return false
		}
	}
	return true
}

// oldest returns when the oldest waiting contact seen was accepted; zero if none
// waits.
func (w *window) oldest() time.Time {
	var at time.Time
	for _, l := range w.lanes {
		if len(l.entries) > 0 {
			at = earlier(at, l.entries[0].QueuedAt)
		}
		if l.oldest != nil {
			at = earlier(at, l.oldest.QueuedAt)
		}
	}
	return at
}

// blocked returns the number of contacts that are too large for the channel.
func (w *window) blocked() int {
	n := 0
	for _, l := range w.lanes {
		n += l.blocked
	}
	return n
}
