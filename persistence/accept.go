package persistence

import (
	"context"
	"fmt"
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
		t.giveIDs(r, len(r.specs))
		r.outcome.accepted = make([]weir.Accepted, len(r.specs))
		for i := range r.specs {
			ref := weir.Ref{Channel: r.channel, ID: weir.ContactID(r.ids[i])}
			list = append(list, insertion{newContact(ref, r.specs[i], r.at), &r.outcome.accepted[i]})
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

// findDuplicates looks up who has the keys and marks the specs that came too
// late. Ids are ours alone, so that a spec without a key is always new.
func (t *transaction) findDuplicates(list []insertion, inserted int64) error {
	keys := map[weir.ChannelID][]any{}
	for _, in := range list {
		if in.contact.Key != "" {
			keys[in.contact.Channel] = append(keys[in.contact.Channel], in.contact.Key)
		}
	}
	type key struct {
		channel weir.ChannelID
		key     string
	}
	holders := map[key]weir.Contact{}
	for channel, names := range keys {
		for len(names) > 0 {
			n := min(len(names), 500)
			var rows []contactRow
			err := t.tx.SelectContext(t.w.ctx, &rows, "SELECT "+contactColumns+" FROM contacts WHERE channel_id = ? AND ckey IN "+marks(n),
				append([]any{int64(channel)}, names[:n]...)...)
			if err != nil {
				return err
			}
			found, err := contacts(rows)
			if err != nil {
				return err
			}
			for _, c := range found {
				if e, ok := t.w.journal.entries[c.Ref]; ok && e.progress.Rev > c.Rev {
					c.Progress = e.progress
				}
				holders[key{channel, c.Key}] = c
			}
			names = names[n:]
		}
	}
	fresh := int64(0)
	for _, in := range list {
		holder, ok := holders[key{in.contact.Channel, in.contact.Key}]
		if in.contact.Key == "" || ok && holder.ID == in.contact.ID {
			fresh++
			continue
		}
		if !ok {
			return fmt.Errorf("a contact of channel %d was refused and its key is free", in.contact.Channel)
		}
		*in.into = weir.Accepted{Contact: holder, Duplicate: true}
	}
	if fresh != inserted {
		return fmt.Errorf("%d contacts went in, %d were found", inserted, fresh)
	}
	return nil
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
