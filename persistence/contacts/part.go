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
	gate     Gate

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
	*p = part{contacts: p.contacts, log: p.log, observer: p.observer, gate: p.gate, counts: map[weir.ChannelID]delta{}, scratch: p.scratch}
}

// Flush implements [commit.Part].
func (p *part) Flush(t *commit.Tx) error {
	if err := p.suppress(t); err != nil {
		return err
	}
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

// suppress ends the contacts of the claims that the gate does not let pass.
func (p *part) suppress(t *commit.Tx) error {
	var claims []*weir.Contact
	for i := range p.accepted {
		if c := &p.accepted[i].Contact; c.State == weir.Sending {
			claims = append(claims, c)
		}
	}
	accepted := len(claims)
	for _, c := range p.changes {
		for i := range c.Transitions {
			if c.claims(i) {
				claims = append(claims, &c.Transitions[i].Contact)
			}
		}
	}
	if len(claims) == 0 {
		return nil
	}
	reasons, err := p.gate.Refused(t, claims)
	if err != nil || reasons == nil {
		return err
	}
	for i, c := range claims[:accepted] {
		if reasons[i] != "" {
			c.Progress, err = c.Suppress(c.QueuedAt, reasons[i])
		}
		if err != nil {
			return err
		}
	}
	next := accepted
	for _, c := range p.changes {
		for i := range c.Transitions {
			if !c.claims(i) {
				continue
			}
			if reasons[next] != "" {
				if err := c.suppress(i, columns.Instant(columns.Micros(t.Now)), reasons[next]); err != nil {
					return err
				}
			}
			next++
		}
	}
	return nil
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
