package persistence

import (
	"context"
	"slices"

	"weir"
	"weir/ops"
)

var _ ops.FiguresReader = (*Store)(nil)

// figuresChunk is how many channels one statement is about.
const figuresChunk = 500

// mostLanes is how many lanes of a channel are looked at for its oldest
// contact: servers bound how often a statement may repeat itself.
const mostLanes = 900

// backlogSQL goes from lane to lane of each channel, one seek of the index each,
// and takes the oldest of their heads: a queued contact stands there by its id.
func backlogSQL(channels int) string {
	const lane = "(SELECT q.lane FROM contacts q WHERE q.channel_id = k.channel_id AND q.state = ? AND q.lane > k.lane ORDER BY q.lane, q.pos LIMIT 1)"
	return "WITH RECURSIVE lanes (channel_id, queued, lane, n) AS (" +
		"SELECT channel_id, queued, -9223372036854775807, 0 FROM channel_counts WHERE channel_id IN " + marks(channels) + " AND queued > 0" +
		" UNION ALL SELECT k.channel_id, k.queued, " + lane + ", k.n + 1 FROM lanes k WHERE k.lane IS NOT NULL AND k.n < ?), " +
		"heads (channel_id, queued, id) AS (SELECT k.channel_id, k.queued, " +
		"(SELECT q.pos FROM contacts q WHERE q.channel_id = k.channel_id AND q.state = ? AND q.lane = k.lane ORDER BY q.pos LIMIT 1) FROM lanes k WHERE k.lane IS NOT NULL), " +
		"oldest (channel_id, queued, id) AS (SELECT channel_id, queued, MIN(id) FROM heads GROUP BY channel_id, queued) " +
		"SELECT f.channel_id, f.queued, COALESCE(c.queued_at, 0) AS oldest FROM oldest f LEFT JOIN contacts c ON c.channel_id = f.channel_id AND c.id = f.id"
}

func backlogArguments(channels []weir.ChannelID) []any {
	return append(idArguments(channels), int64(weir.Queued), mostLanes, int64(weir.Queued))
}

func idArguments(channels []weir.ChannelID) []any {
	args := make([]any, len(channels), len(channels)+3)
	for i, id := range channels {
		args[i] = int64(id)
	}
	return args
}

// Backlogs implements [ops.FiguresReader].
func (s *Store) Backlogs(ctx context.Context, channels []weir.ChannelID) (map[weir.ChannelID]ops.Backlog, error) {
	if err := s.settled(ctx); err != nil {
		return nil, err
	}
	out := map[weir.ChannelID]ops.Backlog{}
	for part := range slices.Chunk(channels, figuresChunk) {
		var rows []struct {
			Channel int64 `db:"channel_id"`
			Queued  int64 `db:"queued"`
			Oldest  int64 `db:"oldest"`
		}
		if err := s.read.SelectContext(ctx, &rows, backlogSQL(len(part)), backlogArguments(part)...); err != nil {
			return nil, s.failure("read what waits", err)
		}
		for _, r := range rows {
			out[weir.ChannelID(r.Channel)] = ops.Backlog{Queued: r.Queued, OldestQueuedAt: instant(r.Oldest)}
		}
	}
	return out, nil
}

// flightsSQL counts the slots of a contact as [weir.Progress.Slots] does.
func flightsSQL(channels int) string {
	return "SELECT channel_id, state, COUNT(*) AS contacts, " +
		"SUM(CASE WHEN parts = '' THEN size ELSE LENGTH(parts) - LENGTH(REPLACE(parts, '.', '')) END) AS slots " +
		"FROM contacts WHERE channel_id IN " + marks(channels) + " AND state BETWEEN ? AND ? GROUP BY channel_id, state"
}

func flightArguments(channels []weir.ChannelID) []any {
	return append(idArguments(channels), int64(weir.Sending), int64(weir.Unknown))
}

// Flights implements [ops.FiguresReader].
func (s *Store) Flights(ctx context.Context, channels []weir.ChannelID) (map[weir.ChannelID]ops.Figures, error) {
	if err := s.settled(ctx); err != nil {
		return nil, err
	}
	out := map[weir.ChannelID]ops.Figures{}
	for part := range slices.Chunk(channels, figuresChunk) {
		var rows []struct {
			Channel  int64 `db:"channel_id"`
			State    int8  `db:"state"`
			Contacts int   `db:"contacts"`
			Slots    int   `db:"slots"`
		}
		if err := s.read.SelectContext(ctx, &rows, flightsSQL(len(part)), flightArguments(part)...); err != nil {
			return nil, s.failure("count contacts in flight", err)
		}
		for _, r := range rows {
			f := out[weir.ChannelID(r.Channel)]
			f.InFlight += r.Slots
			switch weir.State(r.State) {
			case weir.Sending:
				f.Sending = r.Contacts
			case weir.Active:
				f.Active = r.Contacts
			default:
				f.Unknown = r.Contacts
			}
			out[weir.ChannelID(r.Channel)] = f
		}
	}
	return out, nil
}
