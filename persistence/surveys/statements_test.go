package surveys

import (
	"math"
	"time"

	"weir"
	"weir/persistence/columns"
	"weir/surveys"
)

// statement is what package plantest calls a Statement: an SQL text with example arguments.
type statement = struct {
	Name, Text string
	Args       []any
}

func named(name, text string, args ...any) statement { return statement{name, text, args} }

func sumsOf(name string, f surveys.SumFilter) statement {
	text, args := answerSumsSQL(f)
	return named(name, text, args...)
}

// SurveyStatements lists the statements that a survey broker, a list and a
// sweep run.
func (s *Store) SurveyStatements(now time.Time, r surveys.Respondent, channel weir.ChannelID, imp int64) []statement {
	survey, id := r.Survey, int64(r.ID)
	pending, active := statusNumber(surveys.Pending), statusNumber(surveys.Active)
	m := surveys.Move{Was: r, Is: r}
	m.Is.Rev++
	return []statement{
		named("a survey", byIDSQL, int64(1), string(surveys.Draft), survey),
		named("some", someSQL+columns.Marks(2), id, id+1),
		named("list", listSQL, survey, id, 100),
		named("one by number", phoneSQL(1), r.Phone, survey),
		named("all by number", everySQL(1), r.Phone, 10),
		named("all by several numbers", severalSQL(3), r.Phone, "+15550000", "+15550001", 300),
		named("pending buckets", pendingSQL, survey, pending),
		named("startable of a bucket", unionOf(s.fresh(), 1), survey, pending, 1, int64(0), 100),
		named("delayed of a bucket", unionOf(s.delayed(), 1), survey, pending, 1, columns.Micros(now), 100),
		named("startable of two", unionOf(s.fresh(), 2), survey, pending, 1, int64(0), 100, survey, pending, 2, int64(0), 100),
		named("rejectable", bucketSQL, survey, pending, 0, 100),
		named("due", dueSQL, survey, active, 101),
		named("latest due", latestSQL, survey, active, 100),
		named("open", openSQL, survey, pending, 100),
		named("sums", sumsSQL, survey),
		named("attempts", attemptsSQL, survey),
		named("end of a page of answers", answersEndSQL, survey, id, 100),
		named("texts", textsSQL, survey, id, id+1000, "q", "answered", 100),
		sumsOf("sums of answers", surveys.SumFilter{Survey: survey, Arm: surveys.AllArms}),
		sumsOf("sums of answers by day", surveys.SumFilter{Survey: survey, Arm: 1, By: surveys.ByDay}),
		sumsOf("sums of answers by attribute", surveys.SumFilter{Survey: survey, Arm: 1, By: surveys.ByAttribute, Breakdown: 2}),
		named("quarters", quartersSQL, survey),
		named("log", surveyLog, survey, int64(0), 100),
		named("recent log", recentLog, survey, int64(math.MaxInt64), int64(0), 100),
		named("range of a respondent's log", logRangeSQL, survey, int64(math.MaxInt64), int64(0), 5),
		named("begun", begunSQL, survey, now.Add(-time.Minute).Unix()),
		named("outbox", outboxSQL, int64(0), 100),
		named("ready slots", readySQL+readyEnd, 1, int64(channel), 10),
		named("ready slots of two lanes", readyOfLanes(2), 1, int64(channel), int64(weir.LaneOf(weir.High, "a")), int64(weir.LaneOf(weir.Normal, "a")), 1, 10),
		named("an import", importedSQL, survey, imp, int64(0), 100),
		named("to be sorted", unsortedSQL, survey, id, 100),
		named("moves", s.Reader.Dialect.UpdateRespondents, encodeMoves([]*move{{Move: &m, is: m.Is}})),
	}
}
