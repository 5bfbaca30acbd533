package contacts

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"weir"
	"weir/operators"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/database"
	"weir/persistence/dialect"
	"weir/persistence/multirow"
)

var _ operators.DeadLetterStore = (*DeadLetterStore)(nil)

// DeadLetterStore lists dead letters, and makes new contacts of them.
type DeadLetterStore struct {
	*commit.DB
	contacts   *Reader
	insertions *insertions
}

// deadRow is a row of dead_letters.
type deadRow struct {
	Channel int64  `db:"channel_id"`
	ID      int64  `db:"id"`
	Contact int64  `db:"contact_id"`
	Outcome string `db:"outcome"`
	Reason  string `db:"reason"`
}

func (r *deadRow) dead() operators.DeadLetter {
	return operators.DeadLetter{At: database.InstantOf(r.ID), Outcome: weir.Outcome(r.Outcome), Reason: r.Reason}
}

const (
	deadColumns    = "channel_id, id, contact_id, outcome, reason"
	deadSQL        = "SELECT " + deadColumns + " FROM dead_letters WHERE channel_id = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?"
	deadChannelSQL = "SELECT channel_id FROM dead_letters WHERE channel_id > ? ORDER BY channel_id LIMIT 1"
	deadContactSQL = "SELECT " + deadColumns + " FROM dead_letters WHERE channel_id = ? AND contact_id = ?"
	requeueOfSQL   = "SELECT new_id, at, token FROM requeues WHERE channel_id = ? AND contact_id = ?"
	deadCount      = "SELECT COUNT(*) FROM dead_letters"
)

// deadAlike reads the dead letters with one outcome and reason, through their index.
func (s *DeadLetterStore) deadAlike() string {
	return "SELECT " + deadColumns + " FROM dead_letters" + s.Dialect.By("dead_letters_group") +
		" WHERE channel_id = ? AND outcome = ? AND reason = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?"
}

// deadPage collects one page of dead letters.
type deadPage struct {
	s          *DeadLetterStore
	f          operators.DeadLetterFilter
	low, high  int64
	found      []deadRow
	budget     int
	channel    int64
	lastPassed int64
}

// DeadLetters implements [operators.DeadLetterStore].
func (s *DeadLetterStore) DeadLetters(ctx context.Context, f operators.DeadLetterFilter) ([]operators.DeadLetter, string, error) {
	f.Limit = min(cmp.Or(max(f.Limit, 0), columns.DefaultPage), columns.MaxPage)
	p := &deadPage{s: s, f: f, budget: columns.MaxExamined}
	p.low, p.high = database.Bounds(f.Since, f.Until)
	if err := p.begin(); err != nil {
		return nil, "", err
	}
	more, err := p.walk(ctx)
	if err != nil {
		return nil, "", s.Failure("list dead letters", err)
	}
	list, err := s.withContacts(ctx, p.found)
	if err != nil || !more {
		return list, "", s.Failure("list dead letters", err)
	}
	return list, cursor{Channel: p.channel, ID: p.lastPassed}.String(), nil
}

func (p *deadPage) begin() error {
	p.channel, p.lastPassed = int64(p.f.Channel), p.high
	if p.f.Cursor == "" {
		return nil
	}
	var c cursor
	b, err := base64.RawURLEncoding.DecodeString(p.f.Cursor)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil || c.Channel <= 0 || c.State != 0 || c.String() != p.f.Cursor || p.f.Channel != 0 && c.Channel != int64(p.f.Channel) {
		return notOfThisList()
	}
	p.channel, p.lastPassed = c.Channel, c.ID
	return nil
}

// walk goes from channel to channel. more says that the page ended first.
func (p *deadPage) walk(ctx context.Context) (more bool, err error) {
	for {
		if p.channel != 0 {
			if more, err := p.read(ctx); more || err != nil {
				return more, err
			}
		}
		if p.f.Channel != 0 {
			return false, nil
		}
		p.budget -= columns.SeekCost
		err := p.s.Read.GetContext(ctx, &p.channel, deadChannelSQL, p.channel)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		p.lastPassed = p.high
	}
}

