package surveys

import (
	"context"

	"weir"
	"weir/events"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/surveys"
)

// ChannelStates implements [surveys.ChannelStateStore].
func (s *Reader) ChannelStates(ctx context.Context) ([]surveys.ChannelState, error) {
	var rows []struct {
		Channel int64  `db:"channel_id"`
		Health  string `db:"health"`
		Reason  string `db:"reason"`
		Since   int64  `db:"since"`
	}
	if err := s.Read.SelectContext(ctx, &rows, "SELECT channel_id, health, reason, since FROM channel_states ORDER BY channel_id"); err != nil {
		return nil, s.Failure("read the states of channels", err)
	}
	list := make([]surveys.ChannelState, 0, len(rows))
	for _, r := range rows {
		list = append(list, surveys.ChannelState{
			Channel: weir.ChannelID(r.Channel), Health: weir.Health(r.Health), Reason: r.Reason, Since: columns.Instant(r.Since),
		})
	}
	return list, nil
}

// stateChange is a pending write of a channel's state.
type stateChange struct {
	state surveys.ChannelState
	tell  []events.Event
}

// SetChannelState implements [surveys.ChannelStateStore].
func (s *Rounds) SetChannelState(ctx context.Context, state surveys.ChannelState, tell []events.Event) error {
	return s.Await(ctx, &commit.Request{Work: &stateChange{state, tell}, Rows: 1 + len(tell), Bytes: 1000})
}

// Write implements [commit.Work].
func (w *stateChange) Write(t *commit.Tx, _ *commit.Request) error {
	if _, err := t.Exec("DELETE FROM channel_states WHERE channel_id = ?", int64(w.state.Channel)); err != nil {
		return err
	}
	_, err := t.Exec("INSERT INTO channel_states (channel_id, health, reason, since) VALUES "+columns.Marks(4),
		int64(w.state.Channel), string(w.state.Health), columns.Clip(w.state.Reason), columns.Micros(w.state.Since))
	if err == nil {
		t.Emit(w.tell...)
	}
	return err
}
