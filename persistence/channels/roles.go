package channels

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/ops"
)

// AcquireRole implements [ops.RoleLeaser].
func (s *Store) AcquireRole(ctx context.Context, role ops.Role) (weir.Lease, bool, error) {
	lease, ok := weir.Lease{Owner: s.Owner}, false
	s.roles.forget(role)
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		result, err := tx.ExecContext(ctx, "UPDATE roles SET expires_at = "+s.Database.Now()+" + ?, owner = ?, epoch = epoch + 1 WHERE name = ? AND "+s.takable(),
			s.LeaseTTL.Microseconds(), s.Owner, string(role), s.Owner)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		ok = n == 1
		return tx.GetContext(ctx, &lease.Epoch, "SELECT epoch FROM roles WHERE name = ?", string(role))
	})
	if err != nil || !ok {
		return weir.Lease{}, false, s.Failure("take a role", err)
	}
	s.roles.took(role, lease.Epoch)
	return lease, true, nil
}

// RenewRole implements [ops.RoleLeaser]. A lease that expired and was not
// taken is still ours. As with [Store.Renew], there is nothing to write where no
// other process can be a member, and nothing to read either: what this process took
// is its own until it gives it back. Otherwise the roles that were renewed a while
// ago come along, so that their keepers, who ask in the same moment, need no
// statement.
func (s *Store) RenewRole(ctx context.Context, role ops.Role, l weir.Lease) (bool, error) {
	if l.Owner != s.Owner {
		return false, nil
	}
	if s.Alone {
		return s.roles.holds(role, l.Epoch), nil
	}
	// One after the other: who asks in the same moment waits for the first, and
	// finds his renewed.
	select {
	case s.roles.turn <- struct{}{}:
		defer func() { <-s.roles.turn }()
	case <-ctx.Done():
		return false, s.Failure("renew a role", ctx.Err())
	}
	now := time.Now()
	list, fresh := s.roles.ask(role, l, now, s.roleBreath(), s.LeaseTTL/2)
	if fresh {
		return true, nil
	}
	n, err := s.renewRoles(ctx, list)
	if err == nil && n == int64(len(list)) {
		s.roles.renewed(list, now)
		return true, nil
	}
	if err == nil && len(list) > 1 { // not known which
		n, err = s.renewRoles(ctx, list[:1])
	}
	return n == 1 && err == nil, s.Failure("renew a role", err)
}

// roleBreath is how long the renewal of a role goes for one of the next
// moment: leases of roles last as much longer.
func (s *Store) roleBreath() time.Duration { return s.LeaseTTL / 30 }

func (s *Store) renewRoles(ctx context.Context, list []keptRole) (int64, error) {
	args := []any{(s.LeaseTTL + s.roleBreath()).Microseconds(), s.Owner}
	for _, k := range list {
		args = append(args, string(k.role), k.epoch)
	}
	which := strings.Repeat(" OR name = ? AND epoch = ?", len(list))[len(" OR "):]
	return s.Exec(ctx, "UPDATE roles SET expires_at = "+s.Database.Now()+" + ? WHERE owner = ? AND ("+which+")", args...)
}

// keptRoles are the roles of this process.
type keptRoles struct {
	turn  chan struct{} // holds the one who renews
	mu    sync.Mutex
	taken map[ops.Role]int64 // with the epoch of each
	list  []keptRole         // whose keepers ask
}

type keptRole struct {
	role    ops.Role
	epoch   int64
	asked   time.Time // by its keeper
	renewed time.Time // or a moment before
}

// ask notes that a keeper asks for a renewal. fresh says that the last one is no
// older than breath; else list has those to renew: this one, and behind it those
// who asked within lately. A keeper who is stuck is none of them for long.
func (k *keptRoles) ask(role ops.Role, l weir.Lease, now time.Time, breath, lately time.Duration) (list []keptRole, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	is := keptRole{role: role, epoch: l.Epoch, asked: now}
	if i := slices.IndexFunc(k.list, func(r keptRole) bool { return r.role == role }); i >= 0 {
		if k.list[i].epoch == l.Epoch {
			is.renewed = k.list[i].renewed
		}
		k.list = slices.Delete(k.list, i, i+1)
	}
	k.list = append(k.list, is)
	if now.Sub(is.renewed) < breath {
		return nil, true
	}
	list = []keptRole{is}
	for _, r := range k.list {
		if r.role != role && now.Sub(r.asked) < lately {
			list = append(list, r)
		}
	}
	return list, false
}

// renewed notes when roles were renewed.
func (k *keptRoles) renewed(list []keptRole, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.list {
		if r := &k.list[i]; slices.ContainsFunc(list, func(x keptRole) bool { return x.role == r.role && x.epoch == r.epoch }) {
			r.renewed = at
		}
	}
}

// took notes a role that was taken.
func (k *keptRoles) took(role ops.Role, epoch int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.taken == nil {
		k.taken = map[ops.Role]int64{}
	}
	k.taken[role] = epoch
}

// holds reports whether this process has a role in that epoch.
func (k *keptRoles) holds(role ops.Role, epoch int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	is, ok := k.taken[role]
	return ok && is == epoch
}

// forget drops a role that is taken anew.
func (k *keptRoles) forget(role ops.Role) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.taken, role)
	k.list = slices.DeleteFunc(k.list, func(r keptRole) bool { return r.role == role })
}

// gave drops a role that is given back, unless it was taken anew.
func (k *keptRoles) gave(role ops.Role, epoch int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.taken[role] == epoch {
		delete(k.taken, role)
	}
	k.list = slices.DeleteFunc(k.list, func(r keptRole) bool { return r.role == role && r.epoch == epoch })
}

// ReleaseRole implements [ops.RoleLeaser].
func (s *Store) ReleaseRole(ctx context.Context, role ops.Role, l weir.Lease) error {
	s.roles.gave(role, l.Epoch)
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE roles SET owner = '', expires_at = 0 WHERE name = ? AND owner = ? AND epoch = ?",
			string(role), l.Owner, l.Epoch)
		return err
	})
	return s.Failure("give a role back", err)
}
