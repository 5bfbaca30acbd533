package contacts

import (
	"cmp"
	"slices"

	"weir"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/multirow"
)

// flightLog writes the log of the contacts in flight, a row for each batch.
type flightLog struct {
	flights *flights
	index   *channelIndex
	changes flightChanges // of this batch
}

// claimed adds a contact that is claimed as it is accepted.
func (g *flightLog) claimed(c *weir.Contact) {
	g.changes.records = append(g.changes.records, record{c.Ref, kept(c.Progress)})
}

// committed lets others see what the batch has written.
func (g *flightLog) committed() {
	g.changes.indexed, g.changes.ended = g.index.wrote()
	g.flights.committed(&g.changes)
}

// write writes the row of the batch, with the progress of contacts in flight: of those
// that steps change, that are claimed as they are accepted and that are carried forward. A contact has one
// record in it. Those that are done have one, too, until the index by channel has them.
func (g *flightLog) write(t *commit.Tx, steps []step, guarded []commit.Guarded) (err error) {
	l := &g.changes
	changed := map[weir.Ref]bool{}
	var list []record
	for i := range steps {
		s := &steps[i]
		changed[s.ref()] = true
		if s.first.Was != weir.Done && s.last.Contact.State == weir.Done {
			g.index.end(&s.last.Contact)
		}
		if s.last.Contact.State.InFlight() {
			list = append(list, record{s.ref(), kept(s.last.Contact.Progress)})
		} else if s.first.Was.InFlight() {
			l.left = append(l.left, s.ref())
		}
	}
	add := func(more []record) {
		for _, r := range more {
			if !changed[r.ref] {
				changed[r.ref], list = true, append(list, r)
			}
		}
	}
	slices.SortFunc(l.records, func(a, b record) int { return cmp.Compare(b.progress.Rev, a.progress.Rev) })
	add(l.records)
	add(g.flights.carried())
	l.records = list
	data := append(make([]byte, 0, 1+80*len(l.records)), recordVersion)
	for i := range l.records {
		data = appendRecord(data, &l.records[i])
	}
	for _, r := range g.index.ends() {
		data = appendRecord(data, &r)
	}
	l.row, err = t.Log(data, guarded...)
	return err
}

// drop deletes rows of the log that earlier batches have replaced,
// several at once.
func (g *flightLog) drop(t *commit.Tx) {
	unused := g.flights.unused
	if len(unused) < minUnused {
		return
	}
	unused = unused[:min(len(unused), maxUnused)]
	size := multirow.PlacesFor(len(unused))
	g.changes.deleted = slices.Clone(unused)
	t.Add(dropFlightsSQL+columns.Marks(size), multirow.Fill(columns.Arguments(unused), size-len(unused))...)
}

const dropFlightsSQL = "DELETE FROM contacts_in_flight WHERE id IN "
