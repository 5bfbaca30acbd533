package persistence

import (
	"context"
	"slices"
)

const deadByChannel = "SELECT channel_id, COUNT(*) AS n FROM dead_letters GROUP BY channel_id"

// GaugeDead counts the dead letters of each channel into the metrics. It reads an
// index from end to end, a million in a part of a second: for once a minute.
func (s *Store) GaugeDead(ctx context.Context) error {
	const doing = "count the dead letters of each channel"
	var rows []struct {
		Channel int64 `db:"channel_id"`
		N       int64 `db:"n"`
	}
	if err := s.read.SelectContext(ctx, &rows, deadByChannel); err != nil {
		return s.failure(doing, err)
	}
	counts := make(map[string]int64, len(rows))
	for part := range slices.Chunk(rows, purgeChunk) {
		n, ids := map[int64]int64{}, make([]any, len(part))
		for i, r := range part {
			n[r.Channel], ids[i] = r.N, r.Channel
		}
		var names []struct {
			ID   int64  `db:"id"`
			Name string `db:"name"`
		}
		text := "SELECT id, COALESCE(name, former_name) AS name FROM channels WHERE id IN " + marks(len(ids))
		if err := s.read.SelectContext(ctx, &names, text, ids...); err != nil {
			return s.failure(doing, err)
		}
		for _, c := range names {
			counts[c.Name] += n[c.ID] // one that was deleted may have had the same name
		}
	}
	s.metrics.setDead(counts)
	return nil
}

// setDead shows the counts, and none of channels that have no dead letters.
func (m *Metrics) setDead(counts map[string]int64) {
	m.shown.Lock()
	defer m.shown.Unlock()
	for name := range m.deadOf {
		if _, ok := counts[name]; !ok {
			m.dead.DeleteLabelValues(name)
		}
	}
	for name, n := range counts {
		m.dead.WithLabelValues(name).Set(float64(n))
	}
	m.deadOf = counts
}
