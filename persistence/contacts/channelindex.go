package contacts

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
	"weir/persistence/multirow"
)

// indexEvery is how many contacts one batch adds to a table of the index by channel.
const indexEvery = 4000

// channelIndex finds the contacts of a channel by their ids, and its done contacts by their
// ends, where the database has no index for that ([dialect.Statements.IndexLater]). Its
// tables contacts_by_channel and contacts_by_end get their rows some thousand at a time, by a
// batch; until then the rows are known in memory alone, and found again at a start: contacts
// by their ids, which are greater than high, and ends by the log of the contacts in flight.
//
// The writer's goroutine adds to it, under the lock; others remove what a purge deletes. They do that inside their transaction, which no
// batch is beside: so a batch adds no contact to the tables that is deleted.
type channelIndex struct {
	every int // as indexEvery

	mu                sync.RWMutex
	complete          bool                // it has the contacts from before there was an index; until then reads use the indexes of the database
	high              int64               // no contact that is in memory alone has a smaller id
	accepted          map[int64][]int64   // contacts that are in memory alone, by channel, in the order of their ids
	ended             map[int64][]keyset  // the same of ends, in their order
	nAccepted, nEnded int                 // how many there are of both
	batch             channelIndexOfBatch // for when it is committed
}

// channelIndexOfBatch is what a batch changes.
type channelIndexOfBatch struct {
	accepted []keyOf
	ended    []record
	high     int64 // the new one; 0: the batch does not write contacts_by_channel
	ends     bool  // it writes contacts_by_end
}

func newChannelIndex() *channelIndex {
	return &channelIndex{every: indexEvery, accepted: map[int64][]int64{}, ended: map[int64][]keyset{}}
}

// SetIndexEvery sets how many contacts one batch adds to a table of the index by channel; 0: as
// many as by default. It comes before Recover.
func (s *Queue) SetIndexEvery(n int) {
	if s.index != nil {
		s.index.every = cmp.Or(n, indexEvery)
	}
}

// begin forgets what an earlier try has collected.
func (x *channelIndex) begin() {
	if x != nil {
		x.batch = channelIndexOfBatch{}
	}
}

// accept adds a contact that the batch inserts.
func (x *channelIndex) accept(c *weir.Contact) {
	if x != nil {
		x.batch.accepted = append(x.batch.accepted, keyOf{int64(c.Channel), int64(c.ID)})
	}
}

// end adds a contact that is done with the batch.
func (x *channelIndex) end(c *weir.Contact) {
	if x != nil {
		x.batch.ended = append(x.batch.ended, record{c.Ref, weir.Progress{State: weir.Done, Rev: c.Rev, FinishedAt: c.FinishedAt}})
	}
}

// ends returns the records of the contacts that are done with the batch, as its row keeps
// them.
func (x *channelIndex) ends() []record {
	if x == nil {
		return nil
	}
	return x.batch.ended
}

// wrote reports whether the batch added all ends to the table that earlier ones have left, and
// whether it has ends itself.
func (x *channelIndex) wrote() (ends, more bool) {
	if x == nil {
		return false, false
	}
	return x.batch.ends, len(x.batch.ended) > 0
}

// The statements that add rows to the tables.
const (
	indexAcceptedSQL = "INSERT INTO contacts_by_channel (channel_id, id) SELECT channel_id, id FROM contacts WHERE id > ? AND id <= ? ORDER BY channel_id, id"
	indexEndedSQL    = "INSERT INTO contacts_by_end (channel_id, finished_at, id) SELECT channel_id, finished_at, id FROM contacts_done WHERE id > ? AND id <= ? ORDER BY channel_id, finished_at, id"
	indexedSQL       = "UPDATE meta SET value = ? WHERE name = "
)

