package surveys

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"weir/persistence/columns"
	"weir/surveys"
)

const (
	pendingSQL = "SELECT DISTINCT bucket FROM survey_sums WHERE survey_id = ? AND status = ? AND n > 0"
	// unionSize is how many buckets one statement asks for.
	unionSize = 100
)

// fresh reads the respondents of a bucket that were never delayed: they stand by id behind
// next_at 0. Servers whose statistics are old would take another index.
func (s *Reader) fresh() string {
	return s.standingIn("next_at = 0 AND id > ? ORDER BY id LIMIT ?")
}

// delayed reads the others, by the instant at which they may be started.
func (s *Reader) delayed() string {
	return s.standingIn("next_at > 0 AND next_at <= ? ORDER BY next_at, id LIMIT ?")
}

func (s *Reader) standingIn(where string) string {
	return "SELECT id, lane FROM respondents" + s.Dialect.Through("respondents_queue") + " WHERE survey_id = ? AND status = ? AND lane = ? AND " + where
}

// standing is a respondent in the lane of its bucket.
type standing struct {
	ID   int64 `db:"id"`
	Lane int   `db:"lane"`
}

// pendingBuckets lists the buckets that have pending respondents, from the sums.
func (s *Reader) pendingBuckets(ctx context.Context, survey int64) ([]int, error) {
	var list []int
	err := s.Read.SelectContext(ctx, &list, pendingSQL, survey, statusNumber(surveys.Pending))
	slices.Sort(list)
	return list, s.Failure("read the sums of a survey", err)
}

// Startable implements [surveys.RespondentReader]. Respondents that were delayed and may be
// started again are taken in the order of that instant.
func (s *Reader) Startable(ctx context.Context, survey int64, now time.Time, full []int, limit int) ([]surveys.Respondent, error) {
	buckets, err := s.pendingBuckets(ctx, survey)
	if err != nil || limit <= 0 {
		return nil, err
	}
	buckets = slices.DeleteFunc(buckets, func(b int) bool { return slices.Contains(full, b) })
	if len(buckets) == 0 {
		return nil, nil
	}
	m := &merge{s: s, survey: survey, most: limit, heads: map[int][]int64{}, last: map[int]int64{}, ended: map[int]bool{}}
	ids, err := m.run(ctx, buckets, now)
	if err != nil {
		return nil, s.Failure("read who may be started", err)
	}
	list, err := s.RespondentsByID(ctx, ids)
	list = slices.DeleteFunc(list, func(r surveys.Respondent) bool { return r.Status != surveys.Pending || r.DelayedUntil.After(now) })
	slices.SortFunc(list, func(a, b surveys.Respondent) int { return cmp.Compare(a.ID, b.ID) })
	return list, err
}

// merge reads the heads of many buckets in the order of ids. It reads few of
// each bucket and continues with the buckets that run out.
type merge struct {
	s      *Reader
	survey int64
	most   int
	chunk  int
	heads  map[int][]int64 // what was read and is not taken
	last   map[int]int64   // the last that was read
	ended  map[int]bool    // nothing follows
}

func (m *merge) run(ctx context.Context, buckets []int, now time.Time) ([]surveys.RespondentID, error) {
	m.chunk = min(m.most, 2*m.most/len(buckets)+2)
	if err := m.refill(ctx, buckets, 0); err != nil {
		return nil, err
	}
	delayed, err := m.delayed(ctx, buckets, now)
	if err != nil {
		return nil, err
	}
	var ids []surveys.RespondentID
	for len(ids) < m.most {
		best, from := int64(0), 0
		for _, b := range buckets {
			if len(m.heads[b]) == 0 && !m.ended[b] {
				if err := m.refill(ctx, []int{b}, m.last[b]); err != nil {
					return nil, err
				}
			}
			if h := m.heads[b]; len(h) > 0 && (best == 0 || h[0] < best) {
				best, from = h[0], b
			}
		}
		switch {
		case len(delayed) > 0 && (best == 0 || delayed[0] < best):
			best, delayed = delayed[0], delayed[1:]
		case best != 0:
			m.heads[from] = m.heads[from][1:]
		default:
			return ids, nil
		}
		ids = append(ids, surveys.RespondentID(best))
	}
	return ids, nil
}

// refill reads the next heads, behind an id, of buckets that have none.
func (m *merge) refill(ctx context.Context, buckets []int, after int64) error {
	rows, err := m.union(ctx, m.s.fresh(), buckets, after)
	for _, r := range rows {
		m.heads[r.Lane] = append(m.heads[r.Lane], r.ID)
		m.last[r.Lane] = r.ID
	}
	for _, b := range buckets {
		m.ended[b] = len(m.heads[b]) < m.chunk
	}
	return err
}

// delayed reads respondents that were delayed until an instant that has come.
func (m *merge) delayed(ctx context.Context, buckets []int, now time.Time) ([]int64, error) {
	rows, err := m.union(ctx, m.s.delayed(), buckets, columns.Micros(now))
	ids := make([]int64, 0, len(rows))
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids, err
}

// union asks for several buckets at once.
func (m *merge) union(ctx context.Context, text string, buckets []int, bound int64) ([]standing, error) {
	var out []standing
	for list := range slices.Chunk(buckets, unionSize) {
		args := make([]any, 0, 5*len(list))
		for _, b := range list {
			args = append(args, m.survey, statusNumber(surveys.Pending), b, bound, m.chunk)
		}
		var rows []standing
		if err := m.s.Read.SelectContext(ctx, &rows, unionOf(text, len(list)), args...); err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// unionOf is a statement n times, for the rows of all.
func unionOf(text string, n int) string {
	part := "SELECT * FROM (" + text + ") AS bucket"
	return part + strings.Repeat(" UNION ALL "+part, n-1)
}

// Rejectable implements [surveys.RespondentReader].
func (s *Reader) Rejectable(ctx context.Context, survey int64, full []int, limit int) ([]surveys.Respondent, error) {
	buckets, err := s.pendingBuckets(ctx, survey)
	if err != nil {
		return nil, err
	}
	var out []surveys.Respondent
	for _, b := range buckets {
		if len(out) >= limit || !slices.Contains(full, b) {
			continue
		}
		list, err := s.selectRespondents(ctx, bucketSQL, survey, statusNumber(surveys.Pending), b, limit-len(out))
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}
