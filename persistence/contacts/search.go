package contacts

import (
	"cmp"
	"context"
	"math"
	"slices"

	"weir/persistence/columns"
)

const (
	searchSQL = " WHERE c.channel_id = ? AND c.id < ? AND c.id >= ? AND c.addr IN "
	searchEnd = " ORDER BY c.id DESC LIMIT ?"

	// The same by the index by channel.
	indexedSearchSQL = " WHERE o.channel_id = ? AND o.id < ? AND o.id >= ? AND c.addr IN "
	indexedSearchEnd = " ORDER BY o.id DESC LIMIT ?"
)

// searchRangeSQL finds how far back a number of contacts reach, by a table with their ids.
func searchRangeSQL(table string) string {
	return "SELECT COUNT(*) AS n, COALESCE(MIN(id), 0) AS least_id FROM (" +
		"SELECT id FROM " + table + " WHERE channel_id = ? AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?) AS part"
}

// search lists the contacts of a channel that go to an address, the newest first,
// until the call has examined enough.
func (p *page) search(ctx context.Context) (more bool, err error) {
	if p.full() {
		return true, nil
	}
	behind := min(p.high, cmp.Or(p.at.ID, math.MaxInt64))
	part, err := p.searchRange(ctx, p.at.Channel, behind, p.low, p.budget)
	if err != nil {
		return false, err
	}
	more = part.N == p.budget
	p.budget -= max(part.N, columns.MaxSearched/(columns.MaxExamined/columns.SeekCost))
	rows, err := p.searchIn(ctx, p.at.Channel, behind, part, p.f.To, p.f.Limit-len(p.found)+1)
	if err != nil {
		return false, err
	}
	for i := range rows {
		if len(p.found) >= p.f.Limit {
			return true, nil
		}
		p.take(&rows[i])
		p.at.ID = rows[i].ID
	}
	if more {
		p.at.ID = part.End
	}
	return more, nil
}

// searched is a part of a channel's contacts: how many there are, and the least id.
type searched struct {
	N   int   `db:"n"`
	End int64 `db:"least_id"`
}

// searchRange finds how far back a number of contacts reach, from before one id to another.
func (p *page) searchRange(ctx context.Context, channel, behind, low int64, most int) (part searched, err error) {
	if !p.s.index.inUse() {
		return part, p.s.Read.GetContext(ctx, &part, searchRangeSQL("contacts"), channel, behind, low, most)
	}
	recent, table := p.s.index.acceptedOnly(channel, low, behind-1, true, most)
	if len(recent) < most {
		err = p.s.Read.GetContext(ctx, &part, searchRangeSQL("contacts_by_channel"), channel, min(behind, table+1), low, most-len(recent))
	}
	if len(recent) > 0 && part.N == 0 {
		part.End = recent[len(recent)-1]
	}
	part.N += len(recent)
	return part, err
}

// searchIn lists the newest contacts of a part that go to one of some addresses.
func (p *page) searchIn(ctx context.Context, channel, behind int64, part searched, to []string, limit int) (found []contactRow, err error) {
	addresses := make([]any, 0, len(to)+1)
	for _, a := range to {
		addresses = append(addresses, a)
	}
	if !p.s.index.inUse() {
		found, _, err = p.read(ctx, searchSQL+columns.Marks(len(to))+searchEnd, append(append([]any{channel, behind, part.End}, addresses...), limit)...)
		return found, err
	}
	recent, table := p.s.index.acceptedOnly(channel, part.End, behind-1, true, math.MaxInt32)
	for some := range slices.Chunk(recent, columns.KeysPerList) {
		if len(found) >= limit {
			return found, nil
		}
		args := append(append([]any{channel}, columns.Arguments(some)...), addresses...)
		rows, _, err := p.read(ctx, byIDs(len(some))+" AND c.addr IN "+columns.Marks(len(to))+searchEnd, append(args, limit-len(found))...)
		if err != nil {
			return nil, err
		}
		found = append(found, rows...)
	}
	if len(found) >= limit || part.End > table {
		return found, nil
	}
	args := append(append([]any{channel, min(behind, table+1), part.End}, addresses...), limit-len(found))
	rows, _, err := p.read(ctx, indexedSearchSQL+columns.Marks(len(to))+indexedSearchEnd, args...)
	return append(found, rows...), err
}
