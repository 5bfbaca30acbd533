package contacts

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/persistence/columns"
)

// Bounds of reads for a list that is merged of several ranges.
const (
	headsChunk = 100 // ranges whose newest contact one statement finds
	minChunk   = 8   // rows of one range
)

// keyset is a place in a list from the newest on: a position, then an id.
type keyset struct {
	Pos int64 `db:"pos"`
	ID  int64 `db:"id"`
}

// compare orders places from the oldest on.
func (a keyset) compare(b keyset) int {
	return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.ID, b.ID))
}

// precedes reports whether a place comes before another in this list.
func (p *page) precedes(a, b keyset) bool {
	if p.at.Ends {
		return a.compare(b) < 0
	}
	return a.compare(b) > 0
}

// scan is a range of an index: the contacts of a channel or, by state, those of
// a lane of it.
type scan struct {
	Channel int64 `db:"channel_id"`
	Lane    int64 `db:"lane"`
	keyset        // of the next contact, or from where on one may be
	rows    []contactRow
	chunk   int  // how many rows the last read asked for
	ended   bool // it gave fewer
}

// walkNewest lists by acceptance, or state after state, from the newest on.
func (p *page) walkNewest(ctx context.Context) (more bool, err error) {
	states := []weir.State{0}
	if byState(&p.f) {
		states = p.f.States
	}
	from := keyset{p.at.Pos, p.at.ID - 1}
	for _, state := range states {
		if int8(state) < p.at.State {
			continue
		}
		if p.f.Cursor == "" || int8(state) > p.at.State {
			p.at = cursor{Channel: int64(p.f.Channel), State: int8(state), Pos: p.highPos - 1, ID: math.MaxInt64, Newest: true}
			from = keyset{p.at.Pos, p.at.ID}
		}
		if state == 0 {
			from.ID = min(from.ID, p.high-1)
			from.Pos = from.ID
		}
		if p.full() {
			return true, nil
		}
		list, err := p.scans(ctx, from)
		if err != nil {
			return false, err
		}
		if more, err := p.merge(ctx, list); more || err != nil {
			return more, err
		}
	}
	return false, nil
}

// walkEnds lists the contacts that are done, the earliest end first.
func (p *page) walkEnds(ctx context.Context) (more bool, err error) {
	if p.f.Cursor == "" {
		p.at = cursor{Channel: int64(p.f.Channel), State: int8(weir.Done), Pos: p.lowPos, ID: math.MinInt64, Ends: true}
	}
	list, err := p.scans(ctx, keyset{p.at.Pos, p.at.ID})
	if err != nil {
		return false, err
	}
	return p.merge(ctx, list)
}

// merge lists what matches of scans, always the first of all.
func (p *page) merge(ctx context.Context, list []scan) (more bool, err error) {
	for len(list) > 0 {
		if p.full() {
			return true, nil
		}
		next := 0
		for i := range list {
			if p.precedes(list[i].keyset, list[next].keyset) {
				next = i
			}
		}
		s := &list[next]
		if len(s.rows) == 0 { // others may precede what is read
			err = p.refill(ctx, s, len(list))
		} else {
			p.passNewest(s)
		}
		if err != nil {
			return false, err
		}
		if len(s.rows) == 0 && s.ended {
			list = slices.Delete(list, next, next+1)
		}
	}
	return false, nil
}

// refill reads on in a scan.
func (p *page) refill(ctx context.Context, s *scan, scans int) error {
	s.chunk = min(max(2*s.chunk, (p.f.Limit-len(p.found))/scans+1, minChunk), columns.MaxPage, p.budget)
	var asked int
	var err error
	if p.at.State == 0 {
		s.rows, asked, err = p.byID(ctx, s.Channel, p.low, s.ID, true, s.chunk)
	} else {
		s.rows, asked, err = p.readState(ctx, s.Channel, place{ID: s.ID, Lane: s.Lane, Pos: s.Pos}, s.chunk)
	}
	p.budget -= max(asked, columns.SeekCost)
	s.ended = asked < s.chunk
	if len(s.rows) > 0 {
		s.keyset = keysetOf(&s.rows[0])
	}
	return err
}

// passNewest lists the next row of a scan, if it matches, and moves on behind it.
func (p *page) passNewest(s *scan) {
	p.take(&s.rows[0])
	p.at.Pos, p.at.ID = s.Pos, s.ID
	s.rows = s.rows[1:]
	if !p.at.Ends { // a range from the newest on begins at its keyset, the other one behind it
		s.ID--
	}
	if p.at.State == 0 {
		s.Pos = s.ID
	}
	if len(s.rows) > 0 {
		s.keyset = keysetOf(&s.rows[0])
	}
}

func keysetOf(r *contactRow) keyset { return keyset{r.place.Pos, r.ID} }

