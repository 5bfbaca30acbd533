package contacts

import (
	"maps"
	"slices"

	"weir"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
)

// counters are by how much a batch changes the counters of channels.
type counters map[weir.ChannelID]delta

// delta is by how much the counters of a channel change.
type delta struct{ queued, inFlight int64 }

// add counts a contact that was in one state, 0 if there was none, and is in another.
func (n counters) add(channel weir.ChannelID, was, is weir.State) {
	d := n[channel]
	d.queued += columns.Number(is.Waiting()) - columns.Number(was.Waiting())
	d.inFlight += columns.Number(is.InFlight()) - columns.Number(was.InFlight())
	n[channel] = d
}

// write adds them to what the database has.
func (n counters) write(t *commit.Tx, d *dialect.Statements) {
	var args []any
	for _, channel := range slices.Sorted(maps.Keys(n)) {
		if d := n[channel]; d != (delta{}) {
			args = append(args, int64(channel), d.queued, d.inFlight)
		}
	}
	if len(args) > 0 {
		t.Add("INSERT INTO channel_counts (channel_id, queued, in_flight) VALUES "+columns.RowsOf(len(args)/3, 3)+d.AddCounts, args...)
	}
}
