package survey

import (
	"math"
	"time"

	"weir"
	"weir/persistence/queue"
	"weir/persistence/values"
	"weir/surveys"
)

// SurveyStatements lists the statements that a survey broker, a list and a
// sweep run, with example arguments, for tests of their plans.
func (s *Store) SurveyStatements(now time.Time, r surveys.Respondent, channel weir.ChannelID, imp int64) []values.Statement {
	survey, id := r.Survey, int64(r.ID)
	pending, active := statusNumber(surveys.Pending), statusNumber(surveys.Active)
	m := surveys.Move{Was: r, Is: r}
	m.Is.Rev++
	return []values.Statement{
		values.Named("some", someSQL+values.Marks(2), id, id+1),
		values.Named("list", listSQL, survey, id, 100),
		values.Named("one by number", phoneSQL, r.Phone, survey),
		values.Named("all by number", everySQL, r.Phone, 10),
		values.Named("pending buckets", pendingSQL, survey, pending),
		values.Named("startable of a bucket", unionOf(s.fresh(), 1), survey, pending, 1, int64(0), 100),
		values.Named("delayed of a bucket", unionOf(s.delayed(), 1), survey, pending, 1, values.Micros(now), 100),
		values.Named("startable of two", unionOf(s.fresh(), 2), survey, pending, 1, int64(0), 100, survey, pending, 2, int64(0), 100),
		values.Named("rejectable", bucketSQL, survey, pending, 0, 100),
		values.Named("due", dueSQL, survey, active, 101),
		values.Named("open", openSQL, survey, pending, 100),
		values.Named("sums", sumsSQL, survey),
		values.Named("attempts", attemptsSQL, survey),
		values.Named("log", surveyLog, survey, int64(0), 100),
		values.Named("recent log", recentLog, survey, int64(math.MaxInt64), int64(0), 100),
		values.Named("range of a respondent's log", logRangeSQL, survey, int64(math.MaxInt64), int64(0), 5),
		values.Named("begun", begunSQL, survey, now.Add(-time.Minute).Unix()),
		values.Named("notices", queue.OutboxSQL, int64(0), 100),
		values.Named("ready slots", readySQL+readyEnd, 1, int64(channel), 10),
		values.Named("ready slots of two lanes", readyOfLanes(2), 1, int64(channel), int64(weir.LaneOf(weir.High, "a")), int64(weir.LaneOf(weir.Normal, "a")), 1, 10),
		values.Named("an import", importedSQL, survey, imp, int64(0), 100),
		values.Named("to be sorted", unsortedSQL, survey, id, 100),
		values.Named("moves", s.Dialect.UpdateRespondents, encodeMoves([]*move{{Move: &m, is: m.Is}})),
	}
}
