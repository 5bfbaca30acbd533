package contacts

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/channels"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
)

// Purger deletes what is older than the retention.
type Purger struct {
	*commit.DB
	channels *channels.Store
	contacts *Reader
}

// Purge deletes contacts that were done before an instant, with their
// attempts, and messages received before it, at most limit of both; then
// deleted channels that have nothing left. It returns how many contacts and
// messages it deleted; fewer than limit means that nothing of that age is
// left.
func (s *Purger) Purge(ctx context.Context, before time.Time, limit int) (int, error) {
	channels, err := s.channels.All(ctx)
	if err != nil {
		return 0, err
	}
	due, err := s.due(ctx, before)
	if err != nil {
		return 0, s.Failure("purge", err)
	}
	total := 0
	for i := range channels {
		for _, chunk := range []func(context.Context, weir.ChannelID, time.Time, int) (int, error){s.purgeContacts, s.purgeIncoming} {
			for due[channels[i].ID] && total < limit {
				want := min(columns.PurgeChunk, limit-total)
				n, err := chunk(ctx, channels[i].ID, before, want)
				if err != nil {
					return total, s.Failure("purge", err)
				}
				total += n
				if n < want {
					break
				}
			}
		}
		if channels[i].Deleted {
			if err := s.channels.PurgeChannel(ctx, channels[i].ID); err != nil {
				return total, s.Failure("purge a channel", err)
			}
		}
	}
	return total, nil
}

// due returns the channels from which a purge has something to delete. It takes one statement for
// all of them: most of the time there is none.
func (s *Purger) due(ctx context.Context, before time.Time) (map[weir.ChannelID]bool, error) {
	at, ends := columns.Micros(before), "contacts_done"
	var list []weir.ChannelID
	if s.contacts.index.inUse() {
		ends = "contacts_by_end"
		// Before the table is read: a batch may move ends from memory to it meanwhile.
		list = s.contacts.index.endedBefore(at)
	}
	var rows []weir.ChannelID
	err := s.Read.SelectContext(ctx, &rows, purgeDueSQL(ends), at, at)
	due := map[weir.ChannelID]bool{}
	for _, id := range append(list, rows...) {
		due[id] = true
	}
	return due, err
}

// purgeDueSQL finds the channels whose first end, or first message, is from before an instant. EXISTS
// would leave it to the database whether it reads all ends at once.
func purgeDueSQL(ends string) string {
	return "SELECT c.id FROM channels c WHERE (SELECT d.finished_at FROM " + ends + " d WHERE d.channel_id = c.id ORDER BY d.finished_at LIMIT 1) < ? " +
		"OR (SELECT i.received_at FROM incoming i WHERE i.channel_id = c.id ORDER BY i.id LIMIT 1) < ?"
}

const purgeSQL = "SELECT id, finished_at AS pos FROM contacts_done WHERE channel_id = ? AND finished_at < ? ORDER BY finished_at LIMIT ?"

// purgeContacts deletes the contacts that finished first.
func (s *Purger) purgeContacts(ctx context.Context, channel weir.ChannelID, before time.Time, limit int) (int, error) {
	n := 0
	err := s.deleting(ctx, channel, func(tx *sqlx.Tx) (list []keyset, err error) {
		list, err = s.endedBefore(ctx, tx, channel, columns.Micros(before), limit)
		n = len(list)
		return list, err
	})
	return n, err
}

// endedBefore lists the contacts that finished first, before an instant.
func (s *Purger) endedBefore(ctx context.Context, tx *sqlx.Tx, channel weir.ChannelID, before int64, limit int) (list []keyset, err error) {
	if !s.contacts.index.inUse() {
		return list, tx.SelectContext(ctx, &list, purgeSQL, int64(channel), before, limit)
	}
	places, err := s.contacts.ends(ctx, tx, int64(channel), place{ID: math.MinInt64, Pos: math.MinInt64}, math.MinInt64, before, false, limit)
	for _, p := range places {
		list = append(list, keyset{p.Pos, p.ID})
	}
	return list, err
}

// deleting deletes the contacts that find returns, which are done, in its transaction.
func (s *Purger) deleting(ctx context.Context, channel weir.ChannelID, find func(*sqlx.Tx) ([]keyset, error)) error {
	var list []keyset
	err := s.Transaction(ctx, func(tx *sqlx.Tx) (err error) {
		if list, err = find(tx); err != nil || len(list) == 0 {
			return err
		}
		return s.deleteDone(ctx, tx, channel, list)
	})
	if err != nil && s.contacts.index != nil {
		s.contacts.index.restored(channel, list)
	}
	return err
}

