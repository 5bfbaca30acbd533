package survey

import (
	"math"
	"time"

	"weir"
	"weir/persistence/commit"
	"weir/persistence/queue"
	"weir/surveys"
)

// SurveyStatements lists the statements that a survey broker, a list and a
// sweep run, with example arguments, for tests of their plans.
func (s *Store) SurveyStatements(now time.Time, r surveys.Respondent, channel weir.ChannelID, imp int64) []commit.Statement {
	survey, id := r.Survey, int64(r.ID)
	pending, active := statusNumber(surveys.Pending), statusNumber(surveys.Active)
	m := surveys.Move{Was: r, Is: r}
	m.Is.Rev++
	return []commit.Statement{
		commit.Named("some", someSQL+commit.Marks(2), id, id+1),
		commit.Named("list", listSQL, survey, id, 100),
		commit.Named("one by number", phoneSQL, r.Phone, survey),
		commit.Named("all by number", everySQL, r.Phone, 10),
		commit.Named("pending buckets", pendingSQL, survey, pending),
		commit.Named("startable of a bucket", s.fresh(), survey, pending, 1, int64(0), 100),
		commit.Named("delayed of a bucket", s.delayed(), survey, pending, 1, commit.Micros(now), 100),
		commit.Named("startable of two", unionOf(s.fresh(), 2), survey, pending, 1, int64(0), 100, survey, pending, 2, int64(0), 100),
		commit.Named("rejectable", bucketSQL, survey, pending, 0, 100),
		commit.Named("due", dueSQL, survey, active, 101),
		commit.Named("open", openSQL, survey, pending, 100),
		commit.Named("sums", sumsSQL, survey),
		commit.Named("attempts", attemptsSQL, survey),
		commit.Named("log", surveyLog, survey, int64(0), 100),
		commit.Named("recent log", recentLog, survey, int64(math.MaxInt64), int64(0), 100),
		commit.Named("range of a respondent's log", logRangeSQL, survey, int64(math.MaxInt64), int64(0), 5),
		commit.Named("begun", begunSQL, survey, now.Add(-time.Minute).Unix()),
		commit.Named("notices", queue.OutboxSQL, int64(0), 100),
		commit.Named("ready slots", readySQL+readyEnd, 1, int64(channel), 10),
		commit.Named("ready slots of two lanes", readyOfLanes(2), 1, int64(channel), int64(weir.LaneOf(weir.High, "a")), int64(weir.LaneOf(weir.Normal, "a")), 1, 10),
		commit.Named("an import", importedSQL, survey, imp, int64(0), 100),
		commit.Named("to be sorted", unsortedSQL, survey, id, 100),
		commit.Named("moves", s.Dialect.UpdateRespondents, encodeMoves([]*move{{Move: &m, is: m.Is}})),
	}
}
