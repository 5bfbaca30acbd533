package surveys

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/jmoiron/sqlx"

	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/multirow"
	"weir/surveys"
	"weir/surveys/questions"
)

const (
	insertAnswers    = "INSERT INTO survey_answers (survey_id, respondent_id, question, status, value, raw, turn, at, day, language) VALUES "
	insertAnswerSums = "INSERT INTO survey_answer_counts (survey_id, question, status, value, day, arm, language, n) VALUES "
	answersSQL       = "SELECT respondent_id, question, status, value, raw, day, language FROM survey_answers WHERE survey_id = ? AND respondent_id IN "
	answerSumColumns = 8
	insertBreakdowns = "INSERT INTO survey_answer_breakdowns (survey_id, breakdown, question, status, value, place, arm, n) VALUES "
	breakdownColumns = 8
	// answersEndSQL finds the respondent at whom a page ends that examines some answers, of whichever
	// questions: the primary key has the respondents in front.
	answersEndSQL = "SELECT respondent_id FROM survey_answers WHERE survey_id = ? AND respondent_id > ? ORDER BY respondent_id LIMIT 1 OFFSET ?"
	textsSQL      = "SELECT respondent_id, value, at FROM survey_answers WHERE survey_id = ? AND respondent_id > ? AND respondent_id <= ? AND question = ? AND status = ? ORDER BY respondent_id LIMIT ?"
	textsPerRead  = 500 // a text has up to 1,600 characters
)

// answers writes the answers of moves, and counts them.
func (w *surveyWork) answers(t *commit.Tx, _ *commit.Request, moves []*move) error {
	var args []any
	rows, sums := 0, map[surveys.AnswerSum]int{}
	for _, m := range moves {
		for i := range m.Answers {
			a := &m.Answers[i]
			args = append(args, w.work.Survey, int64(m.is.ID), a.Question, string(a.Status), a.Value, a.Raw, int64(a.Turn), columns.Micros(a.At), int64(a.Day), a.Language)
			a.Count(sums, m.is.Arm)
			rows++
		}
	}
	if rows == 0 {
		return nil
	}
	if _, err := multirow.InsertCounted(t, insertAnswers, w.s.adds.answers, args, rows); err != nil {
		return err
	}
	args = answerSumRows(w.work.Survey, sums)
	_, err := multirow.InsertCounted(t, insertAnswerSums, w.s.adds.answerSums, args, len(args)/answerSumColumns)
	return err
}

// answerSumRows are the values of survey_answer_counts, in one order for all, so that two writers do not
// wait for each other.
func answerSumRows(survey int64, sums map[surveys.AnswerSum]int) (args []any) {
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b surveys.AnswerSum) int {
		return cmp.Or(cmp.Compare(a.Question, b.Question), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Value, b.Value),
			cmp.Compare(a.Day, b.Day), cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Language, b.Language))
	})
	for _, k := range keys {
		if n := sums[k]; n != 0 {
			args = append(args, survey, k.Question, string(k.Status), k.Value, int64(k.Day), int64(k.Arm), k.Language, int64(n))
		}
	}
	return args
}

// breakdowns counts the answers of moves by attribute, and moves those that a respondent has given before, if an
// attribute by which they are counted is another now.
func (w *surveyWork) breakdowns(t *commit.Tx, _ *commit.Request, moves []*move) error {
	if w.work.Definition == nil || len(w.work.Definition.Breakdowns) == 0 {
		return nil
	}
	breakdowns, sums := surveys.Breakdowns(w.work.Definition.Breakdowns), map[surveys.BreakdownSum]int{}
	elsewhere := map[int64]*move{}
	for _, m := range moves {
		had, has := breakdowns.Places(m.Was.Attributes), breakdowns.Places(m.is.Attributes)
		for i := range m.Answers {
			m.Answers[i].CountBy(sums, m.is.Arm, had, has)
		}
		if !slices.Equal(had, has) {
			elsewhere[int64(m.is.ID)] = m
		}
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(elsewhere)), columns.KeysPerList) {
		var rows []answerRow
		if err := t.SelectContext(t.Ctx, &rows, answersSQL+columns.Marks(len(ids)), append([]any{w.work.Survey}, columns.Arguments(ids)...)...); err != nil {
			return err
		}
		for i := range rows {
			m, a := elsewhere[rows[i].Respondent], rows[i].answer()
			if slices.ContainsFunc(m.Answers, func(r surveys.Recorded) bool { return r.Question == a.Question }) {
				continue // replaced, and counted so
			}
			kept := surveys.Recorded{Answer: a, Was: a, Kind: questions.KindOf(w.work.Definition.Questions, a.Question)}
			kept.CountBy(sums, m.is.Arm, breakdowns.Places(m.Was.Attributes), breakdowns.Places(m.is.Attributes))
		}
	}
	args := breakdownRows(w.work.Survey, sums)
	_, err := multirow.InsertCounted(t, insertBreakdowns, w.s.adds.breakdowns, args, len(args)/breakdownColumns)
	return err
}

