package contacts

import (
	"context"
	"time"

	"weir"
	"weir/persistence/commit"
)

// Queue accepts contacts and moves them from state to state, in batches of the writer.
type Queue struct {
	*commit.DB
	part    *part
	flights *flights
	waiting *waiting
	index   *channelIndex // nil: the database has one
}

// InFlightNow returns how many contacts of a channel are in flight, as they were committed
// last. It is for the writer's goroutine.
func (s *Queue) InFlightNow(channel weir.ChannelID) int { return len(s.flights.channels[channel]) }

var (
	_ weir.Accepter  = (*Queue)(nil)
	_ weir.Committer = (*Queue)(nil)
)

// Part writes what the contacts of batches add up to.
func (s *Queue) Part() commit.Part { return s.part }

// InsertContacts inserts contacts in the batch of a work of another package, and
// reports the result of each.
func (s *Queue) InsertContacts(t *commit.Tx, list []Insertion) error {
	return s.part.insertions.add(t, list)
}

// InsertClaimed inserts contacts that are claimed, once all claims of the batch were judged. None has a key that is taken,
// as far as the try knows: it is an optimistic one.
func (s *Queue) InsertClaimed(list []Insertion) {
	s.part.insertions.accepted = append(s.part.insertions.accepted, list...)
}

// Accept implements [weir.Accepter].
func (s *Queue) Accept(ctx context.Context, channel weir.ChannelID, specs []weir.Spec) ([]weir.Accepted, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	a, err := s.NewAcceptance(ctx, channel, specs)
	if err != nil {
		return nil, err
	}
	a.Submit(weir.Claims{})
	return a.Wait()
}

// NewAcceptance implements [weir.Accepter].
func (s *Queue) NewAcceptance(ctx context.Context, channel weir.ChannelID, specs []weir.Spec) (weir.Acceptance, error) {
	var mistakes []weir.FieldError
	for i := range specs {
		mistakes = append(mistakes, CheckSpec(i, &specs[i])...)
	}
	if len(mistakes) > 0 {
		return nil, &weir.Error{Code: weir.CodeInvalid, Message: "contacts cannot be stored", Fields: mistakes}
	}
	a := &acceptance{into: s.part.insertions, channel: channel, specs: specs}
	r := &commit.Request{Channels: []weir.ChannelID{channel}, Work: a, Rows: len(specs), Answer: a.done}
	for i := range specs {
		r.Bytes += SpecBytes(&specs[i])
	}
	var err error
	if a.call, err = s.NewCall(ctx, r); err != nil {
		return nil, err
	}
	return a, nil
}

// Commit implements [weir.Committer]. done is called on the writer's
// goroutine and must not wait for anything.
func (s *Queue) Commit(c weir.Change, done func(weir.CommitResult)) {
	w := &change{batch: s.part.changes, Change: c}
	r := &commit.Request{
		Channels: []weir.ChannelID{c.By.Channel}, Transitions: c.Transitions, Work: w, Rows: len(c.Transitions),
		Answer: func(err error) { done(weir.CommitResult{Err: err, Stale: w.stale, Judged: w.judgedClaims()}) },
	}
	for i := range c.Transitions {
		p := &c.Transitions[i].Contact.Progress
		r.Bytes += 250 + len(p.ProviderRef) + len(p.Parts) + len(p.Reason)
	}
	if canWait(&c) {
		r.Until = time.Now().Add(maxDelay)
	}
	if err := s.Submit(r); err != nil {
		go done(weir.CommitResult{Err: err})
	}
}

// maxDelay is how long a change without a waiting caller may wait for others, with
// which it costs next to nothing. It is shorter than what follows it: a provider
// seldom reports in that time, and its report is one to go with.
const maxDelay = 5 * time.Millisecond

// canWait reports whether a change only records that providers have accepted
// contacts. A caller that waits for it all the same, because a provider reported the
// contact before it answered, waits a moment longer.
func canWait(c *weir.Change) bool {
	for i := range c.Transitions {
		if t := &c.Transitions[i]; t.Was != weir.Sending || t.Contact.State != weir.Active {
			return false
		}
	}
	return len(c.Transitions) > 0
}
