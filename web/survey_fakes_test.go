package web_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"weir"
	"weir/events"
	"weir/operators"
	"weir/surveys"
)

// people is a store of surveys and a minimal broker over it.
type people struct {
	mu          sync.Mutex
	surveys     []surveys.Survey
	respondents []surveys.Respondent
	imports     map[int64][]surveys.Respondent // not visible yet
	log         []surveys.LogEntry
	heard       []surveys.Report
	changed     []int64
	stats       surveys.Stats
	wrong       []weir.FieldError // errors that depend on the channels
	hearError   error
	writes      int
	aborted     int
	pages       int
	breaks      int // the page that cannot be read
	down        error
	unsure      map[string]bool // numbers of an unfinished import
	meanwhile   func()          // runs before a survey is updated
	added       func(ctx context.Context, n int) error
}

func (p *people) begin(write bool) (func(), error) {
	p.mu.Lock()
	if p.down != nil {
		err := p.down
		p.mu.Unlock()
		return nil, err
	}
	if write {
		p.writes++
	}
	return p.mu.Unlock, nil
}

func (p *people) find(f func(*surveys.Survey) bool) (*surveys.Survey, error) {
	for i := range p.surveys {
		if f(&p.surveys[i]) {
			return &p.surveys[i], nil
		}
	}
	return nil, notFound()
}

func surveyNamed(name string) func(*surveys.Survey) bool {
	return func(s *surveys.Survey) bool { return s.Name == name && !s.Deleting }
}

func (p *people) PutSurvey(_ context.Context, s surveys.Survey) (surveys.Survey, bool, error) {
	end, err := p.begin(true)
	if err != nil {
		return s, false, err
	}
	defer end()
	if have, err := p.find(surveyNamed(s.Name)); err == nil {
		s.ID, s.Version, s.Created, s.Updated = have.ID, have.Version+1, have.Created, start
		*have = s
		return s, false, nil
	}
	s.ID, s.Version, s.Created, s.Updated = int64(len(p.surveys)+1), 1, start, start
	p.surveys = append(p.surveys, s)
	return s, true, nil
}

func (p *people) UpdateSurvey(_ context.Context, s surveys.Survey, _ ...events.Event) (surveys.Survey, error) {
	if p.meanwhile != nil {
		p.meanwhile()
	}
	end, err := p.begin(false)
	if err != nil {
		return s, err
	}
	defer end()
	have, err := p.find(func(h *surveys.Survey) bool { return h.ID == s.ID })
	if err != nil {
		return s, err
	}
	if have.Version != s.Version {
		return s, weir.Errorf(weir.CodeConflict, "another version")
	}
	p.writes++
	s.Version++
	*have = s
	return s, nil
}

func (p *people) Survey(_ context.Context, name string) (surveys.Survey, error) {
	return p.one(surveyNamed(name))
}

func (p *people) SurveyByID(_ context.Context, id int64) (surveys.Survey, error) {
	return p.one(func(s *surveys.Survey) bool { return s.ID == id })
}

func (p *people) ByPhone(_ context.Context, phone string, limit int) ([]surveys.Respondent, error) {
	return p.some(limit, func(r *surveys.Respondent) bool { return r.Phone == phone })
}

func (p *people) RespondentsByID(_ context.Context, ids []surveys.RespondentID) ([]surveys.Respondent, error) {
	return p.some(len(ids), func(r *surveys.Respondent) bool { return slices.Contains(ids, r.ID) })
}

func (p *people) some(limit int, which func(*surveys.Respondent) bool) (list []surveys.Respondent, _ error) {
	end, err := p.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	for i := range p.respondents {
		if which(&p.respondents[i]) && len(list) < limit {
			list = append(list, p.respondents[i])
		}
	}
	return list, nil
}

func (p *people) one(f func(*surveys.Survey) bool) (surveys.Survey, error) {
	end, err := p.begin(false)
	if err != nil {
		return surveys.Survey{}, err
	}
	defer end()
	s, err := p.find(f)
	if err != nil {
		return surveys.Survey{}, err
	}
	return *s, nil
}

func (p *people) Surveys(_ context.Context, states []surveys.State, after string, limit int) ([]surveys.Survey, error) {
	end, err := p.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	var out []surveys.Survey
	for _, s := range p.surveys {
		if !s.Deleting && s.Name > after && (len(states) == 0 || slices.Contains(states, s.State)) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b surveys.Survey) int { return cmp.Compare(a.Name, b.Name) })
	return out[:min(limit, len(out))], nil
}

func (p *people) RemoveSurvey(_ context.Context, id int64) error {
	end, err := p.begin(true)
	if err != nil {
		return err
	}
	defer end()
	s, err := p.find(func(s *surveys.Survey) bool { return s.ID == id })
	if err == nil {
		s.Deleting = true
	}
	return err
}

