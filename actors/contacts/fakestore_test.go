package contacts_test

import (
	"cmp"
	"slices"
	"time"

	"weir"
	"weir/actors/contacts"
)

// rows is a store in memory: as written, or as it will be once everything is
// written.
type rows map[weir.ContactID]weir.Contact

// apply writes one transition if its guard holds.
func (r rows) apply(t weir.Transition) bool {
	row, ok := r[t.Contact.ID]
	if !ok || row.Rev != t.From || row.State != t.Was {
		return false
	}
	r[t.Contact.ID] = t.Contact
	return true
}

func (r rows) list(keep func(*weir.Contact) bool, order func(a, b weir.Contact) int) []weir.Contact {
	var list []weir.Contact
	for _, row := range r {
		if keep(&row) {
			list = append(list, row)
		}
	}
	slices.SortFunc(list, func(a, b weir.Contact) int { return cmp.Or(order(a, b), cmp.Compare(a.ID, b.ID)) })
	return list
}

func byID(weir.Contact, weir.Contact) int { return 0 }

func (r rows) all() []weir.Contact { return r.list(func(*weir.Contact) bool { return true }, byID) }

func (r rows) inFlight() []weir.Contact {
	return r.list(func(c *weir.Contact) bool { return c.State.InFlight() }, byID)
}

func (r rows) waiting() []weir.Contact {
	return r.list(func(c *weir.Contact) bool { return c.State.Waiting() }, byID)
}

func (r rows) lanes() []weir.Lane {
	var lanes []weir.Lane
	for _, row := range r {
		if row.State == weir.Queued {
			lanes = append(lanes, row.Lane())
		}
	}
	slices.Sort(lanes)
	return slices.Compact(lanes)
}

func (r rows) head(p contacts.Page) []weir.Contact {
	list := r.list(func(c *weir.Contact) bool {
		return c.State == weir.Queued && c.Lane() == p.Lane && c.ID > p.After
	}, byID)
	return list[:min(len(list), p.Limit)]
}

func (r rows) due(q contacts.Read) ([]weir.Contact, time.Time) {
	at := func(c *weir.Contact) time.Time { return c.DueAt }
	return split(r.list(func(c *weir.Contact) bool { return c.State == weir.Delayed },
		func(a, b weir.Contact) int { return a.DueAt.Compare(b.DueAt) }), q, at)
}

func (r rows) overdue(q contacts.Read) ([]weir.Contact, time.Time) {
	at := func(c *weir.Contact) time.Time { return c.NotAfter }
	return split(r.list(func(c *weir.Contact) bool { return c.State.Waiting() && !c.NotAfter.IsZero() },
		func(a, b weir.Contact) int { return a.NotAfter.Compare(b.NotAfter) }), q, at)
}

func split(list []weir.Contact, q contacts.Read, at func(*weir.Contact) time.Time) ([]weir.Contact, time.Time) {
	for i := range list {
		if i == q.Limit || at(&list[i]).After(q.Until) {
			return list[:i], at(&list[i])
		}
	}
	return list, time.Time{}
}
