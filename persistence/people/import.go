package people

import (
	"bytes"
	"context"
	"slices"

	"weir/people"
	"weir/persistence/commit"
)

// importPart is how many consents of a long list one request has: so few that claims hardly wait
// for them.
const importPart = 1000

// ImportConsents implements [people.Store]. Rows of people lie in the order of their hashes. A list
// in another order changes a page for each row, and SQLite writes whole pages; of a long list that
// is in this order, many rows share one. While a part is being committed, the next one waits.
func (s *consentStore) ImportConsents(ctx context.Context, list []people.Consent) ([]people.State, error) {
	if err := s.opened(); err != nil {
		return nil, err
	}
	states := make([]people.State, len(list))
	var before func() error // waits for the part before
	var failed error
	for _, at := range s.parts(list) {
		var wait func() error
		if wait, failed = s.submitPart(ctx, list, at, states); failed != nil {
			break
		}
		if before != nil {
			failed = before()
		}
		if before = wait; failed != nil {
			break
		}
	}
	if before != nil {
		if err := before(); failed == nil {
			failed = err
		}
	}
	return states, failed
}

// parts returns the places of consents in the order of their people's hashes; those of one person
// in the order of the list, and all in one part: so none is recorded without those before it.
func (s *consentStore) parts(list []people.Consent) (parts [][]int) {
	hashes, order := make([]people.Hash, len(list)), make([]int, len(list))
	for i := range list {
		hashes[i], order[i] = s.keys[0].Hash(list[i].Address), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return bytes.Compare(hashes[a][:], hashes[b][:]) })
	for len(order) > 0 {
		n := min(importPart, len(order))
		for n < len(order) && hashes[order[n]] == hashes[order[n-1]] {
			n++
		}
		parts, order = append(parts, order[:n]), order[n:]
	}
	return parts
}

// submitPart submits the consents at some places to the writer. The function that it returns waits
// for the answer, and notes the states.
func (s *consentStore) submitPart(ctx context.Context, list []people.Consent, at []int, states []people.State) (wait func() error, err error) {
	w := &record{s: s, list: make([]people.Consent, len(at))}
	for i, place := range at {
		w.list[i] = list[place]
	}
	call, err := s.NewCall(ctx, w.request())
	if err != nil {
		return nil, err
	}
	call.Submit(nil)
	return func() error {
		if err := call.Wait(); err != nil {
			return err
		}
		for i, place := range at {
			states[place] = w.states[i]
		}
		return nil
	}, nil
}

// request is the request of a record.
func (w *record) request() *commit.Request {
	return &commit.Request{Work: w, Rows: len(w.list) / 2, Bytes: 400 * len(w.list)}
}