func (p *people) Add(ctx context.Context, survey, imp int64, list []surveys.Respondent) ([]surveys.Added, error) {
	if p.added != nil {
		if err := p.added(ctx, len(list)); err != nil {
			return nil, err
		}
	}
	end, err := p.begin(true)
	if err != nil {
		return nil, err
	}
	defer end()
	out := make([]surveys.Added, 0, len(list))
	known := map[string]surveys.RespondentID{}
	for _, h := range slices.Concat(p.respondents, p.imports[imp]) {
		if h.Survey == survey {
			known[h.Phone] = h.ID
		}
	}
	for _, r := range list {
		if p.unsure[r.Phone] {
			out = append(out, surveys.Added{ID: 999, Duplicate: true, Unsure: true})
			continue
		}
		if id, ok := known[r.Phone]; ok {
			out = append(out, surveys.Added{ID: id, Duplicate: true})
			continue
		}
		r.Attributes = maps.Clone(r.Attributes)
		r.ID = surveys.RespondentID(len(p.respondents) + len(p.imports[imp]) + 1)
		known[r.Phone] = r.ID
		if imp == 0 {
			p.respondents = append(p.respondents, r)
		} else {
			p.imports[imp] = append(p.imports[imp], r)
		}
		out = append(out, surveys.Added{ID: r.ID})
	}
	return out, nil
}

func (p *people) BeginImport(context.Context, int64) (int64, error) {
	end, err := p.begin(true)
	if err != nil {
		return 0, err
	}
	defer end()
	id := int64(len(p.imports) + 1)
	p.imports[id] = nil
	return id, nil
}

func (p *people) CommitImport(ctx context.Context, _, imp int64) error {
	end, err := p.begin(true)
	if err != nil {
		return err
	}
	defer end()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.respondents = append(p.respondents, p.imports[imp]...)
	p.imports[imp] = nil
	return nil
}

func (p *people) AbortImport(ctx context.Context, _, imp int64) error {
	end, err := p.begin(false)
	if err != nil {
		return err
	}
	defer end()
	p.aborted++
	p.imports[imp] = nil
	return ctx.Err()
}

func (p *people) Respondent(_ context.Context, survey int64, id surveys.RespondentID) (surveys.Respondent, error) {
	end, err := p.begin(false)
	if err != nil {
		return surveys.Respondent{}, err
	}
	defer end()
	for _, r := range p.respondents {
		if r.Survey == survey && r.ID == id {
			return r, nil
		}
	}
	return surveys.Respondent{}, notFound()
}

func (p *people) Respondents(_ context.Context, f surveys.Filter) ([]surveys.Respondent, surveys.RespondentID, error) {
	end, err := p.begin(false)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	if p.pages++; p.pages == p.breaks {
		return nil, 0, errDown
	}
	var out []surveys.Respondent
	for _, r := range p.respondents {
		if r.Survey != f.Survey || r.ID <= f.After || !f.Matches(&r) {
			continue
		}
		if len(out) == f.Limit {
			return out, out[len(out)-1].ID, nil
		}
		out = append(out, r)
	}
	return out, 0, nil
}

func (p *people) Log(_ context.Context, _, after int64, limit int) ([]surveys.LogEntry, error) {
	end, err := p.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	rest := p.log[min(int(after), len(p.log)):]
	return rest[:min(limit, len(rest))], nil
}

func (p *people) Recent(_ context.Context, f surveys.LogFilter) ([]surveys.LogEntry, int64, error) {
	end, err := p.begin(false)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	list := slices.Clone(p.log)
	if f.Before > 0 {
		list = list[:min(f.Before-1, int64(len(list)))]
	}
	slices.Reverse(list)
	if len(list) > f.Limit {
		return list[:f.Limit], list[f.Limit-1].ID, nil
	}
	return list, 0, nil
}

// Methods of the broker.

func (p *people) Check(_ context.Context, d surveys.Definition) (*surveys.Plan, []weir.FieldError) {
	plan, wrong := d.Compile(surveys.Defaults{Batch: 100, LimitPerMinute: 60, InitialSuccessRate: 1})
	return plan, append(wrong, p.wrong...)
}

func (p *people) Step(_ context.Context, name string, step surveys.Step) (surveys.Survey, error) {
	end, err := p.begin(false)
	if err != nil {
		return surveys.Survey{}, err
	}
	defer end()
	s, err := p.find(surveyNamed(name))
	if err != nil {
		return surveys.Survey{}, err
	}
	next, err := s.Command(step)
	if err != nil {
		return surveys.Survey{}, err
	}
	if next.State != s.State || next.Locked != s.Locked {
		s.State, s.Locked, s.Version = next.State, next.Locked, s.Version+1
		p.writes++
	}
	return *s, nil
}

func (p *people) Launch(ctx context.Context, name string, _ bool) (surveys.Survey, error) {
	return p.Step(ctx, name, surveys.Launch)
}