// read lists the matching dead letters of one channel.
func (p *deadPage) read(ctx context.Context) (more bool, err error) {
	for p.budget > 0 && len(p.found) < p.f.Limit {
		n := min(p.budget, columns.MaxPage)
		text, args := deadSQL, []any{p.channel, p.low, p.lastPassed, n}
		if p.f.Outcome != "" && p.f.Reason != nil {
			text, args = p.s.deadAlike(), []any{p.channel, string(p.f.Outcome), *p.f.Reason, p.low, p.lastPassed, n}
		}
		var rows []deadRow
		if err := p.s.Read.SelectContext(ctx, &rows, text, args...); err != nil {
			return false, err
		}
		p.budget -= max(len(rows), columns.SeekCost)
		for i := range rows {
			if len(p.found) >= p.f.Limit {
				return true, nil
			}
			r := &rows[i]
			p.lastPassed = r.ID
			if (p.f.Outcome == "" || r.Outcome == string(p.f.Outcome)) && (p.f.Reason == nil || r.Reason == *p.f.Reason) {
				p.found = append(p.found, *r)
			}
		}
		if len(rows) < n {
			return false, nil
		}
	}
	return true, nil
}

// withContacts reads the contacts of dead letters.
func (s *DeadLetterStore) withContacts(ctx context.Context, rows []deadRow) ([]operators.DeadLetter, error) {
	list := make([]operators.DeadLetter, 0, len(rows))
	for len(rows) > 0 {
		channel, n := rows[0].Channel, 0
		args := []any{channel}
		for n < len(rows) && n < columns.PurgeChunk && rows[n].Channel == channel {
			args = append(args, rows[n].Contact)
			n++
		}
		found, err := s.contacts.readContacts(ctx, s.Read, byIDs(n), args)
		if err != nil {
			return nil, s.Failure("read the contacts of dead letters", err)
		}
		byID := map[weir.ContactID]weir.Contact{}
		for i := range found {
			c, _ := found[i].readable()
			byID[c.ID] = c
		}
		for i := range rows[:n] {
			if c, ok := byID[weir.ContactID(rows[i].Contact)]; ok { // else it was purged just now
				d := rows[i].dead()
				d.Contact = c
				list = append(list, d)
			}
		}
		rows = rows[n:]
	}
	return list, nil
}

// deadWhere is the condition of a filter. It says nothing of what the filter
// leaves open: a range that holds everything would draw a database to the index
// that has it.
func deadWhere(f operators.DeadLetterFilter) (where string, args []any) {
	word := " WHERE "
	add := func(condition string, value any) {
		where, args, word = where+word+condition, append(args, value), " AND "
	}
	if f.Channel != 0 {
		add("channel_id = ?", int64(f.Channel))
	}
	if f.Outcome != "" {
		add("outcome = ?", string(f.Outcome))
	}
	if f.Reason != nil {
		add("reason = ?", *f.Reason)
	}
	low, high := database.Bounds(f.Since, f.Until)
	if low > 0 {
		add("id >= ?", low)
	}
	if high < math.MaxInt64 {
		add("id < ?", high)
	}
	return where, args
}

func deadGroups(where string) string {
	return "SELECT channel_id, outcome, reason, COUNT(*) AS n, MIN(id) AS oldest, MAX(id) AS newest FROM dead_letters" + where +
		" GROUP BY channel_id, outcome, reason ORDER BY channel_id, outcome, reason LIMIT ?"
}

