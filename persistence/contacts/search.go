package contacts

import (
	"cmp"
	"context"
	"math"

	"weir/persistence/columns"
)

const (
	// searchRangeSQL finds how far back a number of contacts reach.
	searchRangeSQL = "SELECT COUNT(*) AS n, COALESCE(MIN(id), 0) AS least_id FROM (" +
		"SELECT id FROM contacts WHERE channel_id = ? AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?) AS part"
	searchSQL = " WHERE c.channel_id = ? AND c.id < ? AND c.id >= ? AND c.addr IN "
	searchEnd = " ORDER BY c.id DESC LIMIT ?"
)

// search lists the contacts of a channel that go to an address, the newest first,
// until the call has examined enough.
func (p *page) search(ctx context.Context) (more bool, err error) {
	if p.full() {
		return true, nil
	}
	behind := min(p.high, cmp.Or(p.at.ID, math.MaxInt64))
	var part struct {
		N   int   `db:"n"`
		End int64 `db:"least_id"`
	}
	if err := p.s.Read.GetContext(ctx, &part, searchRangeSQL, p.at.Channel, behind, p.low, p.budget); err != nil {
		return false, err
	}
	more = part.N == p.budget
	p.budget -= max(part.N, columns.MaxSearched/(columns.MaxExamined/columns.SeekCost))
	args := []any{p.at.Channel, behind, part.End}
	for _, to := range p.f.To {
		args = append(args, to)
	}
	rows, _, err := p.read(ctx, searchSQL+columns.Marks(len(p.f.To))+searchEnd, append(args, p.f.Limit-len(p.found)+1)...)
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
