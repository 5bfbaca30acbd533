package surveys

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/surveys"
)

const (
	sweepChunk = 1000 // rows that one transaction of a sweep changes
	// importIdle is how long an open import may be silent before it was given up.
	// Whoever reads one waits for rows much less long. Its numbers are taken until
	// then, so that a process which died keeps them from the next import.
	importIdle = 3 * time.Minute
	sortAtOnce = 5 // steps of sorting that a change of quotas does itself
)

// Sweeper carries on with what takes longer than a request: imports, the removal of surveys, and
// counting respondents anew after a change of the quotas.
type Sweeper struct {
	*commit.DB
	adds *additions
}

// toSweepSQL reports whether there is anything to sweep, which is rare.
const toSweepSQL = "SELECT EXISTS (SELECT 1 FROM imports WHERE state = ? AND touched_at < ?) OR " +
	"EXISTS (SELECT 1 FROM imports WHERE state IN ('" + importCommitting + "', '" + importAborting + "')) OR " +
	"EXISTS (SELECT 1 FROM surveys WHERE bucketed_to IS NOT NULL OR deleting = 1)"

// Sweep implements [surveys.Store]. It also goes on with imports that were
// being committed and with respondents that have to be sorted into buckets.
func (s *Sweeper) Sweep(ctx context.Context, limit int) (bool, error) {
	var something bool
	err := s.Read.GetContext(ctx, &something, toSweepSQL, importOpen, columns.Micros(time.Now().Add(-importIdle)))
	if err != nil || !something {
		return false, s.Failure("sweep", err)
	}
	err = s.giveUpImports(ctx)
	left := limit
	for _, part := range []struct {
		list string
		step func(context.Context, int64, int) (int, error)
	}{
		{"SELECT id FROM imports WHERE state IN ('" + importCommitting + "', '" + importAborting + "') ORDER BY id LIMIT 100", s.stepImport},
		{"SELECT id FROM surveys WHERE bucketed_to IS NOT NULL AND deleting = 0 ORDER BY id LIMIT 100", s.stepSorting},
		{"SELECT id FROM surveys WHERE deleting = 1 ORDER BY id LIMIT 100", s.stepRemoval},
	} {
		if err == nil {
			left, err = s.sweep(ctx, part.list, part.step, left)
		}
	}
	return left <= 0, s.Failure("sweep", err)
}