// write adds the rows that are in memory alone to a table, once there are enough of them. It
// follows the statements that insert the contacts of the batch.
func (x *channelIndex) write(t *commit.Tx) {
	if x == nil {
		return
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	var behind []any // the clock went back over a start, and ids with it
	for _, k := range x.batch.accepted {
		if k.ID <= x.high {
			behind = append(behind, k.Channel, k.ID)
		}
	}
	insertNew(t, "contacts_by_channel (channel_id, id)", 2, behind)
	switch {
	case x.nAccepted >= x.every:
		for _, ids := range x.accepted {
			x.batch.high = max(x.batch.high, ids[len(ids)-1])
		}
		t.Add(indexAcceptedSQL+t.Dialect().KeepContact, x.high, x.batch.high)
		t.Add(indexedSQL+"'contacts_indexed'", x.batch.high)
	case x.nEnded >= x.every:
		x.batch.ends = true
		args := make([]any, 0, 3*x.nEnded)
		for _, channel := range slices.Sorted(maps.Keys(x.ended)) {
			for _, e := range x.ended[channel] {
				args = append(args, channel, e.Pos, e.ID)
			}
		}
		insertNew(t, "contacts_by_end (channel_id, finished_at, id)", 3, args)
	}
}

// insertNew inserts rows that may be there already.
func insertNew(t *commit.Tx, into string, width int, args []any) {
	row := columns.Marks(width)
	for part := range slices.Chunk(args, multirow.MaxBound*width) {
		n := len(part) / width
		places := multirow.PlacesFor(n)
		text := t.Text(dialect.TextName{Into: into, Row: row, Rows: places}, func() string { return t.Dialect().InsertRows(into, row, places) + t.Dialect().KeepContact })
		t.Add(text, multirow.Fill(slices.Clip(part), (places-n)*width)...)
	}
}

// committed applies what the batch has written.
func (x *channelIndex) committed() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.batch.high > 0 {
		x.high, x.nAccepted = x.batch.high, 0
		clear(x.accepted)
	}
	if x.batch.ends {
		x.nEnded = 0
		clear(x.ended)
	}
	for _, k := range x.batch.accepted {
		x.addAccepted(k)
	}
	for i := range x.batch.ended {
		r := &x.batch.ended[i]
		x.addEnded(int64(r.ref.Channel), keyset{columns.Micros(r.progress.FinishedAt), int64(r.ref.ID)})
	}
}

func (x *channelIndex) addAccepted(k keyOf) {
	if k.ID <= x.high {
		return
	}
	list := x.accepted[k.Channel]
	if at, known := slices.BinarySearch(list, k.ID); !known {
		x.accepted[k.Channel] = slices.Insert(list, at, k.ID)
		x.nAccepted++
	}
}

func (x *channelIndex) addEnded(channel int64, e keyset) {
	list := x.ended[channel]
	if at, known := slices.BinarySearchFunc(list, e, keyset.compare); !known {
		x.ended[channel] = slices.Insert(list, at, e)
		x.nEnded++
	}
}

// removed forgets contacts that are done and that a transaction deletes.
func (x *channelIndex) removed(channel weir.ChannelID, list []keyset) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range list {
		ids, ends := x.accepted[int64(channel)], x.ended[int64(channel)]
		if at, known := slices.BinarySearch(ids, e.ID); known {
			x.accepted[int64(channel)] = slices.Delete(ids, at, at+1)
			x.nAccepted--
		}
		if at, known := slices.BinarySearchFunc(ends, e, keyset.compare); known {
			x.ended[int64(channel)] = slices.Delete(ends, at, at+1)
			x.nEnded--
		}
		if len(x.accepted[int64(channel)]) == 0 {
			delete(x.accepted, int64(channel))
		}
		if len(x.ended[int64(channel)]) == 0 {
			delete(x.ended, int64(channel))
		}
	}
}

// restored takes back what [channelIndex.removed] forgot, if the contacts were not deleted.
func (x *channelIndex) restored(channel weir.ChannelID, list []keyset) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range list {
		x.addAccepted(keyOf{int64(channel), e.ID})
		x.addEnded(int64(channel), e)
	}
}

