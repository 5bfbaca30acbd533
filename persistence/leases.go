package persistence

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jmoiron/sqlx"

	"weir"
)

// takable is the condition under which a lease may be taken: it is free, ours,
// has expired, or its owner is certain to be gone. Its argument is the owner.
func (s *Store) takable() string {
	return "(owner = '' OR owner = ? OR expires_at <= " + s.database.Now() + " OR " + s.sql.OwnerGone + ")"
}

// Acquire implements [weir.Leaser].
func (s *Store) Acquire(ctx context.Context, channel weir.ChannelID) (weir.Lease, bool, error) {
	lease, ok := weir.Lease{Channel: channel, Owner: s.owner}, false
	err := s.transaction(ctx, func(tx *sqlx.Tx) error {
		now := s.database.Now()
		result, err := tx.ExecContext(ctx, "UPDATE leases SET expires_at = "+now+" + ?, owner = ?, epoch = epoch + 1 WHERE channel_id = ? AND "+s.takable(),
			s.ttl.Microseconds(), s.owner, int64(channel), s.owner)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		err = tx.GetContext(ctx, &lease.Epoch, "SELECT epoch FROM leases WHERE channel_id = ?", int64(channel))
		if errors.Is(err, sql.ErrNoRows) {
			return weir.Errorf(weir.CodeNotFound, "no such channel")
		}
		ok = n == 1
		return err
	})
	if err != nil || !ok {
		return weir.Lease{}, false, s.failure("take a lease", err)
	}
	return lease, true, nil
}

// Renew implements [weir.Leaser]. A lease that expired and was not taken is
// still ours.
func (s *Store) Renew(ctx context.Context) ([]weir.ChannelID, error) {
	var held []weir.ChannelID
	err := s.transaction(ctx, func(tx *sqlx.Tx) error {
		held = nil
		_, err := tx.ExecContext(ctx, "UPDATE leases SET expires_at = "+s.database.Now()+" + ? WHERE owner = ?", s.ttl.Microseconds(), s.owner)
		if err != nil {
			return err
		}
		return tx.SelectContext(ctx, &held, "SELECT channel_id FROM leases WHERE owner = ? ORDER BY channel_id", s.owner)
	})
	return held, s.failure("renew leases", err)
}

// Release implements [weir.Leaser].
func (s *Store) Release(ctx context.Context, l weir.Lease) error {
	err := s.transaction(ctx, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE leases SET owner = '', expires_at = 0 WHERE channel_id = ? AND owner = ? AND epoch = ?",
			int64(l.Channel), l.Owner, l.Epoch)
		return err
	})
	return s.failure("give a lease back", err)
}

// openContact is an SQL expression: a contact of the channel %s that is not
// done, or NULL. LIMIT keeps optimisers from turning it into a scan.
func openContact(channel string) string {
	return "(SELECT o.id FROM contacts o WHERE o.channel_id = " + channel + " AND o.state < 6 LIMIT 1)"
}

// Orphans implements [weir.Leaser]. A channel that was given back while it has
// open contacts is one of them.
func (s *Store) Orphans(ctx context.Context) ([]weir.ChannelID, error) {
	var list []weir.ChannelID
	err := s.read.SelectContext(ctx, &list, "SELECT channel_id FROM leases WHERE owner <> ? AND "+s.takable()+
		" AND (owner <> '' OR "+openContact("leases.channel_id")+" IS NOT NULL) ORDER BY channel_id", s.owner, s.owner)
	return list, s.failure("look for orphans", err)
}

// OpenChannels implements [weir.ChannelStore].
func (s *Store) OpenChannels(ctx context.Context) ([]weir.ChannelID, error) {
	var list []weir.ChannelID
	err := s.read.SelectContext(ctx, &list, openChannelsSQL())
	return list, s.failure("look for open channels", err)
}

func openChannelsSQL() string {
	return "SELECT id FROM channels WHERE deleting = 1 OR " + openContact("channels.id") + " IS NOT NULL OR deleted = 0 AND " +
		"(SELECT i.id FROM inbox i WHERE i.channel_id = channels.id LIMIT 1) IS NOT NULL ORDER BY id"
}
