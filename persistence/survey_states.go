package persistence

import (
	"context"

	"weir"
	"weir/events"
	"weir/surveys"
)

// ChannelStates implements [surveys.ChannelStateStore].
func (s *Store) ChannelStates(ctx context.Context) ([]surveys.ChannelState, error) {
	var rows []struct {
		Channel int64  `db:"channel_id"`
		Health  string `db:"health"`
		Reason  string `db:"reason"`
		Since   int64  `db:"since"`
	}
	if err := s.read.SelectContext(ctx, &rows, "SELECT channel_id, health, reason, since FROM channel_states ORDER BY channel_id"); err != nil {
		return nil, s.failure("read the states of channels", err)
	}
	list := make([]surveys.ChannelState, 0, len(rows))
	for _, r := range rows {
		list = append(list, surveys.ChannelState{
			Channel: weir.ChannelID(r.Channel), Health: weir.Health(r.Health), Reason: r.Reason, Since: instant(r.Since),
		})
	}
	return list, nil
}

// stateChange is a state of a channel on its way into the table.
type stateChange struct {
	state surveys.ChannelState
	tell  []events.Event
}

// SetChannelState implements [surveys.ChannelStateStore].
func (s *Store) SetChannelState(ctx context.Context, state surveys.ChannelState, tell []events.Event) error {
	_, err := s.await(ctx, func(ctx context.Context, answer func(outcome)) *request {
		return newWork(ctx, &stateChange{state, tell}, 1+len(tell), 1000, answer)
	})
	return err
}

// write implements work.
func (w *stateChange) write(t *transaction, _ *request) error {
	if _, err := t.exec("DELETE FROM channel_states WHERE channel_id = ?", int64(w.state.Channel)); err != nil {
		return err
	}
	_, err := t.exec("INSERT INTO channel_states (channel_id, health, reason, since) VALUES "+marks(4),
		int64(w.state.Channel), string(w.state.Health), clip(w.state.Reason), micros(w.state.Since))
	if err == nil {
		t.emit(w.tell...)
	}
	return err
}