// inUse reports whether reads go through it.
func (x *channelIndex) inUse() bool {
	if x == nil {
		return false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.complete
}

func (x *channelIndex) setComplete() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.complete = true
}

// acceptedOnly returns the ids between two bounds of contacts of a channel that are in memory
// alone, limit of them at most. All with smaller ids than the second result are in the table.
func (x *channelIndex) acceptedOnly(channel, low, high int64, newest bool, limit int) (list []int64, table int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	all := x.accepted[channel]
	from, _ := slices.BinarySearch(all, low)
	to, last := slices.BinarySearch(all, high)
	if last {
		to++
	}
	if from >= to {
		return nil, x.high
	}
	if all = all[from:to]; newest {
		list = slices.Clone(all[max(0, len(all)-limit):])
		slices.Reverse(list)
		return list, x.high
	}
	return slices.Clone(all[:min(limit, len(all))]), x.high
}

// endedOnly returns what [rangeSQL] finds, of the ends that are in memory alone.
func (x *channelIndex) endedOnly(channel int64, from place, low, high int64, newest bool, limit int) (list []place) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	all, at := x.ended[channel], keyset{from.Pos, from.ID}
	if newest {
		for i := len(all) - 1; i >= 0 && len(list) < limit && all[i].Pos >= low; i-- {
			if all[i].compare(at) <= 0 {
				list = append(list, place{ID: all[i].ID, Pos: all[i].Pos})
			}
		}
		return list
	}
	for _, e := range all {
		if len(list) == limit || e.Pos >= high {
			break
		}
		if e.Pos >= low && e.compare(at) > 0 {
			list = append(list, place{ID: e.ID, Pos: e.Pos})
		}
	}
	return list
}

// endedBefore returns the channels that have contacts which were done before an instant and whose ends
// are in memory alone.
func (x *channelIndex) endedBefore(at int64) (list []weir.ChannelID) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for channel, ends := range x.ended {
		if ends[0].Pos < at {
			list = append(list, weir.ChannelID(channel))
		}
	}
	return list
}

// has reports whether contacts of a channel are in memory alone.
func (x *channelIndex) has(channel weir.ChannelID) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.accepted[int64(channel)]) > 0
}

// hasContacts reports whether a channel has a contact at all.
func (s *Reader) hasContacts(ctx context.Context, q dialect.Reader, channel weir.ChannelID) (bool, error) {
	table := "contacts"
	if s.index.inUse() {
		if s.index.has(channel) {
			return true, nil
		}
		table = "contacts_by_channel"
	}
	var n int
	err := q.GetContext(ctx, &n, "SELECT COUNT(*) FROM (SELECT 1 FROM "+table+" WHERE channel_id = ? LIMIT 1) c", int64(channel))
	return n > 0, err
}

// mergePlaces merges two lists in one order, without what is in both, up to a limit.
func mergePlaces(a, b []place, newest bool, limit int) []place {
	order := func(a, b place) int { return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.ID, b.ID)) }
	if newest {
		order = func(a, b place) int { return cmp.Or(cmp.Compare(b.Pos, a.Pos), cmp.Compare(b.ID, a.ID)) }
	}
	all := append(a, b...)
	slices.SortFunc(all, order)
	all = slices.CompactFunc(all, func(a, b place) bool { return a.ID == b.ID && a.Pos == b.Pos })
	return all[:min(limit, len(all))]
}

// indexState is what meta says about the index.
type indexState struct {
	High       int64 `db:"high"`
	Old        int64 `db:"old"`
	OldIndexed int64 `db:"old_indexed"`
}

const indexStateSQL = "SELECT (SELECT value FROM meta WHERE name = 'contacts_indexed') AS high, " +
	"(SELECT value FROM meta WHERE name = 'contacts_old') AS old, (SELECT value FROM meta WHERE name = 'contacts_old_indexed') AS old_indexed"

