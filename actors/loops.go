package actors

import (
	"context"
	"encoding/json"
	"time"

	"weir"
	"weir/actors/core"
)

// margin is how long before the end of a lease nothing is begun any more.
func (s *System) margin() time.Duration { return min(leaseMargin, s.leaseTTL/5) }

// renew extends the leases. While the store is down it tries again and again:
// between the store's return and the renewal nothing may be sent under a lease
// that ran out.
func (s *System) renew(ctx context.Context) {
	for try := 0; ; try++ {
		asked := time.Now()
		io, cancel := background(ctx, s.leaseTTL/3)
		ids, err := s.store.Renew(io)
		cancel()
		if err == nil {
			s.renewed(asked, ids)
			return
		}
		if try == 0 {
			s.logger.Warn("the leases could not be renewed; trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(renewRetry):
		}
	}
}

func (s *System) renewed(asked time.Time, ids []weir.ChannelID) {
	held := make(map[weir.ChannelID]struct{}, len(ids))
	for _, id := range ids {
		held[id] = struct{}{}
	}
	s.root.Send(s.manager, leasesRenewed{asked, asked.Add(s.leaseTTL - s.margin()), held})
}

// sweep finds channels with work whose broker does not know of it because a
// hint was lost.
func (s *System) sweep(ctx context.Context) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	if err := s.Resume(io); err != nil {
		s.logger.Warn("the sweep failed", "error", err)
	}
}

// takeOver finds channels with work whose owner has died or gave them back.
func (s *System) takeOver(ctx context.Context) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	ids, err := s.store.Orphans(io)
	if err != nil {
		s.logger.Warn("channels without an owner could not be found", "error", err)
	}
	for _, id := range ids {
		s.root.Send(s.manager, deliver{id, swept{}})
	}
}

// readInbox hands what reached other processes to the brokers.
func (s *System) readInbox(ctx context.Context) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	items, err := s.store.Inbox(io, inboxBatch)
	if err != nil {
		s.logger.Warn("the inbox could not be read", "error", err)
		return
	}
	for _, item := range items {
		s.fromInbox(item)
	}
}

func (s *System) fromInbox(item weir.InboxItem) {
	from := core.Origin{Inbox: item.ID}
	switch item.Kind {
	case weir.InboxReport:
		var reports []weir.Report
		if err := json.Unmarshal(item.Payload, &reports); err != nil || len(reports) != 1 {
			s.logger.Error("an inbox item cannot be read; it is dropped", "item", item.ID)
			s.root.Send(s.manager, deliver{item.Channel, woken{from}})
			return
		}
		s.root.Send(s.manager, deliver{item.Channel, reported{reports[0], from}})
	case weir.InboxCancel:
		ref, err := weir.ParseRef(string(item.Payload))
		if err != nil {
			s.logger.Error("an inbox item cannot be read; it is dropped", "item", item.ID)
			s.root.Send(s.manager, deliver{item.Channel, woken{from}})
			return
		}
		s.root.Send(s.manager, deliver{item.Channel, canceled{ref, from}})
	default:
		s.root.Send(s.manager, deliver{item.Channel, woken{from}})
		s.root.Send(s.manager, deliver{item.Channel, changed{}})
	}
}
