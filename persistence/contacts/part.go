package contacts

import (
	"maps"
	"slices"
	"time"

	"weir"
	"weir/people"
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

	accepted      []Insertion
	changes       []*change
	settled       map[weir.Ref]weir.Receipt // of contacts that end, if the gate has changed them
	counts        map[weir.ChannelID]delta
	flightChanges flightChanges
	scratch       []any // Arguments of the statement before
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
	*p = part{contacts: p.contacts, log: p.log, observer: p.observer, gate: p.gate, counts: map[weir.ChannelID]delta{}, settled: map[weir.Ref]weir.Receipt{}, scratch: p.scratch}
}

// Flush implements [commit.Part].
func (p *part) Flush(t *commit.Tx) error {
	if err := p.judge(t); err != nil {
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
	p.contacts.flights.committed(&p.flightChanges)
}

// judge asks the gate about the claims. A contact that it does not let pass ends or waits
// instead; one that passes has a receipt.
func (p *part) judge(t *commit.Tx) error {
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
	verdicts, err := p.gate.Judge(t, claims)
	if err != nil || verdicts == nil {
		return err
	}
	for i, c := range claims[:accepted] {
		if c.Progress, err = judged(c.Progress, c.QueuedAt, &verdicts[i]); err != nil {
			return err
		}
	}
	now, next := columns.Instant(columns.Micros(t.Now)), accepted
	for _, c := range p.changes {
		for i := range c.Transitions {
			if !c.claims(i) {
				continue
			}
			if err := c.judge(i, now, &verdicts[next]); err != nil {
				return err
			}
			next++
		}
	}
	return nil
}

// judged returns what becomes of a claim.
func judged(p weir.Progress, now time.Time, v *people.Verdict) (weir.Progress, error) {
	switch {
	case v.Rule == "":
		p.Receipt = v.Receipt
		return kept(p), nil
	case v.Channel:
		p, err := p.Unclaim()
		p.Rev = 0 // as it was accepted
		return p, err
	case v.Due.IsZero():
		return p.Suppress(now, v.Reason, v.Receipt)
	default:
		p, err := p.Defer(v.Due, v.Reason, v.Receipt)
		return kept(p), err
	}
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
