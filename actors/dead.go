package actors

import (
	"context"

	"weir"
	"weir/internal/failpoint"
	"weir/ops"
)

// Requeue creates new contacts from dead letters of a channel and passes them to
// its broker. If the process ends between the two, the sweep finds the contacts.
func (s *System) Requeue(ctx context.Context, channel weir.ChannelID, contacts []weir.ContactID, token string) (ops.Requeued, error) {
	failpoint.Hit("requeue.before")
	made, err := s.store.Requeue(ctx, channel, contacts, token)
	failpoint.Hit("requeue.committed")
	if err == nil && len(made.Contacts) > 0 {
		s.Announce(channel, made.Contacts)
	}
	return made, err
}