// breakdownRows are the values of survey_answer_breakdowns, in one order for all.
func breakdownRows(survey int64, sums map[surveys.BreakdownSum]int) (args []any) {
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b surveys.BreakdownSum) int {
		return cmp.Or(cmp.Compare(a.Breakdown, b.Breakdown), cmp.Compare(a.Question, b.Question), cmp.Compare(a.Status, b.Status),
			cmp.Compare(a.Value, b.Value), cmp.Compare(a.Place, b.Place), cmp.Compare(a.Arm, b.Arm))
	})
	for _, k := range keys {
		if n := sums[k]; n != 0 {
			args = append(args, survey, int64(k.Breakdown), k.Question, string(k.Status), k.Value, int64(k.Place), int64(k.Arm), int64(n))
		}
	}
	return args
}

// answerRow is a row of survey_answers.
type answerRow struct {
	Respondent int64  `db:"respondent_id"`
	Question   string `db:"question"`
	Status     string `db:"status"`
	Value      string `db:"value"`
	Raw        string `db:"raw"`
	Day        int    `db:"day"`
	Language   string `db:"language"`
}

func (r *answerRow) answer() questions.Answer {
	return questions.Answer{Question: r.Question, Status: questions.Status(r.Status), Value: r.Value, Raw: r.Raw, Day: r.Day, Language: r.Language}
}

// Answers implements [surveys.RespondentReader].
func (s *Reader) Answers(ctx context.Context, survey int64, ids []surveys.RespondentID) (map[surveys.RespondentID]map[string]questions.Answer, error) {
	out := map[surveys.RespondentID]map[string]questions.Answer{}
	for some := range slices.Chunk(ids, columns.KeysPerList) {
		var rows []answerRow
		if err := s.Read.SelectContext(ctx, &rows, answersSQL+columns.Marks(len(some)), append([]any{survey}, columns.Arguments(some)...)...); err != nil {
			return nil, s.Failure("read answers", err)
		}
		for i := range rows {
			id := surveys.RespondentID(rows[i].Respondent)
			if out[id] == nil {
				out[id] = map[string]questions.Answer{}
			}
			out[id][rows[i].Question] = rows[i].answer()
		}
	}
	return out, nil
}

// answerSumsSQL reads sums of answers, grouped by one more column at most.
func answerSumsSQL(f surveys.SumFilter) (string, []any) {
	args := []any{f.Survey}
	if f.By == surveys.ByAttribute {
		args = append(args, f.Breakdown)
	}
	arm := ""
	if f.Arm != surveys.AllArms {
		arm, args = " AND arm = ?", append(args, f.Arm)
	}
	if f.By == surveys.ByAttribute {
		return "SELECT question, status, value, 0 AS day, 0 AS arm, '' AS language, place, SUM(n) AS n FROM survey_answer_breakdowns WHERE survey_id = ? AND breakdown = ?" +
			arm + " GROUP BY question, status, value, place HAVING SUM(n) <> 0", args
	}
	selected := map[surveys.SumsBy]string{surveys.ByDay: "0 AS day", surveys.ByArm: "0 AS arm", surveys.ByLanguage: "'' AS language"}
	key := "question, status, value"
	if f.By != surveys.ByNothing {
		selected[f.By], key = string(f.By), key+", "+string(f.By)
	}
	return "SELECT question, status, value, " + selected[surveys.ByDay] + ", " + selected[surveys.ByArm] + ", " + selected[surveys.ByLanguage] +
		", 0 AS place, SUM(n) AS n FROM survey_answer_counts WHERE survey_id = ?" + arm + " GROUP BY " + key + " HAVING SUM(n) <> 0", args
}

