package conformance

import (
	"fmt"
	"testing"
	"time"

	"weir"
	"weir/internal/document"
	"weir/surveys"
)

// SurveyStores holds the stores of surveys that the suite runs on: those of package
// persistence, or a substitute for tests.
type SurveyStores struct {
	surveys.Worker
	surveys.Store
	surveys.Importer
	surveys.RespondentReader
	surveys.PacingReader
	surveys.LogReader
	surveys.Outbox
	surveys.ChannelStateStore
	// Channel makes a channel that accepts contacts.
	Channel func(t testing.TB, name string) weir.ChannelID
	// Close makes a channel accept no more contacts.
	Close func(t testing.TB, id weir.ChannelID)
}

// surveyBench is a store of surveys with the helper methods of the suite.
type surveyBench struct {
	SurveyStores
	patience
	t testing.TB
}

func newSurveyBench(t testing.TB, s SurveyStores) *surveyBench {
	t.Helper()
	return &surveyBench{SurveyStores: s, patience: newPatience(t), t: t}
}

func (d *surveyBench) ok(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// quotas returns two buckets by the attribute sex.
func quotas(m, f int) surveys.Quotas {
	return surveys.Quotas{
		{Where: map[string]surveys.Match{"sex": {In: []string{"m"}}}, Quota: m},
		{Where: map[string]surveys.Match{"sex": {In: []string{"f"}}}, Quota: f},
	}
}

func (d *surveyBench) survey(name string) surveys.Survey {
	d.t.Helper()
	v, created, err := d.PutSurvey(d.ctx(), surveys.Survey{Name: name, Definition: surveys.Definition{Quotas: quotas(5, 5)}}, document.Condition{})
	d.ok(err)
	if !created {
		d.t.Fatalf("survey %s was there", name)
	}
	return v
}

// person returns a respondent; sex may be empty.
func person(phone int, sex string) surveys.Respondent {
	r := surveys.Respondent{Phone: fmt.Sprintf("+1555%07d", phone), Bucket: surveys.NoBucket, Progress: surveys.NewProgress()}
	switch sex {
	case "m":
		r.Bucket = 0
	case "f":
		r.Bucket = 1
	}
	if sex != "" {
		r.Attributes = map[string]string{"sex": sex}
	}
	return r
}

// people adds n respondents: men, women and others in turn.
func (d *surveyBench) people(survey int64, first, n int) []surveys.Respondent {
	d.t.Helper()
	var list []surveys.Respondent
	for i := range n {
		list = append(list, person(first+i, []string{"m", "f", ""}[i%3]))
	}
	added, err := d.Add(d.ctx(), survey, 0, list)
	d.ok(err)
	ids := make([]surveys.RespondentID, len(added))
	for i, a := range added {
		if ids[i] = a.ID; a.Duplicate {
			d.t.Fatalf("respondent %d is a duplicate", i)
		}
	}
	return d.read(ids...)
}

// read reads respondents in the order of ids.
func (d *surveyBench) read(ids ...surveys.RespondentID) []surveys.Respondent {
	d.t.Helper()
	list, err := d.RespondentsByID(d.ctx(), ids)
	d.ok(err)
	byID := map[surveys.RespondentID]surveys.Respondent{}
	for _, r := range list {
		byID[r.ID] = r
	}
	out := make([]surveys.Respondent, 0, len(ids))
	for _, id := range ids {
		if r, ok := byID[id]; ok {
			out = append(out, r)
		}
	}
	return out
}

// work makes moves and requires that all of them are made.
func (d *surveyBench) work(survey int64, moves ...surveys.Move) surveys.Written {
	d.t.Helper()
	got, err := d.Work(d.ctx(), surveys.Work{Survey: survey, Moves: moves})
	d.ok(err)
	if len(got.Stale)+len(got.Refused) > 0 {
		d.t.Fatalf("work: stale %v, refused %v", got.Stale, got.Refused)
	}
	return got
}

// turn returns the move of a respondent to the state that change makes.
func turn(r surveys.Respondent, change func(*surveys.Respondent)) surveys.Move {
	m := surveys.Move{Was: r, Is: r}
	m.Is.Rev++
	change(&m.Is)
	return m
}

// activate returns the move that makes a pending respondent active, next due at an
// instant.
func activate(r surveys.Respondent, due time.Time) surveys.Move {
	return turn(r, func(r *surveys.Respondent) {
		r.Status, r.Disposition, r.DueAt, r.Started = surveys.Active, surveys.Queued, due, now()
		r.Serial, r.Attempts = r.Serial+1, r.Attempts.Add(surveys.SMS, 1)
		r.Contact.Channel = 0
	})
}

// everybody lists the respondents of a survey, over all pages.
func (d *surveyBench) everybody(survey int64) []surveys.Respondent {
	d.t.Helper()
	var all []surveys.Respondent
	f := surveys.Filter{Survey: survey, Limit: 7}
	for {
		list, next, err := d.Respondents(d.ctx(), f)
		d.ok(err)
		if all = append(all, list...); next == 0 {
			return all
		}
		f.After = next
	}
}

// sums requires that the stored counts equal a recount.
func (d *surveyBench) sums(survey int64) {
	d.t.Helper()
	want := map[surveys.Group]int{}
	for _, r := range d.everybody(survey) {
		want[r.Group()]++
	}
	got, err := d.Counts(d.ctx(), survey)
	d.ok(err)
	same(d.t, "the sums of the survey", got.Respondents, want)
}

func respondentIDs(list []surveys.Respondent) []surveys.RespondentID {
	out := make([]surveys.RespondentID, len(list))
	for i := range list {
		out[i] = list[i].ID
	}
	return out
}

func storesOf(b *bench) SurveyStores {
	return SurveyStores{Worker: b, Store: b, Importer: b, RespondentReader: b, PacingReader: b, LogReader: b, Outbox: b, ChannelStateStore: b}
}
