package webtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"weir"
	"weir/events"
	"weir/internal/phonenumber"
	"weir/operators"
	"weir/surveys"
)

// People is a store of surveys and a minimal broker over it.
type People struct {
	Mu                sync.Mutex
	StoredSurveys     []surveys.Survey
	StoredRespondents []surveys.Respondent
	Imports           map[int64][]surveys.Respondent // not visible yet
	StoredLog         []surveys.LogEntry
	Heard             []surveys.Report
	ChangesSeen       []int64
	StoredStats       surveys.Stats
	Wrong             []weir.FieldError // errors that depend on the channels
	HearError         error
	Writes            int
	Aborted           int
	Pages             int
	Breaks            int // the page that cannot be read
	Down              error
	Unsure            map[string]bool // numbers of an unfinished import
	Meanwhile         func()          // runs before a survey is updated
	Added             func(ctx context.Context, n int) error
}

func (p *People) begin(write bool) (func(), error) {
	p.Mu.Lock()
	if p.Down != nil {
		err := p.Down
		p.Mu.Unlock()
		return nil, err
	}
	if write {
		p.Writes++
	}
	return p.Mu.Unlock, nil
}

func (p *People) find(f func(*surveys.Survey) bool) (*surveys.Survey, error) {
	for i := range p.StoredSurveys {
		if f(&p.StoredSurveys[i]) {
			return &p.StoredSurveys[i], nil
		}
	}
	return nil, notFound()
}

func surveyNamed(name string) func(*surveys.Survey) bool {
	return func(s *surveys.Survey) bool { return s.Name == name && !s.Deleting }
}

func (p *People) PutSurvey(_ context.Context, s surveys.Survey) (surveys.Survey, bool, error) {
	end, err := p.begin(true)
	if err != nil {
		return s, false, err
	}
	defer end()
	if have, err := p.find(surveyNamed(s.Name)); err == nil {
		s.ID, s.Version, s.Created, s.Updated = have.ID, have.Version+1, have.Created, Start()
		*have = s
		return s, false, nil
	}
	s.ID, s.Version, s.Created, s.Updated = int64(len(p.StoredSurveys)+1), 1, Start(), Start()
	p.StoredSurveys = append(p.StoredSurveys, s)
	return s, true, nil
}