// dropOldIndexes are the statements that drop the indexes of the database.
func dropOldIndexes() []string {
	return []string{"DROP INDEX IF EXISTS contacts_channel", "DROP INDEX IF EXISTS contacts_done_time"}
}

// recoverIndex finds the contacts that are in no table of the index yet. The ends are among the
// contacts that the log names, as far as these are not in flight.
func (s *Queue) recoverIndex(ctx context.Context, logged map[weir.Ref]record, still map[weir.Ref]bool) (ended map[weir.Ref]bool, err error) {
	ended = map[weir.Ref]bool{}
	if s.index == nil {
		return ended, nil
	}
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	var state indexState
	if err := s.Write.GetContext(ctx, &state, indexStateSQL); err != nil {
		return nil, err
	}
	if state.OldIndexed >= state.Old {
		for _, text := range dropOldIndexes() { // a new database has them, too
			if _, err := s.Write.ExecContext(ctx, text); err != nil {
				return nil, err
			}
		}
		s.index.complete = true
	}
	s.index.high = state.High
	var keys []keyOf
	if err := s.Write.SelectContext(ctx, &keys, "SELECT channel_id, id FROM contacts WHERE id > ?", state.High); err != nil {
		return nil, err
	}
	for _, k := range keys {
		s.index.addAccepted(k)
	}
	byChannel := map[weir.ChannelID][]weir.ContactID{}
	for ref := range logged {
		if !still[ref] {
			byChannel[ref.Channel] = append(byChannel[ref.Channel], ref.ID)
		}
	}
	for channel, ids := range byChannel {
		for part := range slices.Chunk(ids, columns.KeysPerList) {
			var list []keyset
			if err := s.Write.SelectContext(ctx, &list, doneSQL+columns.Marks(len(part)), append([]any{int64(channel)}, columns.Arguments(part)...)...); err != nil {
				return nil, err
			}
			for _, e := range list {
				s.index.addEnded(int64(channel), e)
				ended[weir.Ref{Channel: channel, ID: weir.ContactID(e.ID)}] = true
			}
		}
	}
	return ended, nil
}

// doneSQL finds those of some contacts that are done, with their ends.
const doneSQL = "SELECT id, finished_at AS pos FROM contacts_done WHERE channel_id = ? AND id IN "

// IndexOldContacts adds some of the contacts to the index by channel that were there before it,
// size of them, and returns whether there are more. Then it drops the indexes of the database
// that did its work.
func (s *Queue) IndexOldContacts(ctx context.Context, size int) (more bool, err error) {
	if s.index == nil || s.index.inUse() {
		return false, nil
	}
	err = s.Transaction(ctx, func(tx *sqlx.Tx) error {
		var state indexState
		if err := tx.GetContext(ctx, &state, indexStateSQL); err != nil {
			return err
		}
		var part struct {
			N    int   `db:"n"`
			Last int64 `db:"last"`
		}
		if err := tx.GetContext(ctx, &part, oldPartSQL, state.OldIndexed, state.Old, size); err != nil {
			return err
		}
		if more = part.N == size; !more {
			part.Last = state.Old
		}
		for _, text := range []string{indexAcceptedSQL, indexEndedSQL} {
			if _, err := tx.ExecContext(ctx, text+s.Dialect.KeepContact, state.OldIndexed, part.Last); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, indexedSQL+"'contacts_old_indexed'", part.Last)
		for _, text := range dropOldIndexes() {
			if err == nil && !more {
				_, err = tx.ExecContext(ctx, text)
			}
		}
		return err
	})
	if err == nil && !more {
		s.index.setComplete()
	}
	return err == nil && more, s.Failure("index old contacts", err)
}

const oldPartSQL = "SELECT COUNT(*) AS n, COALESCE(MAX(id), 0) AS last FROM (SELECT id FROM contacts WHERE id > ? AND id <= ? ORDER BY id LIMIT ?) AS part"
