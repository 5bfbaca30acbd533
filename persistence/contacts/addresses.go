package contacts

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/channels"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/database"
)

// Addresses keeps the index of contacts by address. It is written in the background, a
// segment of contacts at a time: an index that each acceptance wrote would dirty a page more
// for each contact, because addresses come in no order.
//
// Only the owner of the database writes it, one call at a time.
type Addresses struct {
	*commit.DB
	channels *channels.Store
	inserted *atomic.Int64 // contacts, by this process; also by tries of batches that failed
	next     int64         // the value of inserted from which on a segment may be full; 0: at once
}

const (
	segmentChunk = 1000 // rows of a transaction
	segmentRows  = 200  // rows of a statement
	segmentPause = 5 * time.Millisecond
	segmentWidth = 4

	behindSQL    = "SELECT channel_id, id, addr FROM contacts WHERE channel_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?"
	behindAllSQL = "SELECT channel_id, id, addr FROM contacts WHERE id > ? AND id <= ? ORDER BY id LIMIT ?" // of all channels
)

// segment is a row of address_segments.
type segment struct {
	ID   int64 `db:"id"`
	High int64 `db:"high"`
}

// keyOf is the key of a contact or of a message, as a search finds it.
type keyOf struct {
	Channel int64 `db:"channel_id"`
	ID      int64 `db:"id"`
}

// located is a contact with its address.
type located struct {
	Channel int64  `db:"channel_id"`
	ID      int64  `db:"id"`
	Addr    string `db:"addr"`
}

// addressHash is how the index keeps an address. Two may have the same; nobody finds a phone number by it.
func addressHash(address string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(address))
	return int64(h.Sum32())
}

// fence is a work that writes nothing. Once it is done, every contact with a smaller id than
// its own is committed, or never will be.
type fence struct{}

// Write implements [commit.Work].
func (fence) Write(t *commit.Tx, r *commit.Request) error {
	t.GiveIDs(r, 1)
	return nil
}

// IndexAddresses adds the oldest contacts that are in no segment, size of them, to the index.
// It does nothing while there are fewer, and returns whether it did something. Another call may
// repeat what one that was interrupted has begun. It is for the owner of the database. It reads
// nothing until as many contacts have been inserted as a segment lacked at the last call.
func (s *Addresses) IndexAddresses(ctx context.Context, size int) (more bool, err error) {
	inserted := s.inserted.Load() // before the fence: what is counted later may not be read
	if inserted < s.next {
		return false, nil
	}
	var last segment
	if err := s.Read.GetContext(ctx, &last, "SELECT COALESCE(MAX(id), 0) AS id, COALESCE(MAX(high), 0) AS high FROM address_segments"); err != nil {
		return false, s.Failure("read the index of addresses", err)
	}
	r := &commit.Request{Work: fence{}, Rows: 1, Bytes: 1}
	call, err := s.NewCall(ctx, r)
	if err != nil {
		return false, err
	}
	call.Submit(nil)
	if err := call.Wait(); err != nil {
		return false, err
	}
	list, err := s.behind(ctx, last.High, r.IDs[0], size)
	if err != nil {
		return false, s.Failure("read contacts that are not indexed", err)
	}
	if len(list) < size {
		s.next = inserted + int64(size-len(list))
		return false, nil
	}
	next := segment{last.ID + 1, list[len(list)-1].ID}
	return true, s.Failure("index addresses", s.writeSegment(ctx, next, list))
}

// behind lists the oldest contacts with greater ids than one and smaller ones than another,
// over all channels: about size of them, if there are as many.
func (s *Addresses) behind(ctx context.Context, after, before int64, size int) ([]located, error) {
	high := before - 1
	var list []located
	if s.Dialect.IndexLater { // contacts are in the order of their ids, over all channels
		return list, s.Read.SelectContext(ctx, &list, behindAllSQL, after, high, size)
	}
	all, err := s.channels.All(ctx)
	if err != nil {
		return nil, err
	}
	cut := func() {
		slices.SortFunc(list, func(a, b located) int { return cmp.Compare(a.ID, b.ID) })
		if len(list) > size {
			n := size
			for high = list[size-1].ID; n < len(list) && list[n].ID == high; n++ {
			}
			list = list[:n]
		}
	}
	for i := range all {
		var rows []located
		if err := s.Read.SelectContext(ctx, &rows, behindSQL, int64(all[i].ID), after, high, size); err != nil {
			return nil, err
		}
		if list = append(list, rows...); len(list) > 2*size {
			cut()
		}
	}
	cut()
	return list, nil
}

