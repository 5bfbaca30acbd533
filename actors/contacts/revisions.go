package contacts

import "weir"

// maxRevisions is how many contacts are remembered at least: more than a channel
// changes while the store is being read.
const maxRevisions = 1024

// revisions remembers the revisions of the contacts that changed last. Rows that were
// read before a change arrive after it, and their revision tells: acting on one could
// send a contact again. If one is as old as to be forgotten, the store refuses the
// change.
type revisions struct{ latest, before map[weir.ContactID]int64 }

// record records that a contact changed.
func (r *revisions) record(c *weir.Contact) {
	if len(r.latest) >= maxRevisions {
		r.before, r.latest = r.latest, nil
	}
	if r.latest == nil {
		r.latest = map[weir.ContactID]int64{}
	}
	r.latest[c.ID] = c.Rev
}

// outdated reports whether a row is older than its contact's last change.
func (r *revisions) outdated(c *weir.Contact) bool {
	return c.Rev < max(r.latest[c.ID], r.before[c.ID])
}