// CheckLaunch finds all respondents of the survey in order.
func (p *people) CheckLaunch(_ context.Context, s surveys.Survey) (surveys.LaunchCheck, error) {
	end, err := p.begin(false)
	if err != nil {
		return surveys.LaunchCheck{}, err
	}
	defer end()
	out := surveys.LaunchCheck{Capacity: map[string]int{}}
	out.Plan, out.Refusal = s.Definition.Compile(surveys.Defaults{Batch: 1, LimitPerMinute: 1})
	for i := range p.respondents {
		if r := p.respondents[i]; r.Survey == s.ID {
			out.Checked, out.First = out.Checked+1, append(out.First, r)
		}
	}
	for _, mode := range s.Definition.Modes {
		out.Capacity[mode.Channel] = 10
	}
	return out, nil
}

func (p *people) StopRespondent(_ context.Context, s surveys.Survey, id surveys.RespondentID) (surveys.Respondent, error) {
	end, err := p.begin(true)
	if err != nil {
		return surveys.Respondent{}, err
	}
	defer end()
	r, err := p.respondent(s.ID, id)
	if err != nil {
		return surveys.Respondent{}, err
	}
	r.Status = surveys.Canceled
	return *r, nil
}

// respondent finds a respondent of a survey.
func (p *people) respondent(survey int64, id surveys.RespondentID) (*surveys.Respondent, error) {
	for i := range p.respondents {
		if r := &p.respondents[i]; r.Survey == survey && r.ID == id {
			return r, nil
		}
	}
	return nil, notFound()
}

func (p *people) Correct(_ context.Context, survey int64, list []surveys.Correction) ([]surveys.Corrected, error) {
	end, err := p.begin(true)
	if err != nil {
		return nil, err
	}
	defer end()
	out := make([]surveys.Corrected, len(list))
	for i, c := range list {
		r, err := p.respondent(survey, c.ID)
		if err == nil {
			out[i].Respondent, out[i].Changed, err = c.Apply(*r, nil)
		}
		if out[i].Err = err; err == nil {
			*r = out[i].Respondent
		}
	}
	return out, nil
}

func (p *people) RemoveRespondent(_ context.Context, survey int64, id surveys.RespondentID) error {
	end, err := p.begin(true)
	if err != nil {
		return err
	}
	defer end()
	r, err := p.respondent(survey, id)
	if err != nil {
		return err
	}
	if err := r.CheckRemovable(); err != nil {
		return err
	}
	p.respondents = slices.DeleteFunc(p.respondents, func(r surveys.Respondent) bool { return r.Survey == survey && r.ID == id })
	return nil
}

func (p *people) Report(_ context.Context, s surveys.Survey, id surveys.RespondentID, h surveys.Report) (surveys.Respondent, error) {
	end, err := p.begin(true)
	if err != nil {
		return surveys.Respondent{}, err
	}
	defer end()
	p.heard = append(p.heard, h)
	for i := range p.respondents {
		if r := &p.respondents[i]; r.Survey == s.ID && r.ID == id && p.hearError == nil {
			r.Disposition = cmp.Or(h.Disposition, surveys.Contacted)
			return *r, nil
		}
	}
	return surveys.Respondent{}, p.hearError
}

func (p *people) Why(context.Context, surveys.Survey) (operators.Why, error) {
	return operators.Why{}, nil
}

func (p *people) WhyRespondent(context.Context, surveys.Survey, surveys.Respondent) (operators.Why, error) {
	return operators.Why{}, nil
}

func (p *people) Stats(context.Context, surveys.Survey) (surveys.Stats, error) {
	end, err := p.begin(false)
	if err != nil {
		return surveys.Stats{}, err
	}
	defer end()
	return p.stats, nil
}

// Course returns the course of a survey with one respondent, who completed at its launch.
func (p *people) Course(_ context.Context, s surveys.Survey, q surveys.CourseQuery) (*surveys.Plan, surveys.Course, error) {
	end, err := p.begin(false)
	if err != nil {
		return nil, surveys.Course{}, err
	}
	defer end()
	plan, wrong := s.Definition.Compile(surveys.Defaults{Batch: 1, LimitPerMinute: 1})
	if plan == nil {
		return nil, surveys.Course{}, surveys.Invalid(wrong)
	}
	q.Now, q.Launched, q.Respondents, q.Tally, q.Capacity = time.Now(), s.Launched, 2, surveys.Tally{Pending: 1}, map[string]int{}
	for _, mode := range s.Definition.Modes {
		q.Capacity[mode.Channel] = 10
	}
	q.Activity = []surveys.Activity{{At: q.Now, Mode: plan.Arms[0].Modes[0], Passed: surveys.Passed{Started: 1, Answered: 1, Completed: 1}}}
	return plan, surveys.CourseOf(plan, q), nil
}

func (p *people) Changed(survey int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = append(p.changed, survey)
}

// stored counts the added respondents, visible or not, under concurrent
// additions.
func (p *people) stored() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.respondents)
	for _, list := range p.imports {
		n += len(list)
	}
	return n
}
