package core

import "weir"

// changes remembers which contacts changed while the store was being read:
// what such a read says of them may be old. A read sees all changes that were
// handed out before it was asked for, so that only those after count.
//
// Reads overlap, and under load there may always be one under way. So that
// memory stays bounded, they belong to one of two generations in turn; what
// was noted for a generation is dropped when its last read is in.
type changes struct {
	count   int64                       // of changes so far
	now     int                         // the generation that new reads join
	open    [2]int                      // reads under way, by generation
	changed [2]map[weir.ContactID]int64 // which change was a contact's last, since the generation's first read
	recent  map[weir.ContactID]struct{} // the last few, whether something is read or not
	order   []weir.ContactID            // of recent, a ring
	next    int
}

// reading names a read.
type reading struct {
	generation int
	count      int64 // changes when it was asked for
}

const (
	generationMost = 1024 // changes after which new reads join the other generation
	recentMost     = 1024
)

func newChanges() changes {
	return changes{
		changed: [2]map[weir.ContactID]int64{{}, {}},
		recent:  map[weir.ContactID]struct{}{},
	}
}

// begin notes that a read was asked for.
func (c *changes) begin() reading {
	other := 1 - c.now
	if len(c.changed[c.now]) > generationMost && c.open[other] == 0 {
		c.now = other
	}
	c.open[c.now]++
	return reading{c.now, c.count}
}

// end notes that a read is in.
func (c *changes) end(r reading) {
	c.open[r.generation]--
	if c.open[r.generation] == 0 {
		clear(c.changed[r.generation])
	}
}

// note remembers that a contact changed.
func (c *changes) note(id weir.ContactID) {
	c.count++
	for g := range c.changed {
		if c.open[g] > 0 {
			c.changed[g][id] = c.count
		}
	}
	if _, known := c.recent[id]; known {
		return
	}
	if len(c.order) < recentMost {
		c.order = append(c.order, id)
	} else {
		delete(c.recent, c.order[c.next])
		c.order[c.next] = id
		c.next = (c.next + 1) % recentMost
	}
	c.recent[id] = struct{}{}
}

// since tells whether a contact changed after a read was asked for.
func (c *changes) since(r reading, id weir.ContactID) bool {
	return c.changed[r.generation][id] > r.count
}

// lately tells whether a contact is among the last that changed.
func (c *changes) lately(id weir.ContactID) bool {
	_, ok := c.recent[id]
	return ok
}
