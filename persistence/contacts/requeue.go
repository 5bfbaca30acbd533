package contacts

import (
	"context"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/operators"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/multirow"
)

// requeueWork makes new contacts of dead letters. What is no dead letter when
// it is written is passed over: asked for twice, or by two at once, each is made
// once.
type requeueWork struct {
	s       *DeadLetterStore
	channel weir.ChannelID
	old     []weir.ContactID
	token   string

	accepted []weir.Accepted // zero where one is skipped
	closed   int
}

// Write implements [commit.Work].
func (w *requeueWork) Write(t *commit.Tx, r *commit.Request) error {
	if err := t.Admits(w.channel); err != nil {
		r.Refuse(err)
		return nil
	}
	t.GiveIDs(r, len(w.old))
	olds, err := w.dead(t)
	if err != nil {
		return err
	}
	w.closed = 0
	var list []Insertion
	var gone, links []any
	w.accepted = make([]weir.Accepted, len(w.old))
	for i, id := range w.old {
		c, ok := olds[id]
		if !ok {
			continue
		}
		delete(olds, id) // named twice
		spec := c.Spec
		if !spec.NotAfter.IsZero() && !t.Now.Before(spec.NotAfter) {
			w.closed++
			continue
		}
		spec.Key = operators.RequeueKey(c.Ref)
		fresh := NewContact(weir.Ref{Channel: w.channel, ID: weir.ContactID(r.IDs[i])}, spec, r.At)
		list = append(list, Insertion{Contact: fresh, Into: &w.accepted[i]})
		gone = append(gone, int64(id))
	}
	if len(list) == 0 {
		return nil
	}
	if err := w.s.insertions.add(t, list); err != nil {
		return err
	}
	for i := range list {
		links = append(links, int64(w.channel), gone[i], int64(list[i].Into.Contact.ID), columns.Micros(r.At), w.token)
	}
	text := "INSERT INTO requeues (channel_id, contact_id, new_id, at, token) VALUES "
	if _, err := multirow.InsertCounted(t, text, w.s.Dialect.Merge("channel_id", "contact_id")+"new_id = "+w.s.Dialect.Fresh("new_id"), links, len(list)); err != nil {
		return err
	}
	t.AddOnce(dropDead(&w.s.Dialect, len(gone)), append([]any{int64(w.channel)}, gone...)...)
	return nil
}

const heldDeadSQL = "SELECT contact_id FROM dead_letters WHERE channel_id = ? AND contact_id IN "

// dead reads the contacts that are dead letters, and holds these.
func (w *requeueWork) dead(t *commit.Tx) (map[weir.ContactID]weir.Contact, error) {
	args := make([]any, 1, len(w.old)+1)
	args[0] = int64(w.channel)
	for _, id := range w.old {
		args = append(args, int64(id))
	}
	var found []int64
	err := t.SelectContext(t.Ctx, &found, heldDeadSQL+columns.Marks(len(w.old))+w.s.Dialect.ForUpdate, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	rows, err := w.s.contacts.readContacts(t.Ctx, t, byIDs(len(found)), append(args[:1:1], columns.Arguments(found)...))
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

// Requeue implements [operators.DeadLetterStore]. If a contact has the key of a new
// one, it is returned instead, as in every acceptance.
func (s *DeadLetterStore) Requeue(ctx context.Context, channel weir.ChannelID, list []weir.ContactID, token string) (operators.Requeued, error) {
	if len(list) == 0 {
		return operators.Requeued{}, nil
	}
	w := &requeueWork{s: s, channel: channel, old: list, token: token}
	err := s.Await(ctx, &commit.Request{Channels: []weir.ChannelID{channel}, Work: w, Rows: len(list), Bytes: 700 * len(list)})
	if err != nil {
		return operators.Requeued{}, err
	}
	out := operators.Requeued{Closed: w.closed}
	for i := range w.accepted {
		if a := &w.accepted[i]; a.Contact.ID != 0 && !a.Duplicate {
			out.Contacts = append(out.Contacts, a.Contact)
		}
	}
	return out, nil
}

// Discard implements [operators.DeadLetterStore].
func (s *DeadLetterStore) Discard(ctx context.Context, channel weir.ChannelID, list []weir.ContactID) (int, error) {
	if len(list) == 0 {
		return 0, nil
	}
	args := []any{int64(channel)}
	for _, id := range list {
		args = append(args, int64(id))
	}
	var n int64
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		result, err := tx.ExecContext(ctx, dropDead(&s.Dialect, len(list)), args...)
		if err == nil {
			n, err = result.RowsAffected()
		}
		return err
	})
	if err != nil { // whatever was counted, it is unknown whether it was committed
		return 0, s.Failure("discard dead letters", err)
	}
	return int(n), nil
}
