package channels

import (
	"context"
	"time"

	"weir"
	core "weir/actors/contacts"
	"weir/operators"
)

// figures answers with the live numbers of channels and with what their contacts wait for.
// Its methods are safe for concurrent use.
type figures struct {
	shared *shared
	mail   *mail
}

// Figures returns a channel's live numbers: from its broker, or from the store
// while that rests.
func (s *figures) Figures(ctx context.Context, ch weir.Channel) (operators.Figures, error) {
	list, err := s.FiguresOf(ctx, []weir.Channel{ch})
	if err != nil {
		return operators.Figures{}, err
	}
	return list[0], nil
}

// FiguresOf returns the live numbers of channels, in their order. It takes two or
// three statements of the store regardless of their number, and queries the
// brokers concurrently.
func (s *figures) FiguresOf(ctx context.Context, list []weir.Channel) ([]operators.Figures, error) {
	ids := make([]weir.ChannelID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	heard, resting := s.askBrokers(ctx, ids)
	absent := make(map[weir.ChannelID]bool, len(resting))
	if len(resting) > 0 {
		flights, err := s.shared.store.Flights(ctx, resting)
		if err != nil {
			return nil, err
		}
		for _, id := range resting {
			f := flights[id]
			f.Health, f.HealthReason = s.shared.healths.last(id)
			heard[id], absent[id] = f, true
		}
	}
	backlogs, err := s.shared.store.Backlogs(ctx, ids)
	if err != nil {
		return nil, err
	}
	now, out := time.Now(), make([]operators.Figures, len(list))
	for i, ch := range list {
		f, ok := heard[ch.ID]
		if !ok {
			f = operators.Figures{Health: weir.Faulted, HealthReason: "the channel's broker does not answer"}
		}
		if ch.Paused {
			f.Health, f.HealthReason = weir.Paused, pausedReason(&ch)
		}
		f.Queued, f.OldestQueuedAt = backlogs[ch.ID].Queued, backlogs[ch.ID].OldestQueuedAt
		f.SentPerMinute, f.IdleSince = s.shared.minutes.perMinute(ch.ID, now), s.shared.minutes.idleSince(ch.ID, now)
		if absent[ch.ID] {
			f.Why, f.IdleSince = core.WhyNextStored(&ch, f), time.Time{}
		}
		out[i] = f
	}
	return out, nil
}

// pausedReason returns why a channel is paused that an operator did not pause.
func pausedReason(ch *weir.Channel) string {
	if ch.Held || ch.Braked == nil {
		return ""
	}
	return ch.Braked.Text
}

// askBrokers requests the figures of channels from their brokers. resting lists the
// channels whose brokers do not run; one whose broker does not answer is in neither.
func (s *figures) askBrokers(ctx context.Context, ids []weir.ChannelID) (heard map[weir.ChannelID]operators.Figures, resting []weir.ChannelID) {
	ctx, cancel := background(ctx, figuresTimeout)
	defer cancel()
	type answer struct {
		channel weir.ChannelID
		figures operators.Figures
		absent  bool
	}
	answers := make(chan answer, len(ids)) // room for all, so that no broker blocks
	for _, id := range ids {
		missing := func() { answers <- answer{channel: id, absent: true} }
		s.mail.ifRunning(id, figuresRequest{
			answer: func(l liveReport) { answers <- answer{channel: id, figures: l.figures} },
			absent: missing,
		}, missing)
	}
	heard = make(map[weir.ChannelID]operators.Figures, len(ids))
	for range ids {
		select {
		case a := <-answers:
			if a.absent {
				resting = append(resting, a.channel)
			} else {
				heard[a.channel] = a.figures
			}
		case <-ctx.Done():
			return heard, resting
		}
	}
	return heard, resting
}

// allFigures requests the figures of every running broker.
func (s *figures) allFigures(ctx context.Context) map[string]liveReport {
	count := make(chan int, 1)
	answers := make(chan liveReport, changesAtOnce)
	answer := func(l liveReport) {
		select {
		case answers <- l:
		case <-ctx.Done():
		}
	}
	s.shared.root.Send(s.mail.manager, broadcast{figuresRequest{answer: answer}, count})
	all := map[string]liveReport{}
	select {
	case n := <-count:
		for range n {
			select {
			case a := <-answers:
				if a.channel.Name != "" {
					all[a.channel.Name] = a
				}
			case <-ctx.Done():
				return all
			}
		}
	case <-ctx.Done():
	}
	return all
}

// WaitReasons explains why each of some contacts of one channel waits: from the memory
// of its broker, or from the contacts' rows while that rests.
func (s *figures) WaitReasons(ctx context.Context, ch weir.Channel, contacts []weir.Contact) ([]operators.Why, error) {
	asked, cancel := background(ctx, figuresTimeout)
	defer cancel()
	answers := make(chan []operators.Why, 2) // room for all, so that no broker blocks
	absent := func() { answers <- nil }
	s.mail.ifRunning(ch.ID, whyRequest{contacts, func(list []operators.Why) { answers <- list }, absent}, absent)
	select {
	case list := <-answers:
		if list != nil {
			return list, nil
		}
	case <-asked.Done():
	}
	flights, err := s.shared.store.Flights(ctx, []weir.ChannelID{ch.ID})
	if err != nil {
		return nil, err
	}
	list := make([]operators.Why, len(contacts))
	for i := range contacts {
		list[i] = core.WhyStored(s.shared.core, &ch, flights[ch.ID].InFlight, &contacts[i])
	}
	return list, nil
}

// CurrentMinutes lists what this process has counted and not written yet, mainly
// the current minute.
func (s *figures) CurrentMinutes() []operators.Minute { return s.shared.minutes.current() }