// giveUpImports aborts imports that no client continues.
func (s *Sweeper) giveUpImports(ctx context.Context) error {
	var ids []int64
	before := columns.Micros(time.Now().Add(-importIdle))
	err := s.Read.SelectContext(ctx, &ids, "SELECT id FROM imports WHERE state = ? AND touched_at < ?", importOpen, before)
	if err != nil || len(ids) == 0 {
		return err
	}
	return s.Transaction(ctx, func(tx *sqlx.Tx) error {
		for _, id := range ids {
			_, err := tx.ExecContext(ctx, "UPDATE imports SET state = ? WHERE id = ? AND state = ? AND touched_at < ?",
				importAborting, id, importOpen, before)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// sweep takes steps for each thing of a list while rows are left to it.
func (s *Sweeper) sweep(ctx context.Context, list string, step func(context.Context, int64, int) (int, error), left int) (int, error) {
	var ids []int64
	if err := s.Read.SelectContext(ctx, &ids, list); err != nil {
		return left, err
	}
	for _, id := range ids {
		for left > 0 {
			want := min(sweepChunk, left)
			n, err := step(ctx, id, want)
			if err != nil {
				return left, err
			}
			if left -= n; n < want {
				break
			}
		}
	}
	return left, nil
}

const importedSQL = "SELECT " + respondentColumns + " FROM respondents " +
	"WHERE survey_id = ? AND status = 0 AND lane = 0 AND next_at = ? AND id > ? ORDER BY id LIMIT ?"

// stepImport makes some respondents of an import visible, or deletes them, as
// was decided. It says how many; fewer than limit means that it is done. It goes
// on behind the last one: a database may keep for a while what is gone.
func (s *Sweeper) stepImport(ctx context.Context, imp int64, limit int) (int, error) {
	n := 0
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		n = 0
		var row struct {
			Survey int64  `db:"survey_id"`
			State  string `db:"state"`
			DoneTo int64  `db:"done_to"`
		}
		err := tx.GetContext(ctx, &row, "SELECT survey_id, state, done_to FROM imports WHERE id = ?"+s.Dialect.ForUpdate, imp)
		if errors.Is(err, sql.ErrNoRows) || err == nil && row.State != importCommitting && row.State != importAborting {
			return nil
		}
		var found []respondentRow
		if err == nil {
			err = tx.SelectContext(ctx, &found, importedSQL+s.Dialect.ForUpdate, row.Survey, imp, row.DoneTo, limit)
		}
		if err != nil {
			return err
		}
		end := importAborted
		if row.State == importCommitting {
			end = importCommitted
			err = s.show(ctx, tx, row.Survey, found)
		} else {
			err = deleteRespondents(ctx, tx, found)
		}
		if n = len(found); n == limit {
			end, row.DoneTo = row.State, found[n-1].ID
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE imports SET state = ?, done_to = ? WHERE id = ?", end, row.DoneTo, imp)
		}
		return err
	})
	return n, err
}

// show makes imported respondents visible.
func (s *Sweeper) show(ctx context.Context, tx *sqlx.Tx, survey int64, found []respondentRow) error {
	if len(found) == 0 {
		return nil
	}
	changes := sumChanges{}
	pending := statusNumber(surveys.Pending)
	args := []any{pending}
	for i := range found {
		found[i].Status = pending
		r, err := found[i].respondent()
		if err != nil {
			return err
		}
		changes[r.Group()]++
		args = append(args, found[i].ID)
	}
	_, err := tx.ExecContext(ctx, "UPDATE respondents SET status = ?, lane = bucket, next_at = 0 WHERE id IN "+columns.Marks(len(found)), args...)
	if err != nil {
		return err
	}
	return s.adds.addSums(ctx, tx, survey, changes)
}

func deleteRespondents(ctx context.Context, tx *sqlx.Tx, found []respondentRow) error {
	if len(found) == 0 {
		return nil
	}
	args := make([]any, len(found))
	for i := range found {
		args[i] = found[i].ID
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM respondents WHERE id IN "+columns.Marks(len(args)), args...)
	return err
}

// beginSorting does the first steps of sorting, all of them in a small survey,
// and leaves the rest to Sweep, or to the launch.
func (s *Sweeper) beginSorting(ctx context.Context, row *surveyRow) {
	if row.BucketedTo == nil {
		return
	}
	for range sortAtOnce {
		n, err := s.stepSorting(ctx, row.ID, sweepChunk)
		if err != nil {
			s.Logger.Warn("respondents have yet to be sorted into buckets", "survey", row.ID, "error", err)
		}
		if err != nil || n < sweepChunk {
			return
		}
	}
}

// sortAll sorts to the end.
func (s *Sweeper) sortAll(ctx context.Context, survey int64) error {
	for {
		if n, err := s.stepSorting(ctx, survey, sweepChunk); err != nil || n < sweepChunk {
			return s.Failure("sort respondents into buckets", err)
		}
	}
}

const unsortedSQL = "SELECT " + respondentColumns + " FROM respondents WHERE survey_id = ? AND id > ? ORDER BY id LIMIT ?"

// stepSorting gives some respondents the buckets that the quotas put them in.
// It locks the survey, so that no request changes the quotas or adds respondents.
// It says how many it looked at; fewer than limit means that it is done.
func (s *Sweeper) stepSorting(ctx context.Context, survey int64, limit int) (int, error) {
	n := 0
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		n = 0
		var row struct {
			Quotas     string `db:"quotas"`
			BucketedTo *int64 `db:"bucketed_to"`
		}
		err := tx.GetContext(ctx, &row, "SELECT quotas, bucketed_to FROM surveys WHERE id = ? AND deleting = 0"+s.Dialect.ForUpdate, survey)
		if errors.Is(err, sql.ErrNoRows) || err == nil && row.BucketedTo == nil {
			return nil
		}
		var quotas surveys.Quotas
		if err == nil {
			err = json.Unmarshal([]byte(row.Quotas), &quotas)
		}
		var found []respondentRow
		if err == nil {
			err = tx.SelectContext(ctx, &found, unsortedSQL+s.Dialect.ForUpdate, survey, *row.BucketedTo, limit)
		}
		if err == nil {
			err = s.sort(ctx, tx, survey, quotas, found)
		}
		if err != nil {
			return err
		}
		var to any
		if n = len(found); n == limit {
			to = found[n-1].ID
		}
		_, err = tx.ExecContext(ctx, "UPDATE surveys SET bucketed_to = ? WHERE id = ?", to, survey)
		return err
	})
	return n, err
}

func (s *Sweeper) sort(ctx context.Context, tx *sqlx.Tx, survey int64, quotas surveys.Quotas, found []respondentRow) error {
	changes, moved := sumChanges{}, map[int][]any{}
	for i := range found {
		r, err := found[i].respondent()
		if err != nil {
			return err
		}
		bucket := quotas.Of(r.Attributes)
		if bucket == r.Bucket {
			continue
		}
		was := r.Group()
		r.Bucket = bucket
		if found[i].Status != hidden {
			changes[was]--
			changes[r.Group()]++
		}
		moved[bucket] = append(moved[bucket], found[i].ID)
	}
	pending := statusNumber(surveys.Pending)
	for bucket, ids := range moved {
		args := slices.Concat([]any{bucket, pending, bucket}, ids)
		_, err := tx.ExecContext(ctx, "UPDATE respondents SET bucket = ?, lane = CASE WHEN status = ? THEN ? ELSE lane END WHERE id IN "+columns.Marks(len(ids)), args...)
		if err != nil {
			return err
		}
	}
	return s.adds.addSums(ctx, tx, survey, changes)
}

// stepRemoval deletes some rows of a survey that is being deleted, last the
// survey itself.
func (s *Sweeper) stepRemoval(ctx context.Context, survey int64, limit int) (int, error) {
	n := 0
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		n = 0
		var found []respondentRow
		err := tx.SelectContext(ctx, &found, "SELECT id FROM respondents WHERE survey_id = ? AND id > "+
			"(SELECT COALESCE(MAX(bucketed_to), 0) FROM surveys WHERE id = ?) ORDER BY id LIMIT ?", survey, survey, limit)
		if err == nil {
			err = deleteRespondents(ctx, tx, found)
		}
		if err == nil && len(found) > 0 {
			_, err = tx.ExecContext(ctx, "DELETE FROM survey_answers WHERE survey_id = ? AND respondent_id <= ?", survey, found[len(found)-1].ID)
		}
		if n = len(found); err == nil && n > 0 { // go on behind them; see stepImport
			_, err = tx.ExecContext(ctx, "UPDATE surveys SET bucketed_to = ? WHERE id = ?", found[n-1].ID, survey)
		}
		if err != nil || n == limit {
			return err
		}
		var lines []int64
		if err := tx.SelectContext(ctx, &lines, "SELECT id FROM survey_log WHERE survey_id = ? ORDER BY id LIMIT ?", survey, limit-n); err != nil {
			return err
		}
		if len(lines) > 0 {
			args := slices.Concat([]any{survey}, columns.Arguments(lines))
			if _, err := tx.ExecContext(ctx, "DELETE FROM survey_log WHERE survey_id = ? AND id IN "+columns.Marks(len(lines)), args...); err != nil {
				return err
			}
		}
		if n += len(lines); n == limit {
			return nil
		}
		return removeSurvey(ctx, tx, survey)
	})
	return n, err
}

// removeSurvey deletes what is little.
func removeSurvey(ctx context.Context, tx *sqlx.Tx, survey int64) error {
	for _, q := range []string{
		"DELETE FROM survey_sums WHERE survey_id = ?", "DELETE FROM survey_attempts WHERE survey_id = ?",
		"DELETE FROM survey_begun WHERE survey_id = ?", "DELETE FROM survey_quarters WHERE survey_id = ?", "DELETE FROM survey_answer_counts WHERE survey_id = ?",
		"DELETE FROM survey_answer_breakdowns WHERE survey_id = ?",
		"DELETE FROM survey_answers WHERE survey_id = ?", "DELETE FROM imports WHERE survey_id = ?",
		"DELETE FROM surveys WHERE id = ? AND deleting = 1",
	} {
		if _, err := tx.ExecContext(ctx, q, survey); err != nil {
			return err
		}
	}
	return nil
}
