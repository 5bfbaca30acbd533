package contacts

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"

	"weir"
	"weir/persistence/columns"
	"weir/persistence/database"
)

// Contact implements [weir.ContactReader].
func (s *Reader) Contact(ctx context.Context, ref weir.Ref) (weir.Contact, []weir.Attempt, error) {
	c, err := s.contact(ctx, ref)
	if errors.Is(err, sql.ErrNoRows) {
		return weir.Contact{}, nil, weir.Errorf(weir.CodeNotFound, "no such contact")
	}
	if err != nil {
		return weir.Contact{}, nil, s.Failure("read a contact", err)
	}
	attempts, err := s.attempts(ctx, ref)
	return c, attempts, err
}

// contact reads a contact with its state.
func (s *Reader) contact(ctx context.Context, ref weir.Ref) (weir.Contact, error) {
	rows, err := s.readContacts(ctx, s.Read, byIDs(1), []any{int64(ref.Channel), int64(ref.ID)})
	if err == nil && len(rows) == 0 {
		err = sql.ErrNoRows
	}
	if err == nil {
		err = s.resolve(ctx, s.Read, rows)
	}
	if err != nil {
		return weir.Contact{}, err
	}
	c, _ := rows[0].readable()
	return c, nil
}

// ContactsByRef returns contacts with their states, without their earlier attempts, in no order. It skips
// unknown ones.
func (s *Reader) ContactsByRef(ctx context.Context, refs []weir.Ref) ([]weir.Contact, error) {
	byChannel := map[weir.ChannelID][]place{}
	for _, r := range refs {
		byChannel[r.Channel] = append(byChannel[r.Channel], place{ID: int64(r.ID)})
	}
	list := make([]weir.Contact, 0, len(refs))
	for channel, places := range byChannel {
		rows, err := s.readPlaces(ctx, int64(channel), places)
		if err != nil {
			return nil, s.Failure("read contacts", err)
		}
		for i := range rows {
			c, _ := rows[i].readable()
			list = append(list, c)
		}
	}
	return list, nil
}

func (s *Reader) attempts(ctx context.Context, ref weir.Ref) ([]weir.Attempt, error) {
	var rows []struct {
		Number      int     `db:"number"`
		ClaimedAt   int64   `db:"claimed_at"`
		SentAt      int64   `db:"sent_at"`
		HeardAt     int64   `db:"heard_at"`
		FinishedAt  int64   `db:"finished_at"`
		ProviderRef string  `db:"provider_ref"`
		Outcome     string  `db:"outcome"`
		Reason      string  `db:"reason"`
		Receipt     *string `db:"receipt"`
	}
	err := s.Read.SelectContext(ctx, &rows, "SELECT number, claimed_at, sent_at, heard_at, finished_at, provider_ref, outcome, reason, "+
		"(SELECT facts FROM attempt_receipts r WHERE r.channel_id = a.channel_id AND r.contact_id = a.contact_id AND r.number = a.number) AS receipt "+
		"FROM attempts a WHERE channel_id = ? AND contact_id = ? ORDER BY number", int64(ref.Channel), int64(ref.ID))
	if err != nil {
		return nil, s.Failure("read the attempts of a contact", err)
	}
	var list []weir.Attempt
	for _, r := range rows {
		var receipt weir.Receipt
		if r.Receipt != nil {
			receipt.Facts = *r.Receipt
		}
		list = append(list, weir.Attempt{
			Number: r.Number, ClaimedAt: columns.Instant(r.ClaimedAt), SentAt: columns.Instant(r.SentAt), HeardAt: columns.Instant(r.HeardAt),
			FinishedAt: columns.Instant(r.FinishedAt), ProviderRef: r.ProviderRef, Outcome: weir.Outcome(r.Outcome), Reason: r.Reason, Receipt: receipt,
		})
	}
	return list, nil
}

