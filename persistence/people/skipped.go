package people

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/limits"
)

// skipKey is a row of skipped.
type skipKey struct {
	channel weir.ChannelID
	survey  string
	rule    string
	day     int
}

// skips counts suppressed and delayed contacts.
type skips struct{ suppressed, delayed int64 }

// skipStore counts contacts that rules have suppressed or delayed.
type skipStore struct {
	*commit.DB
	names   *limits.Gate
	skipped map[skipKey]skips // by the batch; used on the writer's goroutine only
}

// begin begins a batch.
func (s *skipStore) begin() { s.skipped = nil }

// count counts a contact.
func (s *skipStore) count(c *weir.Contact, at time.Time) {
	if s.skipped == nil {
		s.skipped = map[skipKey]skips{}
	}
	day := weir.DayOf(at)
	k := skipKey{c.Channel, s.names.CountedAs(c.Survey, day), c.Receipt.Rule, day}
	n := s.skipped[k]
	if c.State == weir.Done {
		n.suppressed++
	} else {
		n.delayed++
	}
	s.skipped[k] = n
}

// write adds what the batch has skipped.
func (s *skipStore) write(t *commit.Tx) {
	const width = 6
	keys := slices.SortedFunc(maps.Keys(s.skipped), func(a, b skipKey) int {
		return cmp.Or(cmp.Compare(a.channel, b.channel), cmp.Compare(a.survey, b.survey), cmp.Compare(a.rule, b.rule), cmp.Compare(a.day, b.day))
	})
	d := t.Dialect()
	for part := range slices.Chunk(keys, columns.KeysPerList) {
		args := make([]any, 0, width*len(part))
		for _, k := range part {
			n := s.skipped[k]
			args = append(args, int64(k.channel), k.survey, k.rule, k.day, n.suppressed, n.delayed)
		}
		t.Add("INSERT INTO skipped (channel_id, survey, rule_name, day, suppressed, waited) VALUES "+columns.RowsOf(len(part), width)+
			d.Merge("channel_id", "survey", "rule_name", "day")+"suppressed = suppressed + "+d.Fresh("suppressed")+", waited = waited + "+d.Fresh("waited"), args...)
	}
}

// Skipped implements [people.SkipCounter].
func (s *skipStore) Skipped(ctx context.Context, f people.SkippedFilter, limit int) ([]people.Skipped, error) {
	text, args := "SELECT channel_id, survey, rule_name, SUM(suppressed) AS suppressed, SUM(waited) AS waited FROM skipped WHERE day >= ? AND day <= ?", []any{f.From, f.To}
	if f.Channel != 0 {
		text, args = text+" AND channel_id = ?", append(args, int64(f.Channel))
	}
	if f.Survey != "" {
		text, args = text+" AND survey = ?", append(args, f.Survey)
	}
	var rows []struct {
		Channel    int64  `db:"channel_id"`
		Survey     string `db:"survey"`
		Rule       string `db:"rule_name"`
		Suppressed int64  `db:"suppressed"`
		Delayed    int64  `db:"waited"`
	}
	err := s.Read.SelectContext(ctx, &rows, text+" GROUP BY channel_id, survey, rule_name ORDER BY channel_id, survey, rule_name LIMIT ?", append(args, limit)...)
	if err != nil {
		return nil, s.Failure("read what was skipped", err)
	}
	list := make([]people.Skipped, 0, len(rows))
	for _, r := range rows {
		list = append(list, people.Skipped{Channel: weir.ChannelID(r.Channel), Survey: r.Survey, Rule: people.Rule(r.Rule), Day: f.To, Suppressed: r.Suppressed, Delayed: r.Delayed})
	}
	return list, nil
}

// purge deletes what was skipped before a day, at most limit rows, and returns how many.
func (s *skipStore) purge(ctx context.Context, before, limit int) (n int, _ error) {
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		var skipped []skippedRow
		err := tx.SelectContext(ctx, &skipped, "SELECT channel_id, survey, rule_name, day FROM skipped WHERE day < ? LIMIT ?", before, limit)
		if err != nil {
			return err
		}
		for _, r := range skipped {
			if _, err := tx.ExecContext(ctx, "DELETE FROM skipped WHERE channel_id = ? AND survey = ? AND rule_name = ? AND day = ?", r.Channel, r.Survey, r.Rule, r.Day); err != nil {
				return err
			}
		}
		n = len(skipped)
		return nil
	})
	return n, s.Failure("purge what rules have skipped", err)
}

// skippedRow is the key of a row of skipped.
type skippedRow struct {
	Channel int64  `db:"channel_id"`
	Survey  string `db:"survey"`
	Rule    string `db:"rule_name"`
	Day     int    `db:"day"`
}