// DeadGroups implements [operators.DeadLetterStore]. It reads an index from end to end, or
// a channel's part of it.
func (s *DeadLetterStore) DeadGroups(ctx context.Context, f operators.DeadLetterFilter, limit int) ([]operators.DeadLetterGroup, error) {
	var rows []struct {
		Channel int64  `db:"channel_id"`
		Outcome string `db:"outcome"`
		Reason  string `db:"reason"`
		N       int64  `db:"n"`
		Oldest  int64  `db:"oldest"`
		Newest  int64  `db:"newest"`
	}
	where, args := deadWhere(f)
	if err := s.Read.SelectContext(ctx, &rows, deadGroups(where), append(args, limit)...); err != nil {
		return nil, s.Failure("group dead letters", err)
	}
	list := make([]operators.DeadLetterGroup, 0, len(rows))
	for _, r := range rows {
		list = append(list, operators.DeadLetterGroup{
			Channel: weir.ChannelID(r.Channel), Outcome: weir.Outcome(r.Outcome), Reason: r.Reason, Count: r.N,
			Oldest: database.InstantOf(r.Oldest), Newest: database.InstantOf(r.Newest),
		})
	}
	slices.SortStableFunc(list, func(a, b operators.DeadLetterGroup) int { return cmp.Compare(b.Count, a.Count) })
	return list, nil
}

// CountDead implements [operators.DeadLetterStore].
func (s *DeadLetterStore) CountDead(ctx context.Context, f operators.DeadLetterFilter) (int64, error) {
	var n int64
	where, args := deadWhere(f)
	err := s.Read.GetContext(ctx, &n, deadCount+where, args...)
	return n, s.Failure("count dead letters", err)
}

// History implements [operators.DeadLetterStore].
func (s *DeadLetterStore) History(ctx context.Context, ref weir.Ref) (operators.DeadLetterHistory, error) {
	var out operators.DeadLetterHistory
	var row deadRow
	err := s.Read.GetContext(ctx, &row, deadContactSQL, int64(ref.Channel), int64(ref.ID))
	if err == nil {
		d := row.dead()
		out.Dead = &d
	} else if !errors.Is(err, sql.ErrNoRows) {
		return out, s.Failure("read a dead letter", err)
	}
	var link struct {
		New   int64  `db:"new_id"`
		At    int64  `db:"at"`
		Token string `db:"token"`
	}
	err = s.Read.GetContext(ctx, &link, requeueOfSQL, int64(ref.Channel), int64(ref.ID))
	if err == nil {
		out.RequeuedAs = weir.Ref{Channel: ref.Channel, ID: weir.ContactID(link.New)}
		out.RequeuedAt, out.RequeuedBy = columns.Instant(link.At), link.Token
	} else if !errors.Is(err, sql.ErrNoRows) {
		return out, s.Failure("read what a dead letter became", err)
	}
	return out, nil
}

// insertDeadLetters makes dead letters of the contacts whose end leaves one, in the
// transaction of that end. Contacts that end well cost nothing.
func insertDeadLetters(d *dialect.Statements, t *commit.Tx, steps []step) error {
	var args []any
	var raised map[weir.ChannelID][]any // reported as delivered after all
	for _, s := range steps {
		c := &s.last.Contact
		switch was := s.first.Was == weir.Done; {
		case c.State != weir.Done:
		case !was && c.Dead():
			args = append(args, int64(c.Channel), t.NextID(), int64(c.ID), string(c.Outcome), operators.GroupReason(c.Reason))
		case was && !c.Dead():
			if raised == nil {
				raised = map[weir.ChannelID][]any{}
			}
			raised[c.Channel] = append(raised[c.Channel], int64(c.ID))
		}
	}
	for channel, ids := range raised {
		t.AddOnce(dropDead(d, len(ids)), append([]any{int64(channel)}, ids...)...)
	}
	if len(args) == 0 {
		return nil
	}
	_, err := multirow.InsertCounted(t, "INSERT INTO dead_letters (channel_id, id, contact_id, outcome, reason) VALUES ", "", args, len(args)/5)
	return err
}

func dropDead(d *dialect.Statements, n int) string {
	return "DELETE FROM dead_letters" + d.By("dead_letters_contact") + " WHERE channel_id = ? AND contact_id IN " + columns.Marks(n)
}
