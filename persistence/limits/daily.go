package limits

import (
	"context"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/columns"
	"weir/persistence/commit"
)

// What is counted for each day, in spent and skipped, is kept by the names of surveys, which
// clients choose freely.
const (
	// DaysKept is for how many days it is kept by day: so long that a month can be compared with
	// the same one of the year before. The money of a day that long ago counts for no day and no
	// month, but in all.
	DaysKept = 400
	// namesPerDay bounds how many names have sums of their own on a day, apart from those that
	// limits and budgets count; all others together have one sum.
	namesPerDay = 1000
	otherNames  = "(others)" // no survey has this name
	// namesRead is for how many days back the names are known. Older days get no new ones: nothing
	// is claimed on them.
	namesRead = 2
)

// dayNames are the names that have sums of their own, by day. They are used on the writer's
// goroutine.
type dayNames map[int]map[string]bool

// dailyStore bounds what is counted for each day, and adds up what was spent long ago.
type dailyStore struct {
	*commit.DB
	limits  *limitStore
	budgets *budgetStore
	names   dayNames
}

// loadAll reads the names of the latest days.
func (s *dailyStore) loadAll(ctx context.Context, now time.Time) error {
	var rows []struct {
		Day    int    `db:"day"`
		Survey string `db:"survey"`
	}
	since := weir.DayOf(now) - namesRead
	err := s.Read.SelectContext(ctx, &rows, "SELECT day, survey FROM spent WHERE day >= ? UNION SELECT day, survey FROM skipped WHERE day >= ?", since, since)
	if err != nil {
		return s.Failure("read the names that are counted", err)
	}
	s.names = dayNames{}
	for _, r := range rows {
		s.names.of(r.Day)[r.Survey] = true
	}
	return nil
}

func (d dayNames) of(day int) map[string]bool {
	if d[day] == nil {
		for old := range d {
			if old < day-namesRead {
				delete(d, old)
			}
		}
		d[day] = map[string]bool{}
	}
	return d[day]
}

// countedAs returns the name under which a survey is counted on a day.
func (s *dailyStore) countedAs(survey string, day int) string {
	names := s.names.of(day)
	if survey == "" || names[survey] || s.countsSurvey(survey) {
		return survey
	}
	if len(names) >= namesPerDay {
		return otherNames
	}
	names[survey] = true
	return survey
}

// countsSurvey reports whether a limit or a budget counts the money of a survey.
func (s *dailyStore) countsSurvey(survey string) bool {
	return s.budgets.now()[survey] != nil ||
		slices.ContainsFunc(s.limits.current.list, func(l *limit) bool { return slices.Contains(l.usage.Surveys, survey) })
}

// AddUpSpent adds up what was spent more than [DaysKept] days ago: to one sum for each channel and
// currency, and each survey that exists or that a limit names. It does so with a part of at most
// limit rows, and returns how many.
func (s *dailyStore) AddUpSpent(ctx context.Context, now time.Time, limit int) (n int, _ error) {
	err := s.Transaction(ctx, func(tx *sqlx.Tx) (err error) {
		n, err = s.addUpSpent(ctx, tx, weir.DayOf(now)-DaysKept, limit)
		return err
	})
	return n, s.Failure("add up what was spent", err)
}

// addUpSpent moves rows of spent from before a day to day 0, and returns how many.
func (s *dailyStore) addUpSpent(ctx context.Context, tx *sqlx.Tx, before, limit int) (int, error) {
	var rows []struct {
		Channel  int64  `db:"channel_id"`
		Survey   string `db:"survey"`
		Currency string `db:"currency"`
		Day      int    `db:"day"`
		Amount   int64  `db:"amount"`
	}
	err := tx.SelectContext(ctx, &rows, "SELECT channel_id, survey, currency, day, amount FROM spent WHERE day > 0 AND day < ? ORDER BY day LIMIT ?"+s.Dialect.ForUpdate, before, limit)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	var names []string
	for _, r := range rows {
		names = append(names, r.Survey)
	}
	kept, err := s.namesInUse(ctx, tx, names)
	if err != nil {
		return 0, err
	}
	d := &s.Dialect
	sum := "INSERT INTO spent (channel_id, survey, currency, day, amount) VALUES " + columns.Marks(5) +
		d.Merge("channel_id", "survey", "currency", "day") + "amount = amount + " + d.Fresh("amount")
	for _, r := range rows {
		name := r.Survey
		if !kept[name] {
			name = ""
		}
		if _, err := tx.ExecContext(ctx, sum, r.Channel, name, r.Currency, 0, r.Amount); err != nil {
			return 0, err
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM spent WHERE channel_id = ? AND survey = ? AND currency = ? AND day = ?", r.Channel, r.Survey, r.Currency, r.Day)
		if err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// namesInUse returns which names surveys have, or limits name.
func (s *dailyStore) namesInUse(ctx context.Context, tx *sqlx.Tx, names []string) (map[string]bool, error) {
	slices.Sort(names)
	names = slices.Compact(names)
	used := map[string]bool{}
	for _, l := range s.limits.Limits() {
		for _, name := range l.Surveys {
			used[name] = true
		}
	}
	for part := range slices.Chunk(names, columns.KeysPerList) {
		var found []string
		if err := tx.SelectContext(ctx, &found, "SELECT name FROM surveys WHERE name IN "+columns.Marks(len(part)), texts(part)...); err != nil {
			return nil, err
		}
		for _, name := range found {
			used[name] = true
		}
	}
	return used, nil
}
