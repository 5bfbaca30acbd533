package persistence

import (
	"context"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/ops"
)

// requeueWork makes new contacts of dead letters. What is no dead letter when
// it is written is passed over: asked for twice, or by two at once, each is made
// once.
type requeueWork struct {
	channel weir.ChannelID
	old     []weir.ContactID
	token   string
	closed  int
}

// channels implements enqueuer.
func (w *requeueWork) channels() []weir.ChannelID { return []weir.ChannelID{w.channel} }

// write implements work.
func (w *requeueWork) write(t *transaction, r *request) error {
	if w.refused(t, r) {
		return nil
	}
	t.giveIDs(r, len(w.old))
	olds, err := w.dead(t)
	if err != nil {
		return err
	}
	w.closed = 0
	var list []insertion
	var gone, links []any
	r.outcome.accepted = make([]weir.Accepted, len(w.old)) // zero where one is skipped
	for i, id := range w.old {
		c, ok := olds[id]
		if !ok {
			continue
		}
		delete(olds, id) // named twice
		spec := c.Spec
		if !spec.NotAfter.IsZero() && !t.now.Before(spec.NotAfter) {
			w.closed++
			continue
		}
		spec.Key = ops.RequeueKey(c.Ref)
		fresh := newContact(weir.Ref{Channel: w.channel, ID: weir.ContactID(r.ids[i])}, spec, r.at)
		list = append(list, insertion{contact: fresh, into: &r.outcome.accepted[i]})
		gone = append(gone, int64(id))
	}
	if len(list) == 0 {
		return nil
	}
	if err := t.insertContacts(list); err != nil {
		return err
	}
	for i := range list {
		links = append(links, int64(w.channel), gone[i], int64(list[i].into.Contact.ID), micros(r.at), w.token)
	}
	text := "INSERT INTO requeues (channel_id, contact_id, new_id, at, token) VALUES "
	if _, err := t.insertRows(text, t.w.s.sql.Merge("channel_id", "contact_id")+"new_id = "+t.w.s.sql.Fresh("new_id"), links, len(list)); err != nil {
		return err
	}
	_, err = t.tx.ExecContext(t.w.ctx, t.w.s.dropDead(len(gone)), append([]any{int64(w.channel)}, gone...)...)
	return err
}

// refused reports whether the channel accepts no contacts, and answers so.
func (w *requeueWork) refused(t *transaction, r *request) bool {
	r.outcome.err = t.admits(w.channel)
	return r.outcome.err != nil
}

const heldDeadSQL = "SELECT contact_id FROM dead_letters WHERE channel_id = ? AND contact_id IN "

// dead reads the contacts that are dead letters, and holds these.
func (w *requeueWork) dead(t *transaction) (map[weir.ContactID]weir.Contact, error) {
	args := make([]any, 1, len(w.old)+1)
	args[0] = int64(w.channel)
	for _, id := range w.old {
		args = append(args, int64(id))
	}
	var found []int64
	err := t.tx.SelectContext(t.w.ctx, &found, heldDeadSQL+marks(len(w.old))+t.w.s.sql.ForUpdate, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	rows, err := t.w.s.readContacts(t.w.ctx, t.tx, byIDs(len(found)), append(args[:1:1], arguments(found)...))
	if err != nil {
		return nil, err
	}
	list, err := contacts(rows)
	out := make(map[weir.ContactID]weir.Contact, len(list))
	for i := range list {
		out[list[i].ID] = list[i]
	}
	return out, err
}

// Requeue implements [ops.DeadLetterStore]. A contact that has the key of a new one
// already stands in its place, as in every acceptance.
func (s *Store) Requeue(ctx context.Context, channel weir.ChannelID, list []weir.ContactID, token string) (ops.Requeued, error) {
	if len(list) == 0 {
		return ops.Requeued{}, nil
	}
	w := &requeueWork{channel: channel, old: list, token: token}
	got, err := s.await(ctx, func(ctx context.Context, answer func(outcome)) *request {
		return newWork(ctx, w, len(list), 700*len(list), answer)
	})
	if err != nil {
		return ops.Requeued{}, err
	}
	out := ops.Requeued{Closed: w.closed}
	for i := range got.accepted {
		if a := &got.accepted[i]; a.Contact.ID != 0 && !a.Duplicate {
			out.Contacts = append(out.Contacts, a.Contact)
		}
	}
	return out, nil
}

// Discard implements [ops.DeadLetterStore].
func (s *Store) Discard(ctx context.Context, channel weir.ChannelID, list []weir.ContactID) (int, error) {
	if len(list) == 0 {
		return 0, nil
	}
	args := []any{int64(channel)}
	for _, id := range list {
		args = append(args, int64(id))
	}
	var n int64
	err := s.transaction(ctx, func(tx *sqlx.Tx) error {
		result, err := tx.ExecContext(ctx, s.dropDead(len(list)), args...)
		if err == nil {
			n, err = result.RowsAffected()
		}
		return err
	})
	if err != nil { // whatever was counted, it is unknown whether it was committed
		return 0, s.failure("discard dead letters", err)
	}
	return int(n), nil
}
