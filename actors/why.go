package actors

import (
	"context"
	"time"

	"weir"
	"weir/actors/core"
	"weir/ops"
)

// whyRequest requests the reasons why contacts of its channel wait. absent is called
// instead of answer by a broker that does not run its channel.
type whyRequest struct {
	contacts []weir.Contact
	answer   func([]ops.Why)
	absent   func()
}

// Whys explains why each of some contacts of one channel waits: from the memory
// of its broker, or from the contacts' rows if no broker of this process runs the
// channel.
func (s *System) Whys(ctx context.Context, ch weir.Channel, contacts []weir.Contact) ([]ops.Why, error) {
	asked, cancel := background(ctx, figuresTimeout)
	defer cancel()
	answers := make(chan []ops.Why, 2) // room for all, so that no broker blocks
	absent := func() { answers <- nil }
	s.root.Send(s.manager, ifRunning{ch.ID, whyRequest{contacts, func(list []ops.Why) { answers <- list }, absent}, absent})
	select {
	case list := <-answers:
		if list != nil {
			return list, nil
		}
	case <-asked.Done():
	}
	flights, err := s.store.Flights(ctx, []weir.ChannelID{ch.ID})
	if err != nil {
		return nil, err
	}
	list := make([]ops.Why, len(contacts))
	for i := range contacts {
		list[i] = core.WhyStored(s.coreConfig, &ch, flights[ch.ID].InFlight, &contacts[i])
	}
	return list, nil
}

func (b *broker) onWhys(m whyRequest) {
	if b.core == nil || b.stopping { // then another process may hold the lease
		m.absent()
		return
	}
	now, list := time.Now(), make([]ops.Why, len(m.contacts))
	for i := range m.contacts {
		list[i] = b.core.Why(&m.contacts[i], now)
	}
	m.answer(list)
}
