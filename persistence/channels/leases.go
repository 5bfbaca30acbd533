package channels

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"weir/persistence/member"

	"github.com/jmoiron/sqlx"

	"weir"
)

// takable is the condition under which a lease may be taken: it is free, ours, or
// has expired. Its argument is the owner. A lost connection of its owner proves
// nothing: the server may have restarted, or failed over.
func (s *Store) takable() string {
	return "(owner = '' OR owner = ? OR expires_at <= " + s.Database.Now() + ")"
}

// Acquire implements [weir.Leaser].
func (s *Store) Acquire(ctx context.Context, channel weir.ChannelID) (weir.Lease, bool, error) {
	lease, ok := weir.Lease{Channel: channel, Owner: s.Owner}, false
	defer s.leases.change()()
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		now, before := s.Database.Now(), ""
		err := tx.GetContext(ctx, &before, "SELECT owner FROM leases WHERE channel_id = ?"+s.Dialect.ForUpdate, int64(channel))
		if errors.Is(err, sql.ErrNoRows) {
			return weir.Errorf(weir.CodeNotFound, "no such channel")
		}
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, "UPDATE leases SET expires_at = "+now+" + ?, owner = ?, epoch = epoch + 1 WHERE channel_id = ? AND "+s.takable(),
			s.LeaseTTL.Microseconds(), s.Owner, int64(channel), s.Owner)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		if ok = n == 1; !ok {
			return nil
		}
		if err := tx.GetContext(ctx, &lease.Epoch, "SELECT epoch FROM leases WHERE channel_id = ?", int64(channel)); err != nil {
			return err
		}
		return member.FenceOff(ctx, tx, before)
	})
	if err != nil || !ok {
		return weir.Lease{}, false, s.Failure("take a lease", err)
	}
	err = s.Acquired(ctx, channel)
	return lease, err == nil, s.Failure("recover contacts in flight", err)
}

// heldLeases lists the leases that this process has. Only its own
// changes add to them: if there are as many as when they were listed, and
// no change of ours since, they are the same.
type heldLeases struct {
	mu      sync.Mutex
	under   int   // changes under way
	changes int64 // that were begun
	asOf    int64 // how many there were when list was read
	list    []weir.ChannelID
}

// change begins a change that may add leases to ours; the result ends it.
func (h *heldLeases) change() (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.under++
	h.changes++
	return func() {
		h.mu.Lock()
		h.under--
		h.mu.Unlock()
	}
}

// count is how many the list has.
func (h *heldLeases) count() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return int64(len(h.list))
}

// mark is a number for this moment; two that are the same and not 0 have no
// change between them.
func (h *heldLeases) mark() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.under > 0 {
		return 0
	}
	return h.changes + 1
}

// listed gives the list that was kept at a moment, if it is of that one and has n.
func (h *heldLeases) listed(mark, n int64) ([]weir.ChannelID, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if mark == 0 || mark != h.asOf || h.under > 0 || h.changes+1 != mark || n != int64(len(h.list)) {
		return nil, false
	}
	return slices.Clone(h.list), true
}

// keep keeps a list, if nothing has changed since mark.
func (h *heldLeases) keep(mark int64, list []weir.ChannelID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if mark != 0 && h.under == 0 && h.changes+1 == mark {
		h.asOf, h.list = mark, slices.Clone(list)
	}
}

// Renew implements [weir.Leaser]. A lease that expired and was not taken is
// still ours. Where no other process can be a member nothing is written: what
// keeps others out is the membership.
func (s *Store) Renew(ctx context.Context) ([]weir.ChannelID, error) {
	mark := s.leases.mark()
	n := s.leases.count()
	if !s.Alone {
		var err error
		n, err = s.Exec(ctx, "UPDATE leases SET expires_at = "+s.Database.Now()+" + ? WHERE owner = ?", s.LeaseTTL.Microseconds(), s.Owner)
		if err != nil {
			return nil, s.Failure("renew leases", err)
		}
	}
	if list, ok := s.leases.listed(mark, n); ok {
		return list, nil
	}
	var held []weir.ChannelID
	err := s.Read.SelectContext(ctx, &held, "SELECT channel_id FROM leases WHERE owner = ? ORDER BY channel_id", s.Owner)
	if err == nil {
		s.leases.keep(mark, held)
	}
	return held, s.Failure("renew leases", err)
}

// Release implements [weir.Leaser].
func (s *Store) Release(ctx context.Context, l weir.Lease) error {
	defer s.leases.change()()
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE leases SET owner = '', expires_at = 0 WHERE channel_id = ? AND owner = ? AND epoch = ?",
			int64(l.Channel), l.Owner, l.Epoch)
		if err != nil {
			return err
		}
		return member.FenceOff(ctx, tx, l.Owner)
	})
	return s.Failure("give a lease back", err)
}

// hasOpen is an SQL condition: a channel has a contact that is not done.
func hasOpen(channel string) string {
	return "(SELECT o.queued + o.in_flight FROM channel_counts o WHERE o.channel_id = " + channel + ") > 0"
}

// Orphans implements [weir.Leaser]. A channel that was given back while it has
// open contacts is one of them.
func (s *Store) Orphans(ctx context.Context) ([]weir.ChannelID, error) {
	var list []weir.ChannelID
	err := s.Read.SelectContext(ctx, &list, "SELECT channel_id FROM leases WHERE "+s.orphaned()+" ORDER BY channel_id", s.Owner, s.Owner)
	return list, s.Failure("look for orphans", err)
}

// orphaned is the condition under which a channel is an orphan. Its arguments
// are the owner, twice.
func (s *Store) orphaned() string {
	return "owner <> ? AND " + s.takable() + " AND (owner <> '' OR " + hasOpen("leases.channel_id") + ")"
}

// OpenChannels implements [weir.Store].
func (s *Store) OpenChannels(ctx context.Context) ([]weir.ChannelID, error) {
	var list []weir.ChannelID
	err := s.Read.SelectContext(ctx, &list, s.OpenChannelsSQL())
	return list, s.Failure("look for open channels", err)
}

func (s *Store) OpenChannelsSQL() string {
	return "SELECT id FROM channels WHERE deleting = 1 OR " + hasOpen("channels.id") + " OR deleted = 0 AND " +
		"(SELECT i.id FROM inbox i WHERE i.channel_id = channels.id LIMIT 1) IS NOT NULL ORDER BY id"
}

const InsertInbox = "INSERT INTO inbox (id, channel_id, kind, payload, wake) VALUES "