// AnswerSums implements [surveys.RespondentReader].
func (s *Reader) AnswerSums(ctx context.Context, f surveys.SumFilter) (map[surveys.AnswerSum]int, error) {
	var rows []struct {
		Question string `db:"question"`
		Status   string `db:"status"`
		Value    string `db:"value"`
		Day      int    `db:"day"`
		Arm      int    `db:"arm"`
		Language string `db:"language"`
		Place    int    `db:"place"`
		N        int    `db:"n"`
	}
	text, args := answerSumsSQL(f)
	if err := s.Read.SelectContext(ctx, &rows, text, args...); err != nil {
		return nil, s.Failure("read the sums of answers", err)
	}
	sums := make(map[surveys.AnswerSum]int, len(rows))
	for _, r := range rows {
		sums[surveys.AnswerSum{Question: r.Question, Status: questions.Status(r.Status), Value: r.Value, Day: r.Day, Arm: r.Arm, Language: r.Language, Place: r.Place}] = r.N
	}
	return sums, nil
}

// AnswerTexts implements [surveys.RespondentReader].
func (s *Reader) AnswerTexts(ctx context.Context, f surveys.TextFilter) (found []surveys.AnswerText, next surveys.RespondentID, err error) {
	f.Limit = min(cmp.Or(max(f.Limit, 0), columns.DefaultPage), columns.MaxPage)
	var ends []int64
	if err := s.Read.SelectContext(ctx, &ends, answersEndSQL, f.Survey, int64(f.After), columns.MaxExamined); err != nil {
		return nil, 0, s.Failure("list answers", err)
	}
	end := int64(math.MaxInt64)
	if len(ends) > 0 {
		end, next = ends[0], surveys.RespondentID(ends[0])
	}
	for {
		var rows []struct {
			Respondent int64  `db:"respondent_id"`
			Value      string `db:"value"`
			At         int64  `db:"at"`
		}
		if err := s.Read.SelectContext(ctx, &rows, textsSQL, f.Survey, int64(f.After), end, f.Question, string(questions.Answered), textsPerRead); err != nil {
			return nil, 0, s.Failure("list answers", err)
		}
		for _, r := range rows {
			if f.Matches != nil && !f.Matches(r.Value) {
				f.After = surveys.RespondentID(r.Respondent)
				continue
			}
			if len(found) == f.Limit {
				return found, f.After, nil
			}
			f.After = surveys.RespondentID(r.Respondent)
			found = append(found, surveys.AnswerText{Respondent: f.After, Text: r.Value, At: columns.Instant(r.At)})
		}
		if len(rows) < textsPerRead {
			return found, next, nil
		}
	}
}

// removeAnswers deletes the answers of a respondent and takes them out of the sums.
func (s *Importer) removeAnswers(ctx context.Context, tx *sqlx.Tx, r *surveys.Respondent) error {
	var rows []answerRow
	err := tx.SelectContext(ctx, &rows, answersSQL+columns.Marks(1), r.Survey, int64(r.ID))
	if err != nil || len(rows) == 0 {
		return err
	}
	var stored string
	if err := tx.GetContext(ctx, &stored, "SELECT definition FROM surveys WHERE id = ?", r.Survey); err != nil {
		return err
	}
	var definition surveys.Definition
	if err := json.Unmarshal([]byte(stored), &definition); err != nil {
		return err
	}
	sums, byAttribute := map[surveys.AnswerSum]int{}, map[surveys.BreakdownSum]int{}
	places := surveys.Breakdowns(definition.Breakdowns).Places(r.Attributes)
	for i := range rows {
		gone := surveys.Recorded{Was: rows[i].answer(), Answer: questions.Answer{Question: rows[i].Question}}
		if definition.Questions != nil {
			gone.Kind = questions.KindOf(definition.Questions, rows[i].Question)
		}
		gone.Count(sums, r.Arm)
		gone.CountBy(byAttribute, r.Arm, places, nil)
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM survey_answers WHERE survey_id = ? AND respondent_id = ?", r.Survey, int64(r.ID)); err != nil {
		return err
	}
	for part := range slices.Chunk(answerSumRows(r.Survey, sums), answerSumColumns*columns.KeysPerList) {
		if _, err := tx.ExecContext(ctx, insertAnswerSums+columns.RowsOf(len(part)/answerSumColumns, answerSumColumns)+s.adds.answerSums, part...); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(breakdownRows(r.Survey, byAttribute), breakdownColumns*columns.KeysPerList) {
		if _, err := tx.ExecContext(ctx, insertBreakdowns+columns.RowsOf(len(part)/breakdownColumns, breakdownColumns)+s.adds.breakdowns, part...); err != nil {
			return err
		}
	}
	return nil
}