// scans lists the ranges that have contacts from a keyset on, each at its first.
func (p *page) scans(ctx context.Context, from keyset) ([]scan, error) {
	list, err := p.ranges(ctx)
	if err != nil || len(list) == 1 {
		for i := range list {
			list[i].keyset = from
		}
		return list, err
	}
	if weir.State(p.at.State).InFlight() {
		return p.scansInFlight(ctx, list, from)
	}
	recent := p.recentHeads(list, from) // before the tables: a batch moves them there
	heads := make([]scan, 0, len(list))
	for part := range slices.Chunk(list, headsChunk) {
		var text []string
		var args []any
		for i := range part {
			one, values := p.headSQL(&part[i], from)
			text, args = append(text, one), append(args, values...)
		}
		var found []scan
		if err := p.s.Read.SelectContext(ctx, &found, strings.Join(text, " UNION ALL "), args...); err != nil {
			return nil, err
		}
		heads = append(heads, found...)
	}
	heads = p.firstOf(append(heads, recent...))
	for i := range heads {
		if p.at.Ends {
			heads[i].ID--
		}
	}
	return heads, nil
}

// recentHeads lists the first contacts of ranges, of those that the index by channel does not
// have yet.
func (p *page) recentHeads(list []scan, from keyset) (heads []scan) {
	state := weir.State(p.at.State)
	if !p.s.index.inUse() || state != 0 && state != weir.Done {
		return nil
	}
	for _, s := range list {
		if state == 0 {
			if ids, _ := p.s.index.acceptedOnly(s.Channel, p.low, from.ID, true, 1); len(ids) > 0 {
				heads = append(heads, scan{Channel: s.Channel, keyset: keyset{ids[0], ids[0]}})
			}
			continue
		}
		for _, e := range p.s.index.endedOnly(s.Channel, place{ID: from.ID, Pos: from.Pos}, p.lowPos, p.highPos, p.f.Newest, 1) {
			heads = append(heads, scan{Channel: s.Channel, keyset: keyset{e.Pos, e.ID}})
		}
	}
	return heads
}

// firstOf leaves the first head of each range.
func (p *page) firstOf(heads []scan) []scan {
	at := map[[2]int64]int{}
	list := heads[:0]
	for _, h := range heads {
		key := [2]int64{h.Channel, h.Lane}
		i, known := at[key]
		switch {
		case !known:
			at[key] = len(list)
			list = append(list, h)
		case p.precedes(h.keyset, list[i].keyset):
			list[i] = h
		}
	}
	return list
}

// headSQL finds the first contact of a range.
func (p *page) headSQL(s *scan, from keyset) (string, []any) {
	ids, done := "contacts", "contacts_done"
	if p.s.index.inUse() {
		ids, done = "contacts_by_channel", "contacts_by_end"
	}
	text, args := "SELECT id, 0 AS lane, id AS pos FROM "+ids+" WHERE channel_id = ? AND id <= ? AND id >= ? ORDER BY id DESC LIMIT 1", []any{s.Channel, from.ID, p.low}
	if p.at.State != 0 {
		text, args = rangeSQL(done, weir.State(p.at.State), s.Channel, place{ID: from.ID, Lane: s.Lane, Pos: from.Pos}, p.lowPos, p.highPos, p.f.Newest, 1)
	}
	return "SELECT " + strconv.FormatInt(s.Channel, 10) + " AS channel_id, lane, pos, id FROM (" + text + ") AS head", args
}

// scansInFlight lists the channels that have contacts in flight from a keyset on.
func (p *page) scansInFlight(ctx context.Context, list []scan, from keyset) ([]scan, error) {
	var heads []scan
	for _, s := range list {
		newest, err := p.places(ctx, s.Channel, place{ID: from.ID, Pos: from.Pos}, 1)
		if err != nil {
			return nil, err
		}
		if len(newest) > 0 {
			s.keyset = keyset{newest[0].Pos, newest[0].ID}
			heads = append(heads, s)
		}
	}
	return heads, nil
}

// ranges lists the ranges that there are for the state of p.at. Only waiting
// contacts stand in lanes.
func (p *page) ranges(ctx context.Context) (list []scan, err error) {
	switch {
	case p.f.Channel != 0:
		list = []scan{{Channel: int64(p.f.Channel)}}
	case weir.State(p.at.State) == weir.Queued:
		for _, channel := range slices.Sorted(maps.Keys(p.s.waiting.byChannel())) {
			list = append(list, scan{Channel: int64(channel)})
		}
	default:
		if err := p.s.Read.SelectContext(ctx, &list, "SELECT id AS channel_id, 0 AS lane FROM channels"); err != nil {
			return nil, err
		}
	}
	if weir.State(p.at.State) != weir.Queued {
		return list, nil
	}
	var lanes []scan
	for i := range list {
		heads, err := p.s.laneHeads(ctx, weir.ChannelID(list[i].Channel))
		if err != nil {
			return nil, err
		}
		for _, h := range heads {
			lanes = append(lanes, scan{Channel: list[i].Channel, Lane: h.Lane})
		}
	}
	return lanes, nil
}