// Contacts implements [weir.ContactReader].
func (s *Reader) Contacts(ctx context.Context, f weir.ContactFilter) ([]weir.Contact, string, error) {
	f.Limit = min(cmp.Or(max(f.Limit, 0), columns.DefaultPage), columns.MaxPage)
	if (f.Outcome != "" || finished(&f)) && len(f.States) == 0 {
		f.States = []weir.State{weir.Done} // by the index, in the order of their ends
	}
	f.States = slices.Compact(slices.Sorted(slices.Values(f.States)))
	f.Newest = f.Newest && f.Key == "" && len(f.To) == 0 // of those there are few, listed by channel
	p := &page{s: s, f: f, budget: columns.MaxExamined}
	if len(f.To) > 0 {
		p.budget = columns.MaxSearched
	}
	p.low, p.high = database.Bounds(f.Since, f.Until)
	p.lowPos, p.highPos = math.MinInt64, math.MaxInt64
	if finished(&f) {
		p.lowPos, p.highPos = max(columns.Micros(f.FinishedSince), columns.Micros(f.FinishedAfter)+1), cmp.Or(columns.Micros(f.FinishedUntil), math.MaxInt64)
	}
	if f.Cursor != "" {
		at, err := parseCursor(f.Cursor, &f)
		if err != nil {
			return nil, "", err
		}
		p.at = at
	}
	walk := p.walk
	switch {
	case f.Newest:
		walk = p.walkNewest
	case byEnds(&f):
		walk = p.walkEnds
	}
	more, err := walk(ctx)
	if err != nil {
		return nil, "", s.Failure("list contacts", err)
	}
	if !more {
		return p.found, "", nil
	}
	return p.found, p.at.String(), nil
}

// walk goes through the channels in the order of their ids. more says that
// the page ended first.
func (p *page) walk(ctx context.Context) (more bool, err error) {
	channels := []int64{int64(p.f.Channel)}
	if p.f.Channel == 0 {
		channels = nil
		err := p.s.Read.SelectContext(ctx, &channels, "SELECT id FROM channels WHERE id >= ? ORDER BY id LIMIT ?",
			p.at.Channel, columns.MaxExamined/columns.SeekCost+1)
		if err != nil {
			return false, err
		}
	}
	for _, id := range channels {
		if id != p.at.Channel {
			p.at = p.start(id)
		}
		if more, err := p.channel(ctx); more || err != nil {
			return more, err
		}
	}
	return false, nil
}

func (p *page) start(channel int64) cursor {
	at := cursor{Channel: channel}
	if byState(&p.f) {
		at = startState(channel, p.f.States[0])
	}
	return at
}

func startState(channel int64, state weir.State) cursor {
	return startLane(channel, int8(state), math.MinInt64)
}

func startLane(channel int64, state int8, lane int64) cursor {
	return cursor{Channel: channel, State: state, Lane: lane, Pos: math.MinInt64}
}

// channel lists the matching contacts of one channel from p.at.
func (p *page) channel(ctx context.Context) (more bool, err error) {
	switch {
	case p.f.Key != "":
		return p.byKey(ctx)
	case len(p.f.To) > 0:
		return p.search(ctx)
	}
	if !byState(&p.f) {
		return p.rows(func(n int) ([]contactRow, int, error) {
			return p.byID(ctx, p.at.Channel, max(min(p.at.ID, math.MaxInt64-1)+1, p.low), p.high-1, false, n)
		})
	}
	for _, state := range p.f.States {
		if int8(state) < p.at.State {
			continue
		}
		if int8(state) > p.at.State {
			p.at = startState(p.at.Channel, state)
		}
		if more, err := p.state(ctx); more || err != nil {
			return more, err
		}
	}
	return false, nil
}

// state lists what matches of one state, lane by lane, so that each page
// begins with a seek.
func (p *page) state(ctx context.Context) (more bool, err error) {
	state := weir.State(p.at.State)
	for {
		more, err := p.rows(func(n int) ([]contactRow, int, error) {
			return p.readState(ctx, p.at.Channel, place{ID: p.at.ID, Lane: p.at.Lane, Pos: p.at.Pos}, n)
		})
		if more || err != nil || state != weir.Queued {
			return more, err
		}
		var next laneStart
		p.budget -= columns.SeekCost
		err = p.s.Read.GetContext(ctx, &next, laneSQL, p.at.Channel, p.at.Lane)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		p.at = startLane(p.at.Channel, p.at.State, next.Lane)
	}
}

func (p *page) byKey(ctx context.Context) (more bool, err error) {
	if p.full() {
		return true, nil
	}
	p.budget -= columns.SeekCost
	rows, _, err := p.read(ctx, keySQL, p.at.Channel, p.f.Key)
	if err != nil {
		return false, err
	}
	for i := range rows {
		p.take(&rows[i])
	}
	return false, nil
}
