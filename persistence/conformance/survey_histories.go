package conformance

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"weir"
	"weir/surveys"
)

// campaign is the expected content of a store of surveys, kept in naive maps.
type campaign struct {
	d       *surveyBench
	survey  surveys.Survey
	channel weir.ChannelID
	people  map[string]surveys.Respondent // visible, by number
	imports map[int64]map[string]surveys.Respondent
}

// testSurveyHistories draws random histories of additions, imports, moves, stale
// moves and changed quotas, and compares the store with naive maps.
func testSurveyHistories(t *testing.T, d *surveyBench) {
	n := 0
	channel := d.Channel(t, "c")
	rapid.Check(t, func(r *rapid.T) {
		n++
		c := &campaign{
			d: d, survey: d.survey(fmt.Sprintf("h%d", n)), channel: channel,
			people: map[string]surveys.Respondent{}, imports: map[int64]map[string]surveys.Respondent{},
		}
		for range rapid.IntRange(1, 8).Draw(r, "steps") {
			rapid.SampledFrom([]func(*rapid.T){c.add, c.add, c.begin, c.end, c.move, c.move, c.quotas}).Draw(r, "step")(r)
			c.check(r)
		}
	})
}

func (c *campaign) ok(r *rapid.T, err error) {
	if err != nil {
		r.Fatal(err)
	}
}

// drawImport draws an open import, or 0 for none.
func (c *campaign) drawImport(r *rapid.T) int64 {
	ids := []int64{0}
	for id := range c.imports {
		ids = append(ids, id)
	}
	return ids[rapid.IntRange(0, len(ids)-1).Draw(r, "import")]
}

func (c *campaign) holder(phone string) (surveys.Respondent, bool) {
	if p, ok := c.people[phone]; ok {
		return p, true
	}
	for _, m := range c.imports {
		if p, ok := m[phone]; ok {
			return p, true
		}
	}
	return surveys.Respondent{}, false
}

func (c *campaign) add(r *rapid.T) {
	imp := c.drawImport(r)
	var list []surveys.Respondent
	for range rapid.IntRange(0, 8).Draw(r, "people") {
		list = append(list, person(rapid.IntRange(1, 25).Draw(r, "number"), rapid.SampledFrom([]string{"m", "f", ""}).Draw(r, "sex")))
	}
	got, err := c.d.Add(c.d.ctx(), c.survey.ID, imp, list)
	c.ok(r, err)
	for i, a := range got {
		p, known := c.holder(list[i].Phone)
		if a.Duplicate != known || known && a.ID != p.ID {
			r.Fatalf("person %d: %+v, known: %v", i, a, known)
		}
		if known {
			continue
		}
		p = list[i]
		p.ID, p.Survey, p.Bucket = a.ID, c.survey.ID, surveys.Quotas(c.survey.Definition.Quotas).Of(p.Attributes)
		if imp != 0 {
			c.imports[imp][p.Phone] = p
		} else {
			c.people[p.Phone] = p
		}
	}
}

func (c *campaign) begin(r *rapid.T) {
	id, err := c.d.BeginImport(c.d.ctx(), c.survey.ID)
	c.ok(r, err)
	c.imports[id] = map[string]surveys.Respondent{}
}

func (c *campaign) end(r *rapid.T) {
	imp := c.drawImport(r)
	if imp == 0 {
		return
	}
	if rapid.Bool().Draw(r, "commit") {
		c.ok(r, c.d.CommitImport(c.d.ctx(), c.survey.ID, imp))
		for phone, p := range c.imports[imp] {
			c.people[phone] = p
		}
	} else {
		c.ok(r, c.d.AbortImport(c.d.ctx(), c.survey.ID, imp))
	}
	delete(c.imports, imp)
}

