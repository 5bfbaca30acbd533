package survey

import (
	"cmp"
	"context"
	"math"

	"weir/persistence/commit"
	"weir/surveys"
)

const (
	// logRangeSQL finds how far back a number of entries reach.
	logRangeSQL = "SELECT COUNT(*) AS n, COALESCE(MIN(id), 0) AS least_id FROM (" +
		"SELECT id FROM survey_log WHERE survey_id = ? AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?) AS part"
	respondentLog = "SELECT " + logColumns + " FROM survey_log WHERE survey_id = ? AND id < ? AND id >= ? AND respondent_id = ? ORDER BY id DESC LIMIT ?"
)

// Recent implements [surveys.LogReader]. Ids are in the order of time and contain it. No
// index has the respondents, because each new entry would write one more page: a
// bounded range of the log is examined instead.
func (s *Store) Recent(ctx context.Context, f surveys.LogFilter) (list []surveys.LogEntry, next int64, err error) {
	low, high := commit.Bounds(f.Since, f.Until)
	high = min(high, cmp.Or(f.Before, math.MaxInt64))
	if f.Respondent == 0 {
		list, err = s.logged(ctx, recentLog, f.Survey, high, low, f.Limit+1)
	} else {
		var part struct {
			N     int   `db:"n"`
			Least int64 `db:"least_id"`
		}
		if err := s.Read.GetContext(ctx, &part, logRangeSQL, f.Survey, high, low, commit.MaxSearched); err != nil {
			return nil, 0, s.Failure("read the log of a survey", err)
		}
		if part.N == commit.MaxSearched {
			low, next = part.Least, part.Least
		}
		list, err = s.logged(ctx, respondentLog, f.Survey, high, low, int64(f.Respondent), f.Limit+1)
	}
	if len(list) > f.Limit {
		list = list[:f.Limit]
		next = list[f.Limit-1].ID
	}
	return list, next, err
}
