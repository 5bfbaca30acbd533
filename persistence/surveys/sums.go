package surveys

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
	"weir/persistence/multirow"
	"weir/surveys"
)

// sumChanges collects by how much the sums of one survey change.
type sumChanges map[surveys.Group]int

// sumColumns is the number of columns of survey_sums.
const sumColumns = 7

// rows are the values of survey_sums, in one order for all, so that two
// writers do not wait for each other.
func (c sumChanges) rows(survey int64) (args []any) {
	var groups []surveys.Group
	for g, n := range c {
		if n != 0 {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(a, b surveys.Group) int {
		return cmp.Or(cmp.Compare(statusNumber(a.Status), statusNumber(b.Status)), cmp.Compare(a.Disposition, b.Disposition),
			cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(columns.Number(a.Counted), columns.Number(b.Counted)), cmp.Compare(a.Furthest, b.Furthest))
	})
	for _, g := range groups {
		args = append(args, survey, statusNumber(g.Status), string(g.Disposition), int64(g.Bucket), columns.Number(g.Counted), string(g.Furthest), int64(c[g]))
	}
	return args
}

const (
	insertSums     = "INSERT INTO survey_sums (survey_id, status, disposition, bucket, counted, furthest, n) VALUES "
	insertAttempts = "INSERT INTO survey_attempts (survey_id, mode, outcome, n) VALUES "
	insertQuarters = "INSERT INTO survey_quarters (survey_id, quarter, mode, arm, started, answered, completed) VALUES "
	insertBegun    = "INSERT INTO survey_begun (survey_id, second, n) VALUES "
)

func (a *additions) addSumsIn(t *commit.Tx, survey int64, c sumChanges) error {
	args := c.rows(survey)
	_, err := multirow.InsertCounted(t, insertSums, a.sums, args, len(args)/sumColumns)
	return err
}

func (a *additions) addSums(ctx context.Context, tx *sqlx.Tx, survey int64, c sumChanges) error {
	for part := range slices.Chunk(c.rows(survey), sumColumns*columns.KeysPerList) {
		if _, err := tx.ExecContext(ctx, insertSums+columns.RowsOf(len(part)/sumColumns, sumColumns)+a.sums, part...); err != nil {
			return err
		}
	}
	return nil
}

// quarterKey tells apart what is counted in the same quarter of an hour.
type quarterKey struct {
	mode surveys.Mode
	arm  int
}

// quarterChanges collects what respondents of one survey came to.
type quarterChanges map[quarterKey]surveys.Passed

// rows are the values of survey_quarters, in one order for all.
func (c quarterChanges) rows(survey int64, at time.Time) (args []any) {
	keys := slices.SortedFunc(maps.Keys(c), func(a, b quarterKey) int { return cmp.Or(cmp.Compare(a.mode, b.mode), cmp.Compare(a.arm, b.arm)) })
	for _, k := range keys {
		p := c[k]
		args = append(args, survey, at.Unix()/int64(surveys.ActivityStep.Seconds()), string(k.mode), int64(k.arm), int64(p.Started), int64(p.Answered), int64(p.Completed))
	}
	return args
}

// Activity implements [surveys.RespondentReader].
func (s *Reader) Activity(ctx context.Context, survey int64) ([]surveys.Activity, error) {
	var rows []struct {
		Quarter   int64  `db:"quarter"`
		Mode      string `db:"mode"`
		Arm       int    `db:"arm"`
		Started   int    `db:"started"`
		Answered  int    `db:"answered"`
		Completed int    `db:"completed"`
	}
	if err := s.Read.SelectContext(ctx, &rows, quartersSQL, survey); err != nil {
		return nil, s.Failure("read the activity of a survey", err)
	}
	list := make([]surveys.Activity, len(rows))
	for i, r := range rows {
		at := time.Unix(r.Quarter*int64(surveys.ActivityStep.Seconds()), 0).UTC()
		list[i] = surveys.Activity{At: at, Mode: surveys.Mode(r.Mode), Arm: r.Arm, Passed: surveys.Passed{Started: r.Started, Answered: r.Answered, Completed: r.Completed}}
	}
	return list, nil
}

// Counts implements [surveys.RespondentReader].
func (s *Reader) Counts(ctx context.Context, survey int64) (surveys.Sums, error) {
	var groups []struct {
		Status      int64  `db:"status"`
		Disposition string `db:"disposition"`
		Bucket      int    `db:"bucket"`
		Counted     bool   `db:"counted"`
		Furthest    string `db:"furthest"`
		N           int    `db:"n"`
	}
	sums := surveys.Sums{Respondents: map[surveys.Group]int{}, Attempts: map[surveys.Made]int{}}
	if err := s.Read.SelectContext(ctx, &groups, sumsSQL, survey); err != nil {
		return sums, s.Failure("read the sums of a survey", err)
	}
	for _, g := range groups {
		sums.Respondents[surveys.Group{
			Status: statusOf(g.Status), Disposition: surveys.Disposition(g.Disposition), Bucket: g.Bucket, Counted: g.Counted, Furthest: surveys.Disposition(g.Furthest),
		}] = g.N
	}
	var made []struct {
		Mode    string `db:"mode"`
		Outcome string `db:"outcome"`
		N       int    `db:"n"`
	}
	if err := s.Read.SelectContext(ctx, &made, attemptsSQL, survey); err != nil {
		return sums, s.Failure("read the attempts of a survey", err)
	}
	for _, m := range made {
		sums.Attempts[surveys.Made{Mode: surveys.Mode(m.Mode), Outcome: weir.Outcome(m.Outcome)}] = m.N
	}
	return sums, nil
}

const (
	sumsSQL     = "SELECT status, disposition, bucket, counted, furthest, n FROM survey_sums WHERE survey_id = ? AND n <> 0"
	quartersSQL = "SELECT quarter, mode, arm, started, answered, completed FROM survey_quarters WHERE survey_id = ? ORDER BY quarter, mode, arm"
	attemptsSQL = "SELECT mode, outcome, n FROM survey_attempts WHERE survey_id = ?"
)

// additions are the ends of statements that add to numbers.
type additions struct{ sums, attempts, begun, quarters, answers, answerSums, breakdowns string }

func newAdditions(d dialect.Statements) additions {
	quarters := d.Merge("survey_id", "quarter", "mode", "arm")
	for i, c := range []string{"started", "answered", "completed"} {
		if i > 0 {
			quarters += ", "
		}
		quarters += c + " = " + c + " + " + d.Fresh(c)
	}
	answers := d.Merge("survey_id", "respondent_id", "question")
	for i, c := range []string{"status", "value", "raw", "turn", "at", "day", "language"} { // an answer replaces an earlier one
		if i > 0 {
			answers += ", "
		}
		answers += c + " = " + d.Fresh(c)
	}
	return additions{
		answers:    answers,
		answerSums: d.Add("survey_id", "question", "status", "value", "day", "arm", "language"),
		breakdowns: d.Add("survey_id", "breakdown", "status", "question", "value", "place", "arm"),
		sums:       d.Add("survey_id", "status", "disposition", "bucket", "counted", "furthest"),
		attempts:   d.Add("survey_id", "mode", "outcome"),
		begun:      d.Add("survey_id", "second"),
		quarters:   quarters,
	}
}
