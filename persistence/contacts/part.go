package contacts

import (
	"maps"
	"slices"

	"weir"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/events"
)

// part accumulates the rows and counters of one batch.
type part struct {
	contacts *Reader // and the contacts in flight, as they were committed last
	log      *events.Log
	observer Observer

	accepted []Insertion
	changes  []*change
	counts   map[weir.ChannelID]delta
	landing  landing
	scratch  []any // Arguments of the statement before
}

// delta is by how much the counters of a channel change.
type delta struct{ queued, inFlight int64 }

// Part writes what the contacts of batches add up to.
func (s *Queue) Part() commit.Part { return s.part }

// InsertContacts inserts contacts in the batch of a work of another package, and
// reports the result of each.
func (s *Queue) InsertContacts(t *commit.Tx, list []Insertion) error {
	return s.part.insertContacts(t, list)
}

// Begin implements [commit.Part].
func (p *part) Begin() {
	*p = part{contacts: p.contacts, log: p.log, observer: p.observer, counts: map[weir.ChannelID]delta{}, scratch: p.scratch}
}

// Flush implements [commit.Part].
func (p *part) Flush(t *commit.Tx) error {
	if err := p.insertContacts(t, p.accepted); err != nil {
		return err
	}
	for _, step := range []func(*commit.Tx) error{p.change, p.dropFlights, p.count} {
		if err := step(t); err != nil {
			return err
		}
	}
	return nil
}

// Committed implements [commit.Part].
func (p *part) Committed() {
	p.contacts.flights.committed(&p.landing)
}

// count adds to the counters of channels.
func (p *part) count(t *commit.Tx) error {
	var args []any
	for _, channel := range slices.Sorted(maps.Keys(p.counts)) {
		if d := p.counts[channel]; d != (delta{}) {
			args = append(args, int64(channel), d.queued, d.inFlight)
		}
	}
	if len(args) > 0 {
		t.Add("INSERT INTO channel_counts (channel_id, queued, in_flight) VALUES "+columns.RowsOf(len(args)/3, 3)+p.contacts.Dialect.AddCounts, args...)
	}
	return nil
}
