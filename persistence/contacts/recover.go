package contacts

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"weir"
	"weir/persistence/columns"
)

// Recover reads the log of the contacts in flight, which earlier owners of the database
// have left, and counts the contacts that wait. It is called once, when nobody else can write
// and nothing was written yet; the rows of the log are continued as they are.
func (s *Queue) Recover(ctx context.Context) error {
	var rows []struct {
		ID   int64  `db:"id"`
		Data []byte `db:"data"`
	}
	if err := s.Write.SelectContext(ctx, &rows, "SELECT id, data FROM contacts_in_flight ORDER BY id"); err != nil {
		return err
	}
	log := make([]loggedRow, len(rows))
	latest := map[weir.Ref]record{}
	for i, row := range rows {
		records, err := decodeRecords(row.Data)
		if err != nil {
			return fmt.Errorf("row %d of contacts_in_flight: %w", row.ID, err)
		}
		log[i] = loggedRow{row.ID, records}
		for _, r := range records {
			if before, ok := latest[r.ref]; !ok || before.progress.Rev <= r.progress.Rev {
				latest[r.ref] = r
			}
		}
	}
	still, err := s.stillInFlight(ctx, slices.Collect(maps.Keys(latest)))
	if err != nil {
		return err
	}
	ended, err := s.recoverIndex(ctx, latest, still)
	if err != nil {
		return err
	}
	s.flights.recovered(log, still, ended)
	return s.countWaiting(ctx)
}

// stillInFlight returns which contacts have not been queued again, are not done and
// were not purged.
func (s *Queue) stillInFlight(ctx context.Context, list []weir.Ref) (map[weir.Ref]bool, error) {
	ids := map[weir.ChannelID][]weir.ContactID{}
	for _, ref := range list {
		ids[ref.Channel] = append(ids[ref.Channel], ref.ID)
	}
	still := make(map[weir.Ref]bool, len(list))
	for _, channel := range slices.Sorted(maps.Keys(ids)) {
		slices.Sort(ids[channel])
		for part := range slices.Chunk(ids[channel], columns.KeysPerList) {
			var found []weir.ContactID
			err := s.Write.SelectContext(ctx, &found, "SELECT c.id"+withState+byIDs(len(part))+noState,
				append([]any{int64(channel)}, columns.Arguments(part)...)...)
			if err != nil {
				return nil, err
			}
			for _, id := range found {
				still[weir.Ref{Channel: channel, ID: id}] = true
			}
		}
	}
	return still, nil
}
