package persistence

import (
	"context"
	"slices"
	"time"

	"weir"
)

// Accept implements [weir.Accepter].
func (s *Store) Accept(ctx context.Context, channel weir.ChannelID, specs []weir.Spec) ([]weir.Accepted, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	var mistakes []weir.FieldError
	for i := range specs {
		mistakes = append(mistakes, checkSpec(i, &specs[i])...)
	}
	if len(mistakes) > 0 {
		return nil, &weir.Error{Code: weir.CodeInvalid, Message: "contacts cannot be stored", Fields: mistakes}
	}
	got, err := s.await(ctx, func(ctx context.Context, answer func(outcome)) *request {
		return newAcceptance(ctx, channel, specs, answer)
	})
	if err != nil {
		return nil, err
	}
	return got.accepted, nil
}

// patience is how long a caller waits for a store that went down after it had
// handed its request over.
const patience = 2 * time.Second

// await hands the writer a request and waits for the answer. Once the store is
// down it does not wait for its return: the request is taken back, unless its
// COMMIT was sent.
func (s *Store) await(ctx context.Context, build func(context.Context, func(outcome)) *request) (outcome, error) {
	if s.writer.down.Load() {
		return outcome{}, unavailable("the store is down", nil)
	}
	ctx, takeBack := context.WithCancel(ctx)
	defer takeBack()
	answered := make(chan outcome, 1)
	if err := s.writer.hand(build(ctx, func(o outcome) { answered <- o })); err != nil {
		return outcome{}, unavailable("the store takes nothing", err)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case o := <-answered:
			return o, o.err
		case <-ctx.Done():
			return outcome{}, unavailable("it is not known whether this was stored", ctx.Err())
		case <-late.C:
			if s.writer.down.Load() {
				return outcome{}, unavailable("the store is down; it is not known whether this was stored", nil)
			}
			late.Reset(patience)
		}
	}
}

// accept inserts the contacts of all acceptances at once.
func (t *transaction) accept() error {
	var list []insertion
	for _, r := range t.b.requests {
		if r.specs == nil {
			continue
		}
		if r.outcome.err = t.admits(r.channel); r.outcome.err != nil {
			continue
		}
		if r.refusal != nil {
			r.outcome.err = r.refusal
			continue
		}
		t.giveIDs(r, len(r.specs))
		r.outcome.accepted = make([]weir.Accepted, len(r.specs))
		for i := range r.specs {
			ref := weir.Ref{Channel: r.channel, ID: weir.ContactID(r.ids[i])}
			list = append(list, insertion{contact: newContact(ref, r.specs[i], r.at), into: &r.outcome.accepted[i], from: r, index: i})
		}
	}
	return t.insertContacts(list)
}

// insertContacts inserts contacts, says what became of each, counts what went
// in, and wakes owners elsewhere. Where a key is taken the row that has it
// stays, and is looked up afterwards.
func (t *transaction) insertContacts(list []insertion) error {
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		list[i].into.Contact = list[i].contact
	}
	inserted, err := t.insert(list)
	if err != nil {
		return err
	}
	if inserted != int64(len(list)) {
		if err := t.findDuplicates(list, inserted); err != nil {
			return err
		}
	}
	t.countAccepted(list)
	for i := range list {
		if c := &list[i].contact; c.State == weir.Queued && !list[i].into.Duplicate {
			t.b.wrote.fresh = append(t.b.wrote.fresh, c.Ref)
		}
	}
	return nil
}

// admits tells whether a channel takes contacts.
func (t *transaction) admits(channel weir.ChannelID) error {
	switch state := t.states[channel]; {
	case state.ID == 0, state.Deleted:
		return weir.Errorf(weir.CodeNotFound, "no such channel")
	case state.Deleting:
		return weir.Errorf(weir.CodeConflict, "the channel is being deleted")
	}
	return nil
}

// giveIDs gives a request n ids at its first try.
func (t *transaction) giveIDs(r *request, n int) {
	if r.ids != nil {
		return
	}
	r.at = time.Now()
	r.ids = make([]int64, n)
	for i := range r.ids {
		r.ids[i] = t.w.s.ids.next(r.at)
	}
}

// insertRows inserts rows in statements of bounded size and says how many
// went in. Where statements are prepared their sizes are powers of two, so
// that there are few texts.
func (t *transaction) insertRows(prefix, suffix string, args []any, rows int) (int64, error) {
	width := len(args) / rows
	var inserted int64
	for rows > 0 {
		n := t.insertSize(args, rows, width)
		got, err := t.exec(prefix+rowsOf(n, width)+suffix, args[:n*width]...)
		if err != nil {
			return 0, err
		}
		inserted += got
		args, rows = args[n*width:], rows-n
	}
	return inserted, nil
}

func (t *transaction) insertSize(args []any, rows, width int) int {
	if t.w.s.sql.Prepare {
		n := 256
		for n > rows {
			n /= 2
		}
		return n
	}
	bytes := 0
	for i := range rows {
		for _, a := range args[i*width : (i+1)*width] {
			if s, ok := a.(string); ok {
				bytes += len(s)
			}
		}
		if bytes > maxBytes && i > 0 {
			return i
		}
	}
	return rows
}

// countAccepted counts what went in, and wakes owners elsewhere.
func (t *transaction) countAccepted(list []insertion) {
	for _, in := range list {
		if in.into.Duplicate {
			continue
		}
		channel := in.contact.Channel
		t.counts[channel]++
		state := t.states[channel]
		if state.Live && state.Owner != "" && state.Owner != t.w.s.owner && !slices.Contains(t.wakes, channel) {
			t.wakes = append(t.wakes, channel)
		}
	}
}
