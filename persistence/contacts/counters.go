package contacts

import (
	"context"
	"maps"
	"sync"

	"weir"
	"weir/persistence/columns"
)

// waiting counts the contacts of each channel that wait, as they were committed last. The
// owner of the database counts them once, at its start, and then knows what its batches change.
//
// Only the writer's goroutine changes it; others read it under the lock.
type waiting struct {
	mu       sync.RWMutex
	channels map[weir.ChannelID]int64
	changes  map[weir.ChannelID]int64 // of this batch
}

func newWaiting() *waiting {
	return &waiting{channels: map[weir.ChannelID]int64{}, changes: map[weir.ChannelID]int64{}}
}

// begin forgets what an earlier try has counted.
func (w *waiting) begin() { clear(w.changes) }

// add counts a contact that was in one state, 0 if there was none, and is in another.
func (w *waiting) add(channel weir.ChannelID, was, is weir.State) {
	if d := columns.Number(is.Waiting()) - columns.Number(was.Waiting()); d != 0 {
		w.changes[channel] += d
	}
}

// committed applies what a batch has changed.
func (w *waiting) committed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for channel, n := range w.changes {
		if w.channels[channel] += n; w.channels[channel] == 0 {
			delete(w.channels, channel)
		}
	}
}

// of returns how many contacts of a channel wait.
func (w *waiting) of(channel weir.ChannelID) int64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.channels[channel]
}

// byChannel returns the channels that contacts wait for, and how many do.
func (w *waiting) byChannel() map[weir.ChannelID]int64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return maps.Clone(w.channels)
}

// countWaiting counts what earlier owners of the database have left.
func (s *Queue) countWaiting(ctx context.Context) error {
	s.waiting.mu.Lock()
	defer s.waiting.mu.Unlock()
	for _, text := range []string{countSQL("contacts_queued"), countSQL("contacts_delayed")} {
		var rows []struct {
			Channel weir.ChannelID `db:"channel_id"`
			N       int64          `db:"n"`
		}
		if err := s.Write.SelectContext(ctx, &rows, text); err != nil {
			return err
		}
		for _, r := range rows {
			s.waiting.channels[r.Channel] += r.N
		}
	}
	return nil
}

// countSQL counts the rows of each channel, in the order of the primary key.
func countSQL(table string) string {
	return "SELECT channel_id, COUNT(*) AS n FROM " + table + " GROUP BY channel_id"
}