// writeSegment writes a segment in small transactions. Its own row comes last: until then the
// contacts are searched without it.
func (s *Addresses) writeSegment(ctx context.Context, next segment, list []located) error {
	rows := make([][segmentWidth]int64, len(list))
	for i := range list {
		rows[i] = [segmentWidth]int64{next.ID, addressHash(list[i].Addr), list[i].ID, list[i].Channel}
	}
	slices.SortFunc(rows, func(a, b [segmentWidth]int64) int { return slices.Compare(a[:], b[:]) })
	head := "INSERT INTO contact_addresses (segment, hash, id, channel_id) VALUES "
	tail := s.Dialect.Merge("segment", "hash", "id", "channel_id") + "channel_id = " + s.Dialect.Fresh("channel_id")
	for part := range slices.Chunk(rows, segmentChunk) {
		err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
			for some := range slices.Chunk(part, segmentRows) {
				args := make([]any, 0, segmentWidth*len(some))
				for _, row := range some {
					args = append(args, row[0], row[1], row[2], row[3])
				}
				if _, err := tx.ExecContext(ctx, head+columns.RowsOf(len(some), segmentWidth)+tail, args...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if !database.Pause(ctx, segmentPause) { // what is dispatched has priority
			return ctx.Err()
		}
	}
	_, err := s.Exec(ctx, "INSERT INTO address_segments (id, high) VALUES "+columns.Marks(2), next.ID, next.High)
	return err
}

// The statements that report whether a contact of any channel has an id up to a bound.
const (
	anyUpToSQL    = "SELECT EXISTS (SELECT 1 FROM channels c WHERE (SELECT x.id FROM contacts x WHERE x.channel_id = c.id ORDER BY x.id LIMIT 1) <= ?)"
	anyUpToAllSQL = "SELECT EXISTS (SELECT 1 FROM contacts WHERE id <= ?)" // where contacts are in the order of their ids
)

// holds reports whether a segment has contacts that are not deleted.
func (s *Addresses) holds(ctx context.Context, old segment) (holds bool, err error) {
	text := anyUpToSQL
	if s.Dialect.IndexLater {
		text = anyUpToAllSQL
	}
	return holds, s.Read.GetContext(ctx, &holds, text, old.High)
}

const segmentPartSQL = "SELECT COALESCE(MAX(hash), -1) FROM (SELECT hash FROM contact_addresses WHERE segment = ? ORDER BY hash, id LIMIT ?) AS part"

// PurgeAddresses removes a part of a segment, limit rows of it, whose contacts are all
// deleted, and returns whether it did something.
func (s *Addresses) PurgeAddresses(ctx context.Context, limit int) (more bool, err error) {
	var old []segment
	if err := s.Read.SelectContext(ctx, &old, "SELECT id, high FROM address_segments ORDER BY id LIMIT 1"); err != nil || len(old) == 0 {
		return false, s.Failure("read the index of addresses", err)
	}
	if holds, err := s.holds(ctx, old[0]); err != nil || holds {
		return false, s.Failure("find the oldest contact", err)
	}
	err = s.Transaction(ctx, func(tx *sqlx.Tx) error {
		var high int64
		if err := tx.GetContext(ctx, &high, segmentPartSQL, old[0].ID, limit); err != nil {
			return err
		}
		text, args := "DELETE FROM contact_addresses WHERE segment = ? AND hash <= ?", []any{old[0].ID, high}
		if high < 0 {
			text, args = "DELETE FROM address_segments WHERE id = ?", args[:1]
		}
		_, err := tx.ExecContext(ctx, text, args...)
		return err
	})
	return err == nil, s.Failure("purge the index of addresses", err)
}

// segmentsPerRead is how many segments one statement searches.
const segmentsPerRead = 32

// candidatesSQL finds contacts in n segments, by the hashes of m spellings of an address.
func (s *Reader) candidatesSQL(n, m int) string {
	return "SELECT channel_id, id FROM contact_addresses" + s.Dialect.ThroughKey + " WHERE segment IN " + columns.Marks(n) + " AND hash IN " + columns.Marks(m) +
		" AND id < ? LIMIT ?"
}

// ContactsTo implements [weir.AddressReader].
func (s *Reader) ContactsTo(ctx context.Context, to []string, before weir.ContactID, limit int) (weir.AddressPage, error) {
	limit = min(max(limit, 1), columns.MaxPage)
	a := &addressSearch{s: s, to: to, before: cmp.Or(int64(before), math.MaxInt64), limit: limit}
	page, err := a.run(ctx)
	return page, s.Failure("find the contacts of an address", err)
}

// addressSearch collects the newest contacts of an address.
type addressSearch struct {
	s      *Reader
	to     []string
	before int64
	limit  int
	found  []contactRow // one more than the limit shows that there are more
}

func (a *addressSearch) run(ctx context.Context) (page weir.AddressPage, err error) {
	var segments []segment
	if err := a.s.Read.SelectContext(ctx, &segments, "SELECT id, high FROM address_segments ORDER BY id DESC"); err != nil {
		return page, err
	}
	low := int64(0)
	if len(segments) > 0 {
		low = segments[0].High
	}
	gap, err := a.newest(ctx, low)
	if err != nil {
		return page, err
	}
	if gap > 0 {
		page.GapSince, page.GapUntil = database.InstantOfID(low), database.InstantOfID(gap)
	}
	a.sort()
	for part := range slices.Chunk(segments, segmentsPerRead) {
		if len(a.found) > a.limit {
			break
		}
		if err := a.indexed(ctx, part); err != nil {
			return page, err
		}
	}
	page.More = len(a.found) > a.limit
	for i := range a.found[:min(len(a.found), a.limit)] {
		c, _ := a.found[i].readable()
		page.Contacts = append(page.Contacts, c)
	}
	return page, nil
}

func (a *addressSearch) sort() {
	slices.SortFunc(a.found, func(x, y contactRow) int { return cmp.Compare(y.ID, x.ID) })
}

// newest searches the contacts behind the last segment, which has the ids up to low, channel
// by channel. If there are too many, gap is where it has ended.
func (a *addressSearch) newest(ctx context.Context, low int64) (gap int64, err error) {
	if a.before <= low {
		return 0, nil
	}
	var ids []int64
	if err := a.s.Read.SelectContext(ctx, &ids, "SELECT id FROM channels ORDER BY id"); err != nil {
		return 0, err
	}
	budget := columns.MaxSearched
	p := &page{s: a.s}
	for _, channel := range ids {
		n := max(budget, columns.SeekCost)
		part, err := p.searchRange(ctx, channel, a.before, low+1, n)
		if err != nil {
			return 0, err
		}
		if budget -= part.N; part.N == n {
			gap = max(gap, part.End)
		}
		if part.N == 0 {
			continue
		}
		rows, err := p.searchIn(ctx, channel, a.before, part, a.to, a.limit+1)
		if err != nil {
			return 0, err
		}
		a.found = append(a.found, rows...)
	}
	return gap, nil
}

// indexed searches segments, of which the first is the newest. If they have very many of the
// address, it searches them in parts: a segment alone has not more than its size.
func (a *addressSearch) indexed(ctx context.Context, segments []segment) error {
	args := make([]any, 0, len(segments)+len(a.to)+2)
	for _, s := range segments {
		args = append(args, s.ID)
	}
	for _, to := range a.to {
		args = append(args, addressHash(to))
	}
	most := columns.MaxExamined
	if len(segments) == 1 {
		most = math.MaxInt32
	}
	var rows []keyOf
	if err := a.s.Read.SelectContext(ctx, &rows, a.s.candidatesSQL(len(segments), len(a.to)), append(args, a.before, most)...); err != nil {
		return err
	}
	if len(rows) == most {
		half := len(segments) / 2
		if err := a.indexed(ctx, segments[:half]); err != nil || len(a.found) > a.limit {
			return err
		}
		return a.indexed(ctx, segments[half:])
	}
	slices.SortFunc(rows, func(x, y keyOf) int { return cmp.Compare(y.ID, x.ID) })
	for part := range slices.Chunk(rows, a.limit+1) {
		if err := a.add(ctx, part); err != nil || len(a.found) > a.limit {
			return err
		}
	}
	return nil
}

// add adds those contacts of the index that exist and have the address.
func (a *addressSearch) add(ctx context.Context, keys []keyOf) error {
	byChannel := map[int64][]place{}
	for _, k := range keys {
		byChannel[k.Channel] = append(byChannel[k.Channel], place{ID: k.ID})
	}
	for channel, places := range byChannel {
		rows, err := a.s.readPlaces(ctx, channel, places)
		if err != nil {
			return err
		}
		for i := range rows {
			if slices.Contains(a.to, rows[i].Addr) {
				a.found = append(a.found, rows[i])
			}
		}
	}
	a.sort()
	return nil
}
