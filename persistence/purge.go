package persistence

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
)

// purgeChunk is how many rows one transaction of a purge deletes.
const purgeChunk = 500

// Purge deletes contacts that were done before an instant, with their
// attempts, and messages received before it, at most limit of both; then
// deleted channels that have nothing left. It returns how many contacts and
// messages it deleted; fewer than limit means that nothing of that age is
// left.
func (s *Store) Purge(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := s.recoverGone(ctx); err != nil {
		return 0, s.failure("recover contacts in flight", err)
	}
	if err := s.forgetElsewhere(ctx); err != nil {
		return 0, s.failure("forget contacts of other processes", err)
	}
	channels, err := s.channels(ctx, "ORDER BY id")
	if err != nil {
		return 0, err
	}
	total := 0
	for i := range channels {
		for _, chunk := range []func(context.Context, weir.ChannelID, time.Time, int) (int, error){s.purgeContacts, s.purgeIncoming} {
			for total < limit {
				want := min(purgeChunk, limit-total)
				n, err := chunk(ctx, channels[i].ID, before, want)
				if err != nil {
					return total, s.failure("purge", err)
				}
				total += n
				if n < want {
					break
				}
			}
		}
		if channels[i].Deleted {
			if err := s.purgeChannel(ctx, channels[i].ID); err != nil {
				return total, s.failure("purge a channel", err)
			}
		}
	}
	return total, nil
}

const purgeSQL = "SELECT id FROM contacts_done WHERE channel_id = ? AND finished_at < ? ORDER BY finished_at LIMIT ?"

// purgeContacts deletes the contacts that finished first.
func (s *Store) purgeContacts(ctx context.Context, channel weir.ChannelID, before time.Time, limit int) (int, error) {
	var list []any
	err := s.transaction(ctx, func(tx *sqlx.Tx) error {
		list = nil
		var found []int64
		err := tx.SelectContext(ctx, &found, purgeSQL,
			int64(channel), micros(before), limit)
		if err != nil || len(found) == 0 {
			return err
		}
		list = arguments(found)
		args := append([]any{int64(channel)}, list...)
		for _, text := range s.dropWith(len(list)) {
			if _, err := tx.ExecContext(ctx, text, args...); err != nil {
				return err
			}
		}
		for _, table := range []string{"contacts_done", "contacts"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE channel_id = ? AND id IN "+marks(len(list)), args...); err != nil {
				return err
			}
		}
		return nil
	})
	return len(list), err
}

// dropWith deletes what goes with contacts.
func (s *Store) dropWith(contacts int) []string {
	which := " WHERE channel_id = ? AND contact_id IN " + marks(contacts)
	return []string{"DELETE FROM attempts" + which, "DELETE FROM requeues" + which, s.dropDead(contacts)}
}

// purgeIncoming takes the oldest by id, which is in the order of arrival.
func (s *Store) purgeIncoming(ctx context.Context, channel weir.ChannelID, before time.Time, limit int) (int, error) {
	var list []any
	err := s.transaction(ctx, func(tx *sqlx.Tx) error {
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
			if r.ReceivedAt < micros(before) {
				list = append(list, r.ID)
			}
		}
		if len(list) == 0 {
			return nil
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM incoming WHERE channel_id = ? AND id IN "+marks(len(list)), append([]any{int64(channel)}, list...)...)
		return err
	})
	return len(list), err
}

func arguments[T ~int64](found []T) []any {
	args := make([]any, len(found))
	for i, id := range found {
		args[i] = int64(id)
	}
	return args
}

// purgeChannel removes a deleted channel that has nothing left.
func (s *Store) purgeChannel(ctx context.Context, id weir.ChannelID) error {
	defer s.leases.change()()
	return s.transaction(ctx, func(tx *sqlx.Tx) error {
		var left int
		err := tx.GetContext(ctx, &left, "SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM contacts WHERE channel_id = ? LIMIT 1) c)"+
			" + (SELECT COUNT(*) FROM (SELECT 1 FROM incoming WHERE channel_id = ? LIMIT 1) i)", int64(id), int64(id))
		if err != nil || left > 0 {
			return err
		}
		for _, q := range []string{
			"DELETE FROM inbox WHERE channel_id = ?", "DELETE FROM leases WHERE channel_id = ?",
			"DELETE FROM channel_counts WHERE channel_id = ?", "DELETE FROM channel_states WHERE channel_id = ?",
			"DELETE FROM channels WHERE id = ? AND deleted = 1",
		} {
			if _, err := tx.ExecContext(ctx, q, int64(id)); err != nil {
				return err
			}
		}
		return nil
	})
}