func (c *campaign) quotas(r *rapid.T) {
	if c.survey.State != surveys.Draft {
		return
	}
	all := quotas(5, 5)
	v := c.survey
	v.Definition.Quotas = rapid.SampledFrom([]surveys.Quotas{nil, all, all[:1], all[1:]}).Draw(r, "quotas")
	var err error
	c.survey, err = c.d.UpdateSurvey(c.d.ctx(), v)
	c.ok(r, err)
	for phone, p := range c.people {
		p.Bucket = surveys.Quotas(v.Definition.Quotas).Of(p.Attributes)
		c.people[phone] = p
	}
	for _, m := range c.imports {
		for phone, p := range m {
			p.Bucket = surveys.Quotas(v.Definition.Quotas).Of(p.Attributes)
			m[phone] = p
		}
	}
}

// move makes random moves, some of them stale. It launches the survey first.
func (c *campaign) move(r *rapid.T) {
	if c.survey.State == surveys.Draft {
		v := c.survey
		v.State = surveys.Running
		var err error
		c.survey, err = c.d.UpdateSurvey(c.d.ctx(), v)
		c.ok(r, err)
	}
	var w surveys.Work
	w.Survey = c.survey.ID
	stale := map[surveys.RespondentID]bool{}
	for i := range 25 {
		p, ok := c.people[person(i+1, "").Phone]
		if !ok || rapid.IntRange(0, 2).Draw(r, "skip") > 0 {
			continue
		}
		m := drawMove(r, c.channel, p)
		if rapid.IntRange(0, 5).Draw(r, "stale") == 0 {
			m.Was.Rev += 7
			m.Is.Rev += 7
			stale[p.ID] = true
		}
		w.Moves = append(w.Moves, m)
	}
	got, err := c.d.Work(c.d.ctx(), w)
	c.ok(r, err)
	if len(got.Stale) != len(stale) || len(got.Refused) > 0 {
		r.Fatalf("written %+v, want stale %v", got, stale)
	}
	refs := map[int64]weir.Ref{}
	for _, contact := range got.Contacts {
		refs[contact.Owner.ID] = contact.Ref
	}
	for _, m := range w.Moves {
		if stale[m.Is.ID] {
			continue
		}
		if m.Enqueue != nil {
			m.Is.Contact = refs[int64(m.Is.ID)]
		}
		c.people[m.Is.Phone] = m.Is
	}
}

func drawMove(r *rapid.T, channel weir.ChannelID, p surveys.Respondent) surveys.Move {
	switch rapid.IntRange(0, 3).Draw(r, "move") {
	case 3: // a refusal leaves what the respondent had come to
		return turn(p, func(p *surveys.Respondent) {
			p.Status, p.Disposition, p.Finished = surveys.Failed, surveys.Refused, now()
			p.Furthest = rapid.SampledFrom(append(surveys.Funnel(), "")).Draw(r, "furthest")
			if rapid.Bool().Draw(r, "reached") {
				p.Reached = now()
			}
		})
	case 0:
		return outreach(channel, p)
	case 1:
		return turn(p, func(p *surveys.Respondent) {
			p.Status, p.Disposition, p.Counted = surveys.Completed, surveys.Complete, rapid.Bool().Draw(r, "counted")
			p.Attributes = map[string]string{"answer": "1"}
			p.Finished = now()
		})
	default:
		return turn(p, func(p *surveys.Respondent) {
			p.Status, p.DelayedUntil, p.Bucket = surveys.Pending, now(), rapid.IntRange(-1, 1).Draw(r, "bucket")
		})
	}
}

func (c *campaign) check(r *rapid.T) {
	want := map[surveys.Group]int{}
	for _, p := range c.people {
		want[p.Group()]++
	}
	got, err := c.d.Counts(c.d.ctx(), c.survey.ID)
	c.ok(r, err)
	if fmt.Sprint(got.Respondents) != fmt.Sprint(want) {
		r.Fatalf("sums %v\nwant %v", got.Respondents, want)
	}
	all := c.d.everybody(c.survey.ID)
	if len(all) != len(c.people) {
		r.Fatalf("%d respondents, want %d", len(all), len(c.people))
	}
	for _, p := range all {
		w := c.people[p.Phone]
		w.Added = p.Added
		if fmt.Sprintf("%+v", p) != fmt.Sprintf("%+v", w) {
			r.Fatalf("stored %+v\nwant %+v", p, w)
		}
	}
}