// deleteDone deletes contacts that are done, and what goes with them.
func (s *Purger) deleteDone(ctx context.Context, tx *sqlx.Tx, channel weir.ChannelID, list []keyset) error {
	args, ends := []any{int64(channel)}, []any{int64(channel)}
	for _, e := range list {
		args, ends = append(args, e.ID), append(ends, e.Pos, e.ID)
	}
	tables := []string{"contacts_done", "contacts"}
	if s.contacts.index != nil {
		tables = append(tables, "contacts_by_channel")
		if _, err := tx.ExecContext(ctx, dropEnds(len(list)), ends...); err != nil {
			return err
		}
		defer s.contacts.index.removed(channel, list)
	}
	texts := dropWith(&s.Dialect, len(list))
	for _, table := range tables {
		texts = append(texts, "DELETE FROM "+table+" WHERE channel_id = ? AND id IN "+columns.Marks(len(list)))
	}
	for _, text := range texts {
		if _, err := tx.ExecContext(ctx, text, args...); err != nil {
			return err
		}
	}
	return nil
}

var _ weir.Eraser = (*Purger)(nil)

// DeleteContacts implements [weir.Eraser].
func (s *Purger) DeleteContacts(ctx context.Context, contacts []weir.Ref) (int, error) {
	byChannel := map[weir.ChannelID][]any{}
	for _, ref := range contacts {
		byChannel[ref.Channel] = append(byChannel[ref.Channel], int64(ref.ID))
	}
	total := 0
	for channel, all := range byChannel {
		for ids := range slices.Chunk(all, columns.KeysPerList) {
			n := 0
			err := s.deleting(ctx, channel, func(tx *sqlx.Tx) (list []keyset, err error) {
				err = tx.SelectContext(ctx, &list, doneSQL+columns.Marks(len(ids))+s.Dialect.ForUpdate, append([]any{int64(channel)}, ids...)...)
				n = len(list)
				return list, err
			})
			if err != nil {
				return total, s.Failure("erase", err)
			}
			total += n
		}
	}
	return total, nil
}

// EraseIncoming implements [weir.Eraser].
func (s *Purger) EraseIncoming(ctx context.Context, messages []weir.Received) (int, error) {
	byChannel := map[weir.ChannelID][]any{}
	for i := range messages {
		byChannel[messages[i].Channel] = append(byChannel[messages[i].Channel], messages[i].ID)
	}
	return s.eachPart(ctx, byChannel, func(tx *sqlx.Tx, channel weir.ChannelID, ids []any) (int, error) {
		var rows []incomingRow
		err := tx.SelectContext(ctx, &rows, readIncoming+notErased+" AND channel_id = ? AND id IN "+columns.Marks(len(ids))+s.Dialect.ForUpdate, append([]any{int64(channel)}, ids...)...)
		for i := range rows {
			if err == nil {
				err = eraseMessage(ctx, tx, &rows[i])
			}
		}
		return len(rows), err
	})
}

// eachPart calls a function for some ids of a channel at a time, each in a transaction, and
// returns the sum of the results.
func (s *Purger) eachPart(ctx context.Context, byChannel map[weir.ChannelID][]any, step func(*sqlx.Tx, weir.ChannelID, []any) (int, error)) (total int, _ error) {
	for channel, all := range byChannel {
		for ids := range slices.Chunk(all, columns.KeysPerList) {
			n := 0
			err := s.Transaction(ctx, func(tx *sqlx.Tx) (err error) {
				n, err = step(tx, channel, ids)
				return err
			})
			if err != nil {
				return total, s.Failure("erase", err)
			}
			total += n
		}
	}
	return total, nil
}

// dropEnds deletes contacts from the index by channel.
func dropEnds(contacts int) string {
	return "DELETE FROM contacts_by_end WHERE channel_id = ? AND (finished_at, id) IN (VALUES " + columns.RowsOf(contacts, 2) + ")"
}

// dropWith deletes what goes with contacts.
func dropWith(d *dialect.Statements, contacts int) []string {
	which := " WHERE channel_id = ? AND contact_id IN " + columns.Marks(contacts)
	return []string{"DELETE FROM attempts" + which, "DELETE FROM attempt_receipts" + which, "DELETE FROM requeues" + which, dropDead(d, contacts)}
}

// purgeIncoming takes the oldest by id, which is in the order of arrival.
func (s *Purger) purgeIncoming(ctx context.Context, channel weir.ChannelID, before time.Time, limit int) (int, error) {
	var list []any
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		list = nil
		var rows []struct {
			ID         int64 `db:"id"`
			ReceivedAt int64 `db:"received_at"`
		}
		err := tx.SelectContext(ctx, &rows, "SELECT id, received_at FROM incoming WHERE channel_id = ? ORDER BY id LIMIT ?", int64(channel), limit)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.ReceivedAt < columns.Micros(before) {
				list = append(list, r.ID)
			}
		}
		if len(list) == 0 {
			return nil
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM incoming WHERE channel_id = ? AND id IN "+columns.Marks(len(list)), append([]any{int64(channel)}, list...)...)
		return err
	})
	return len(list), err
}
