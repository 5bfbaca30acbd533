package core

import "weir"

// changes remembers which contacts changed while the store was being read: such
// a read may return them in an old state. A read sees every change that was
// issued before the read was requested, so only later changes count.
//
// Reads overlap, and under load one may always be under way. To bound memory,
// reads belong to one of two generations in turn; the changes noted for a
// generation are dropped when its last read has arrived.
type changes struct {
	count   int64                       // number of changes so far
	now     int                         // the generation that new reads join
	open    [2]int                      // reads under way, by generation
	changed [2]map[weir.ContactID]int64 // number of a contact's last change, since the generation's first read
	recent  map[weir.ContactID]struct{} // the last few changed contacts, whether or not a read is under way
	order   []weir.ContactID            // contents of recent, a ring
	next    int
}

// readToken identifies a read.
type readToken struct {
	generation int
	count      int64 // changes when it was requested
}

const (
	maxGeneration = 1024 // changes after which new reads join the other generation
	maxRecent     = 1024
)

func newChanges() changes {
	return changes{
		changed: [2]map[weir.ContactID]int64{{}, {}},
		recent:  map[weir.ContactID]struct{}{},
	}
}

// beginRead records that a read was requested.
func (c *changes) beginRead() readToken {
	other := 1 - c.now
	if len(c.changed[c.now]) > maxGeneration && c.open[other] == 0 {
		c.now = other
	}
	c.open[c.now]++
	return readToken{c.now, c.count}
}

// endRead records that a read has arrived.
func (c *changes) endRead(r readToken) {
	c.open[r.generation]--
	if c.open[r.generation] == 0 {
		clear(c.changed[r.generation])
	}
}

// record records that a contact changed.
func (c *changes) record(id weir.ContactID) {
	c.count++
	for g := range c.changed {
		if c.open[g] > 0 {
			c.changed[g][id] = c.count
		}
	}
	if _, known := c.recent[id]; known {
		return
	}
	if len(c.order) < maxRecent {
		c.order = append(c.order, id)
	} else {
		delete(c.recent, c.order[c.next])
		c.order[c.next] = id
		c.next = (c.next + 1) % maxRecent
	}
	c.recent[id] = struct{}{}
}

// changedSince reports whether a contact changed after a read was requested.
func (c *changes) changedSince(r readToken, id weir.ContactID) bool {
	return c.changed[r.generation][id] > r.count
}

// recently reports whether a contact is among the last that changed.
func (c *changes) recently(id weir.ContactID) bool {
	_, ok := c.recent[id]
	return ok
}
