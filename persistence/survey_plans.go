package persistence

import (
	"math"
	"time"

	"weir"
	"weir/surveys"
)

// SurveyStatements lists the statements that a survey broker, a list and a
// sweep run, with example arguments, for tests of their plans.
func (s *Store) SurveyStatements(now time.Time, r surveys.Respondent, channel weir.ChannelID, imp int64) []Statement {
	survey, id := r.Survey, int64(r.ID)
	pending, active := statusNumber(surveys.Pending), statusNumber(surveys.Active)
	m := surveys.Move{Was: r, Is: r}
	m.Is.Rev++
	return []Statement{
		{"some", someSQL + marks(2), []any{id, id + 1}},
		{"list", listSQL, []any{survey, id, 100}},
		{"one by number", phoneSQL, []any{r.Phone, survey}},
		{"all by number", everySQL, []any{r.Phone, 10}},
		{"pending buckets", pendingSQL, []any{survey, pending}},
		{"startable of a bucket", s.fresh(), []any{survey, pending, 1, int64(0), 100}},
		{"delayed of a bucket", s.delayed(), []any{survey, pending, 1, micros(now), 100}},
		{"startable of two", unionOf(s.fresh(), 2), []any{survey, pending, 1, int64(0), 100, survey, pending, 2, int64(0), 100}},
		{"rejectable", bucketSQL, []any{survey, pending, 0, 100}},
		{"due", dueSQL, []any{survey, active, 101}},
		{"open", openSQL, []any{survey, pending, 100}},
		{"sums", sumsSQL, []any{survey}},
		{"attempts", attemptsSQL, []any{survey}},
		{"log", surveyLog, []any{survey, int64(0), 100}},
		{"recent log", recentLog, []any{survey, int64(math.MaxInt64), int64(0), 100}},
		{"range of a respondent's log", logRangeSQL, []any{survey, int64(math.MaxInt64), int64(0), 5}},
		{"begun", begunSQL, []any{survey, now.Add(-time.Minute).Unix()}},
		{"notices", outboxSQL, []any{int64(0), 100}},
		{"ready slots", readySQL + readyEnd, []any{1, int64(channel), 10}},
		{"ready slots of two lanes", readyOfLanes(2), []any{1, int64(channel), int64(weir.LaneOf(weir.High, "a")), int64(weir.LaneOf(weir.Normal, "a")), 1, 10}},
		{"an import", importedSQL, []any{survey, imp, int64(0), 100}},
		{"to be sorted", unsortedSQL, []any{survey, id, 100}},
		{"moves", s.sql.UpdateRespondents, []any{encodeMoves([]*move{{Move: &m, is: m.Is}})}},
	}
}