func (p *People) UpdateSurvey(_ context.Context, s surveys.Survey, _ ...events.Event) (surveys.Survey, error) {
	if p.Meanwhile != nil {
		p.Meanwhile()
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
	p.Writes++
	s.Version++
	*have = s
	return s, nil
}

func (p *People) Survey(_ context.Context, name string) (surveys.Survey, error) {
	return p.one(surveyNamed(name))
}

func (p *People) SurveyByID(_ context.Context, id int64) (surveys.Survey, error) {
	return p.one(func(s *surveys.Survey) bool { return s.ID == id })
}

func (p *People) ByPhone(_ context.Context, phone string, limit int) ([]surveys.Respondent, error) {
	return p.some(limit, func(r *surveys.Respondent) bool { return phonenumber.Identity(r.Phone) == phonenumber.Identity(phone) })
}

func (p *People) RespondentsByID(_ context.Context, ids []surveys.RespondentID) ([]surveys.Respondent, error) {
	return p.some(len(ids), func(r *surveys.Respondent) bool { return slices.Contains(ids, r.ID) })
}

func (p *People) some(limit int, which func(*surveys.Respondent) bool) (list []surveys.Respondent, _ error) {
	end, err := p.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	for i := range p.StoredRespondents {
		if which(&p.StoredRespondents[i]) && len(list) < limit {
			list = append(list, p.StoredRespondents[i])
		}
	}
	return list, nil
}

func (p *People) one(f func(*surveys.Survey) bool) (surveys.Survey, error) {
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

func (p *People) Surveys(_ context.Context, states []surveys.State, after string, limit int) ([]surveys.Survey, error) {
	end, err := p.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	var out []surveys.Survey
	for _, s := range p.StoredSurveys {
		if !s.Deleting && s.Name > after && (len(states) == 0 || slices.Contains(states, s.State)) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b surveys.Survey) int { return cmp.Compare(a.Name, b.Name) })
	return out[:min(limit, len(out))], nil
}

func (p *People) RemoveSurvey(_ context.Context, id int64) error {
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

func (p *People) Add(ctx context.Context, survey, imp int64, list []surveys.Respondent) ([]surveys.Added, error) {
	if p.Added != nil {
		if err := p.Added(ctx, len(list)); err != nil {
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
	for _, h := range slices.Concat(p.StoredRespondents, p.Imports[imp]) {
		if h.Survey == survey {
			known[h.Phone] = h.ID
		}
	}
	for _, r := range list {
		if p.Unsure[r.Phone] {
			out = append(out, surveys.Added{ID: 999, Duplicate: true, Unsure: true})
			continue
		}
		if id, ok := known[r.Phone]; ok {
			out = append(out, surveys.Added{ID: id, Duplicate: true})
			continue
		}
		r.Attributes = maps.Clone(r.Attributes)
		r.ID = surveys.RespondentID(len(p.StoredRespondents) + len(p.Imports[imp]) + 1)
		known[r.Phone] = r.ID
		if imp == 0 {
			p.StoredRespondents = append(p.StoredRespondents, r)
		} else {
			p.Imports[imp] = append(p.Imports[imp], r)
		}
		out = append(out, surveys.Added{ID: r.ID})
	}
	return out, nil
}

func (p *People) BeginImport(context.Context, int64) (int64, error) {
	end, err := p.begin(true)
	if err != nil {
		return 0, err
	}
	defer end()
	id := int64(len(p.Imports) + 1)
	p.Imports[id] = nil
	return id, nil
}

func (p *People) CommitImport(ctx context.Context, _, imp int64) error {
	end, err := p.begin(true)
	if err != nil {
		return err
	}
	defer end()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.StoredRespondents = append(p.StoredRespondents, p.Imports[imp]...)
	p.Imports[imp] = nil
	return nil
}

func (p *People) AbortImport(ctx context.Context, _, imp int64) error {
	end, err := p.begin(false)
	if err != nil {
		return err
	}
	defer end()
	p.Aborted++
	p.Imports[imp] = nil
	return ctx.Err()
}

func (p *People) Respondent(_ context.Context, survey int64, id surveys.RespondentID) (surveys.Respondent, error) {
	end, err := p.begin(false)
	if err != nil {
		return surveys.Respondent{}, err
	}
	defer end()
	for _, r := range p.StoredRespondents {
		if r.Survey == survey && r.ID == id {
			return r, nil
		}
	}
	return surveys.Respondent{}, notFound()
}

func (p *People) Respondents(_ context.Context, f surveys.Filter) ([]surveys.Respondent, surveys.RespondentID, error) {
	end, err := p.begin(false)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	if p.Pages++; p.Pages == p.Breaks {
		return nil, 0, ErrDown
	}
	var out []surveys.Respondent
	for _, r := range p.StoredRespondents {
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

func (p *People) Log(_ context.Context, _, after int64, limit int) ([]surveys.LogEntry, error) {
	end, err := p.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	rest := p.StoredLog[min(int(after), len(p.StoredLog)):]
	return rest[:min(limit, len(rest))], nil
}

func (p *People) Recent(_ context.Context, f surveys.LogFilter) ([]surveys.LogEntry, int64, error) {
	end, err := p.begin(false)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	list := slices.Clone(p.StoredLog)
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

func (p *People) Check(_ context.Context, d surveys.Definition) (*surveys.Plan, []weir.FieldError) {
	plan, wrong := d.Compile(surveys.Defaults{Batch: 100, LimitPerMinute: 60, InitialSuccessRate: 1})
	return plan, append(wrong, p.Wrong...)
}

func (p *People) Step(_ context.Context, name string, step surveys.Step) (surveys.Survey, error) {
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
		p.Writes++
	}
	return *s, nil
}

func (p *People) Launch(ctx context.Context, name string, _ bool) (surveys.Survey, error) {
	return p.Step(ctx, name, surveys.Launch)
}

// CheckLaunch finds all respondents of the survey in order.
func (p *People) CheckLaunch(_ context.Context, s surveys.Survey) (surveys.LaunchCheck, error) {
	end, err := p.begin(false)
	if err != nil {
		return surveys.LaunchCheck{}, err
	}
	defer end()
	out := surveys.LaunchCheck{Capacity: map[string]int{}}
	out.Plan, out.Refusal = s.Definition.Compile(surveys.Defaults{Batch: 1, LimitPerMinute: 1})
	for i := range p.StoredRespondents {
		if r := p.StoredRespondents[i]; r.Survey == s.ID {
			out.Checked, out.First = out.Checked+1, append(out.First, r)
		}
	}
	for _, mode := range s.Definition.Modes {
		out.Capacity[mode.Channel] = 10
	}
	return out, nil
}

func (p *People) StopRespondent(_ context.Context, s surveys.Survey, id surveys.RespondentID) (surveys.Respondent, error) {
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
func (p *People) respondent(survey int64, id surveys.RespondentID) (*surveys.Respondent, error) {
	for i := range p.StoredRespondents {
		if r := &p.StoredRespondents[i]; r.Survey == survey && r.ID == id {
			return r, nil
		}
	}
	return nil, notFound()
}

func (p *People) Correct(_ context.Context, survey int64, list []surveys.Correction) ([]surveys.Corrected, error) {
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

func (p *People) RemoveRespondent(_ context.Context, survey int64, id surveys.RespondentID) error {
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
	p.StoredRespondents = slices.DeleteFunc(p.StoredRespondents, func(r surveys.Respondent) bool { return r.Survey == survey && r.ID == id })
	return nil
}

func (p *People) Report(_ context.Context, s surveys.Survey, id surveys.RespondentID, h surveys.Report) (surveys.Respondent, error) {
	end, err := p.begin(true)
	if err != nil {
		return surveys.Respondent{}, err
	}
	defer end()
	p.Heard = append(p.Heard, h)
	for i := range p.StoredRespondents {
		if r := &p.StoredRespondents[i]; r.Survey == s.ID && r.ID == id && p.HearError == nil {
			r.Disposition = cmp.Or(h.Disposition, surveys.Contacted)
			return *r, nil
		}
	}
	return surveys.Respondent{}, p.HearError
}

func (p *People) Why(context.Context, surveys.Survey) (operators.Why, error) {
	return operators.Why{}, nil
}

func (p *People) WhyRespondent(context.Context, surveys.Survey, surveys.Respondent) (operators.Why, error) {
	return operators.Why{}, nil
}

func (p *People) Stats(context.Context, surveys.Survey) (surveys.Stats, error) {
	end, err := p.begin(false)
	if err != nil {
		return surveys.Stats{}, err
	}
	defer end()
	return p.StoredStats, nil
}

// Course returns the course of a survey with one respondent, who completed at its launch.
func (p *People) Course(_ context.Context, s surveys.Survey, q surveys.CourseQuery) (*surveys.Plan, surveys.Course, error) {
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

func (p *People) Changed(survey int64) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.ChangesSeen = append(p.ChangesSeen, survey)
}

// Stored counts the added respondents, visible or not, under concurrent
// additions.
func (p *People) Stored() int {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	n := len(p.StoredRespondents)
	for _, list := range p.Imports {
		n += len(list)
	}
	return n
}

// Incoming implements web.Surveys.
func (p *People) Incoming(_ context.Context, _ weir.ChannelID, m weir.Incoming) (surveys.Heard, error) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.Heard = append(p.Heard, surveys.Report{Key: m.GUID, Messages: []string{m.Body}})
	return surveys.Heard{}, p.HearError
}

const ImportPath = "/v1/surveys/s1/respondents"

// PhoneNumber returns a number that is possible in Mexico.
func PhoneNumber(i int) string { return fmt.Sprintf("+5255%08d", i) }

func Active(p *surveys.Respondent) {
	p.Status, p.Disposition, p.Started, p.Step, p.Serial = surveys.Active, surveys.Contacted, Start().Add(time.Second), 1, 3
	p.Attempts, p.Bucket, p.Contact = surveys.Counts{SMS: 2, IVR: 1}, 1, weir.Ref{Channel: 3, ID: 9}
}

// Survey returns a body that begins with more. A member of more takes effect
// only if its name differs from those of the members that follow.
func Survey(more string) string {
	return `{` + more + `"schedule":{"time_zone":"America/Mexico_City","weekdays":["mon","tue"],"windows":[{"from":"09:00","to":"18:00"}]},
	"modes":{"sms":{"channel":"texts","retries":"10m 2h"},"ivr":{"channel":"calls"}},
	"arms":[{"modes":["sms","ivr"]}],
	"questionnaires":{"main":{"sms":[{"messages":["Hello {{first_name}}"]}],"ivr":[{"call":{"call_flow_id":7}}]}},
	"quotas":[{"where":{"age":{"from":18,"to":30}},"quota":10},{"where":{"age":{"from":31}},"quota":20}]}`
}
