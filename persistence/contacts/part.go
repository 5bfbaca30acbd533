package contacts

import (
	"weir"
	"weir/persistence/columns"
	"weir/persistence/commit"
)

// part writes what the contacts of one batch add up to.
type part struct {
	insertions  *insertions
	changes     *changes
	transitions *transitionWriter
	receipts    *receipts
	flights     *flightLog
	waiting     *waiting
	index       *channelIndex
	gate        Gate
}

// newPart returns the part of a store.
func newPart(contacts *Reader, events contactEvents, observer Observer, gate Gate) *part {
	flights, waiting, memory := &flightLog{flights: contacts.flights, index: contacts.index}, contacts.waiting, &scratch{}
	return &part{
		insertions: &insertions{contacts: contacts, flights: flights, events: events, gate: gate, waiting: waiting, scratch: memory},
		changes:    &changes{db: contacts.DB},
		transitions: &transitionWriter{
			contacts: contacts, flights: flights, events: events, observer: observer, gate: gate, waiting: waiting, scratch: memory,
			settled: map[weir.Ref]weir.Receipt{},
		},
		receipts: &receipts{observer: observer}, flights: flights, waiting: waiting, index: contacts.index, gate: gate,
	}
}

// Begin implements [commit.Part].
func (p *part) Begin() {
	p.insertions.accepted, p.changes.list, p.flights.changes = nil, nil, flightChanges{}
	clear(p.transitions.settled)
	p.receipts.begin()
	p.waiting.begin()
	p.index.begin()
}

// Flush implements [commit.Part].
func (p *part) Flush(t *commit.Tx) error {
	if err := p.receipts.write(t); err != nil {
		return err
	}
	if err := p.judge(t); err != nil {
		return err
	}
	if err := p.insertions.add(t, p.insertions.accepted); err != nil {
		return err
	}
	if err := p.transitions.write(t, p.changes); err != nil {
		return err
	}
	p.index.write(t)
	p.flights.drop(t)
	return nil
}

// Committed implements [commit.Part].
func (p *part) Committed() {
	p.flights.committed()
	p.index.committed()
	p.waiting.committed()
}

// judge asks the gate about the claims. A contact that it does not let pass ends or waits
// instead; one that passes has a receipt.
func (p *part) judge(t *commit.Tx) error {
	var claims []*weir.Contact
	for i := range p.insertions.accepted {
		if c := &p.insertions.accepted[i].Contact; c.State == weir.Sending {
			claims = append(claims, c)
		}
	}
	accepted := len(claims)
	for _, c := range p.changes.list {
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
	for _, c := range p.changes.list {
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
