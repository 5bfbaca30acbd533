package api

import (
	"context"

	"weir"
	"weir/ops"
)

// reasonFor explains why a contact waits; the result is zero for a contact that is
// done.
func (s *Service) reasonFor(ctx context.Context, ch weir.Channel, contact *weir.Contact) (ops.Why, error) {
	if contact.State == weir.Done {
		return ops.Why{}, nil
	}
	list, err := s.Broker.Whys(ctx, ch, []weir.Contact{*contact})
	if err != nil {
		return ops.Why{}, err
	}
	return list[0], nil
}

// addReasons sets why the contacts of a list wait, with one call for each of their
// channels. All of the channels are in known.
func (s *Service) addReasons(ctx context.Context, rows []weir.Contact, known map[weir.ChannelID]weir.Channel, views []ContactView) error {
	open := map[weir.ChannelID][]int{}
	for i := range rows {
		if rows[i].State != weir.Done {
			open[rows[i].Channel] = append(open[rows[i].Channel], i)
		}
	}
	for id, places := range open {
		contacts := make([]weir.Contact, len(places))
		for i, place := range places {
			contacts[i] = rows[place]
		}
		list, err := s.Broker.Whys(ctx, known[id], contacts)
		if err != nil {
			return err
		}
		for i, place := range places {
			views[place].Why, views[place].WhyCode = list[i].Text, list[i].Code
		}
	}
	return nil
}
