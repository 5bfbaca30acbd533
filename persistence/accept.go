package persistence

import (
	"context"
	"fmt"
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
	got, err := s.await(ctx, func(answer func(outcome)) *request {
		return newAcceptance(ctx, channel, specs, answer)
	})
	if err != nil {
		return nil, err
	}
	return got.accepted, nil
}

// await hands the writer a request and waits for the answer.
func (s *Store) await(ctx context.Context, build func(func(outcome)) *request) (outcome, error) {
	if s.writer.down.Load() {
		return outcome{}, unavailable("the store is down", nil)
	}
	answered := make(chan outcome, 1)
	if err := s.writer.hand(build(func(o outcome) { answered <- o })); err != nil {
		return outcome{}, unavailable("the store takes nothing", err)
	}
	select {
	case o := <-answered:
		return o, o.err
	case <-ctx.Done():
		return outcome{}, unavailable("it is not known whether this was stored", ctx.Err())
	}
}

// insertion is one spec on its way into contacts.
type insertion struct {
	request *request
	index   int
	contact weir.Contact
}

// accept inserts the contacts of all acceptances at once. Where a key is taken
// the row that has it stays, and is looked up afterwards.
func (t *transaction) accept() error {
	var list []insertion
	var args []any
	for _, r := range t.b.requests {
		if r.specs == nil || !t.admitAcceptance(r) {
			continue
		}
		t.giveIDs(r)
		r.outcome.accepted = make([]weir.Accepted, len(r.specs))
		for i := range r.specs {
			ref := weir.Ref{Channel: r.channel, ID: weir.ContactID(r.ids[i])}
			c, values, err := newContact(ref, r.specs[i], r.at)
			if err != nil {
				return err
			}
			r.outcome.accepted[i].Contact = c
			list = append(list, insertion{r, i, c})
			args = append(args, values...)
		}
	}
	if len(list) == 0 {
		return nil
	}
	inserted, err := t.insertContacts(args, len(list))
	if err != nil {
		return err
	}
	if inserted != int64(len(list)) {
		if err := t.findDuplicates(list, inserted); err != nil {
			return err
		}
	}
	t.countAccepted()
	return nil
}

func (t *transaction) admitAcceptance(r *request) bool {
	switch state := t.states[r.channel]; {
	case state.ID == 0, state.Deleted:
		r.outcome.err = weir.Errorf(weir.CodeNotFound, "no such channel")
	case state.Deleting:
		r.outcome.err = weir.Errorf(weir.CodeConflict, "the channel is being deleted")
	}
	return r.outcome.err == nil
}

func (t *transaction) giveIDs(r *request) {
	if r.ids != nil {
		return
	}
	r.at = time.Now()
	r.ids = make([]int64, len(r.specs))
	for i := range r.ids {
		r.ids[i] = t.w.s.ids.next(r.at)
	}
}

// insertContacts inserts rows in statements of bounded size and says how many
// went in. Where statements are prepared their sizes are powers of two, so
// that there are few texts.
func (t *transaction) insertContacts(args []any, rows int) (int64, error) {
	width := len(args) / rows
	var inserted int64
	for rows > 0 {
		n := t.insertSize(args, rows, width)
		text := t.w.s.text.insertContacts + rowsOf(n, width) + t.w.s.text.keepContact
		got, err := t.exec(text, args[:n*width]...)
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
			keys[in.request.channel] = append(keys[in.request.channel], in.contact.Key)
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
				holders[key{channel, c.Key}] = c
			}
			names = names[n:]
		}
	}
	fresh := int64(0)
	for _, in := range list {
		holder, ok := holders[key{in.request.channel, in.contact.Key}]
		if in.contact.Key == "" || ok && holder.ID == in.contact.ID {
			fresh++
			continue
		}
		if !ok {
			return fmt.Errorf("a contact of channel %d was refused and its key is free", in.request.channel)
		}
		in.request.outcome.accepted[in.index] = weir.Accepted{Contact: holder, Duplicate: true}
	}
	if fresh != inserted {
		return fmt.Errorf("%d contacts went in, %d were found", inserted, fresh)
	}
	return nil
}

// countAccepted counts what went in, and wakes owners elsewhere.
func (t *transaction) countAccepted() {
	for _, r := range t.b.requests {
		fresh := int64(0)
		for i := range r.outcome.accepted {
			if !r.outcome.accepted[i].Duplicate {
				fresh++
			}
		}
		if fresh == 0 {
			continue
		}
		t.counts[r.channel] += fresh
		if state := t.states[r.channel]; state.Live && state.Owner != "" && state.Owner != t.w.s.owner {
			t.wakes = append(t.wakes, r.channel)
		}
	}
}
