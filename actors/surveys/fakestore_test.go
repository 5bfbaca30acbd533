package surveys_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"weir"
	"weir/events"
	"weir/surveys"
	"weir/surveys/questions"
)

// fakeStore is an in-memory store: maps under one lock.
type fakeStore struct {
	mu            sync.Mutex
	surveys       map[int64]*surveys.Survey
	people        map[surveys.RespondentID]*surveys.Respondent
	members       map[int64][]surveys.RespondentID // of each survey, in order
	phones        map[string][]surveys.RespondentID
	sums          map[int64]surveys.Sums
	activity      map[int64][]surveys.Activity // in no quarters: one for each move
	log           map[int64][]surveys.LogEntry
	enqueuedAt    map[int64]map[time.Time]int
	channels      map[weir.ChannelID]*weir.Channel
	states        map[weir.ChannelID]surveys.ChannelState
	contacts      map[weir.Ref]*weir.Contact
	ended         map[weir.Ref][]weir.Attempt // of contacts
	waiting       map[weir.ChannelID][]*weir.Contact
	keys          map[weir.ChannelID]map[string]weir.Ref
	answers       map[surveys.RespondentID]map[string]questions.Answer
	answerSums    map[int64]map[surveys.AnswerSum]int
	outbox        []surveys.OutboxEntry
	events        []events.Event
	lastID        int64 // latest id
	onEntry       func()
	calls         int                          // number of operations
	failOperation func(operation string) error // replaces the operation if it returns an error
	operationTime func(string) time.Duration   // duration of an operation
	replaceResult func() error                 // replaces the result of Work if it returns an error; the moves are made
	rejectMove    func(surveys.Move) error     // called for each move; an error rejects the whole Work
	onReturn      func(operation string)       // called before an operation returns
	onMove        func(surveys.Move)           // called for each move that was made
	taken         bool                         // another process owns the database
}

func newStore() *fakeStore {
	return &fakeStore{
		surveys: map[int64]*surveys.Survey{}, people: map[surveys.RespondentID]*surveys.Respondent{}, members: map[int64][]surveys.RespondentID{},
		phones: map[string][]surveys.RespondentID{}, sums: map[int64]surveys.Sums{}, activity: map[int64][]surveys.Activity{}, log: map[int64][]surveys.LogEntry{}, enqueuedAt: map[int64]map[time.Time]int{},
		channels: map[weir.ChannelID]*weir.Channel{}, states: map[weir.ChannelID]surveys.ChannelState{}, contacts: map[weir.Ref]*weir.Contact{},
		waiting: map[weir.ChannelID][]*weir.Contact{}, keys: map[weir.ChannelID]map[string]weir.Ref{}, onEntry: func() {},
		answers: map[surveys.RespondentID]map[string]questions.Answer{}, answerSums: map[int64]map[surveys.AnswerSum]int{},
	}
}

func (m *fakeStore) nextID() int64 { m.lastID++; return m.lastID }

// beginOperation begins an operation. It may fail before the operation does anything.
func (m *fakeStore) beginOperation(ctx context.Context, operation string) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, &weir.Error{Code: weir.CodeUnavailable, Message: "too late", Cause: err}
	}
	if err := m.delay(ctx, operation); err != nil {
		return nil, &weir.Error{Code: weir.CodeUnavailable, Message: "too late", Cause: err}
	}
	m.mu.Lock()
	if m.failOperation != nil {
		if err := m.failOperation(operation); err != nil {
			m.mu.Unlock()
			return nil, err
		}
	}
	m.calls++
	return m.mu.Unlock, nil
}

// delay takes the duration of the operation.
func (m *fakeStore) delay(ctx context.Context, operation string) error {
	m.mu.Lock()
	var takes time.Duration
	if m.operationTime != nil {
		takes = m.operationTime(operation)
	}
	m.mu.Unlock()
	if takes == 0 {
		return nil
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	return ctx.Err()
}

func notFound(what string) error { return weir.Errorf(weir.CodeNotFound, "no such %s", what) }

func (m *fakeStore) addChannel(name, kind string, capacity int) weir.Channel {
	m.mu.Lock()
	defer m.mu.Unlock()
	ch := weir.Channel{ID: weir.ChannelID(m.nextID()), Name: name, Type: kind, Capacity: capacity, Version: 1}
	m.channels[ch.ID] = &ch
	m.keys[ch.ID] = map[string]weir.Ref{}
	return ch
}

func (m *fakeStore) addSurvey(s surveys.Survey) surveys.Survey {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.ID, s.Version = m.nextID(), 1
	m.surveys[s.ID] = &s
	m.sums[s.ID] = surveys.Sums{Respondents: map[surveys.Group]int{}, Attempts: map[surveys.Made]int{}}
	m.enqueuedAt[s.ID] = map[time.Time]int{}
	return s
}

func (m *fakeStore) addPerson(survey int64, phone string, attributes map[string]string) surveys.RespondentID {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := surveys.Respondent{Survey: survey, ID: surveys.RespondentID(m.nextID()), Phone: phone, Attributes: attributes, Progress: surveys.NewProgress()}
	r.Bucket = surveys.Quotas(m.surveys[survey].Definition.Quotas).Of(attributes)
	m.people[r.ID] = &r
	m.members[survey] = append(m.members[survey], r.ID)
	m.phones[phone] = append(m.phones[phone], r.ID)
	m.count(&r, 1)
	return r.ID
}

func (m *fakeStore) count(r *surveys.Respondent, n int) {
	g := r.Group()
	if m.sums[r.Survey].Respondents[g] += n; m.sums[r.Survey].Respondents[g] == 0 {
		delete(m.sums[r.Survey].Respondents, g)
	}
}

// addEntry stores an outbox entry. The caller holds the lock.
func (m *fakeStore) addEntry(n surveys.OutboxEntry) {
	n.ID = m.nextID()
	m.outbox = append(m.outbox, n)
	m.onEntry()
}

func (m *fakeStore) OnOutboxEntries(hook func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onEntry = hook
}

// enqueue stores a contact. The caller holds the lock.
func (m *fakeStore) enqueue(ch weir.ChannelID, s weir.Spec) (weir.Contact, bool) {
	if ref, ok := m.keys[ch][s.Key]; ok && s.Key != "" {
		return *m.contacts[ref], true
	}
	c := &weir.Contact{Ref: weir.Ref{Channel: ch, ID: weir.ContactID(m.nextID())}, Spec: s, QueuedAt: time.Now(), Progress: weir.NewProgress(time.Now(), s.NotBefore)}
	m.contacts[c.Ref], m.keys[ch][s.Key] = c, c.Ref
	m.waiting[ch] = append(m.waiting[ch], c)
	return *c, false
}

// fakeWork is a Work in two steps.
type fakeWork struct {
	m       *fakeStore
	ctx     context.Context
	work    surveys.Work
	written surveys.Written
}

func (m *fakeStore) NewWork(ctx context.Context, w surveys.Work) (surveys.PendingWork, error) {
	return &fakeWork{m: m, ctx: ctx, work: w}, nil
}

func (w *fakeWork) Submit(weir.Claims) bool { return true }

func (w *fakeWork) Wait() (replies []weir.Accepted, err error) {
	w.written, err = w.m.Work(w.ctx, w.work)
	w.written.Contacts = slices.DeleteFunc(w.written.Contacts, func(c weir.Contact) bool {
		if c.Priority == weir.Reply {
			replies = append(replies, weir.Accepted{Contact: c})
		}
		return c.Priority == weir.Reply
	})
	return replies, err
}

func (w *fakeWork) Written() surveys.Written { return w.written }

func (m *fakeStore) Work(ctx context.Context, w surveys.Work) (out surveys.Written, err error) {
	done, err := m.beginOperation(ctx, "Work")
	if err != nil {
		return out, err
	}
	defer func() {
		if m.replaceResult != nil && err == nil {
			err = m.replaceResult()
		}
		if m.onReturn != nil {
			m.onReturn("Work")
		}
		done()
	}()
	if m.taken {
		return out, weir.ErrSuperseded
	}
	for _, v := range w.Moves {
		if ch := m.channels[v.Channel]; v.Enqueue != nil && (ch == nil || ch.Deleting || ch.Deleted) {
			out.Refused = append(out.Refused, v.Was.ID)
		}
	}
	if len(out.Refused) > 0 {
		return out, weir.Errorf(weir.CodeConflict, "the channel is gone")
	}
	for _, v := range w.Moves {
		if m.rejectMove != nil {
			if err := m.rejectMove(v); err != nil {
				return out, err
			}
		}
	}
	m.deleteEntries(w.Taken)
	for _, v := range w.Moves {
		r := m.people[v.Was.ID]
		if r == nil || r.Rev != v.Is.Rev-1 {
			out.Stale = append(out.Stale, v.Was.ID)
			continue
		}
		if v.Enqueue != nil {
			if ref, ok := m.keys[v.Channel][v.Enqueue.Key]; ok && m.contacts[ref].Owner != v.Enqueue.Owner {
				out.Stale, out.Refused = append(out.Stale, v.Was.ID), append(out.Refused, v.Was.ID)
				continue
			}
		}
		m.count(r, -1)
		*r = v.Is
		if v.Enqueue != nil {
			c, _ := m.enqueue(v.Channel, *v.Enqueue)
			r.Contact = c.Ref
			out.Contacts = append(out.Contacts, c)
			m.enqueuedAt[r.Survey][time.Now().Truncate(time.Second)]++
			if surveys.TurnOf(&c) != 0 && r.Said == (weir.Ref{}) {
				r.Said = c.Ref
			}
		}
		if v.Reply != nil {
			if _, ok := m.keys[v.Channel][v.Reply.Key]; ok {
				panic("two contacts say one turn: " + v.Reply.Key)
			}
			c, _ := m.enqueue(v.Channel, *v.Reply)
			if r.Said == (weir.Ref{}) {
				r.Said = c.Ref
			}
			out.Contacts = append(out.Contacts, c)
		}
		m.record(r, v.Answers)
		m.count(r, 1)
		if p := surveys.PassedBy(&v.Was, r); p != (surveys.Passed{}) {
			m.activity[r.Survey] = append(m.activity[r.Survey], surveys.Activity{At: time.Now(), Mode: v.Mode, Arm: r.Arm, Passed: p})
		}
		if v.Attempt != nil {
			m.sums[r.Survey].Attempts[*v.Attempt]++
		}
		m.deleteEntries(v.Taken)
		for _, e := range v.Log {
			e.ID = m.nextID()
			m.log[r.Survey] = append(m.log[r.Survey], e)
		}
		m.addEvents(v.Events)
		if m.onMove != nil {
			m.onMove(v)
		}
	}
	return out, nil
}

// record stores answers and counts them.
func (m *fakeStore) record(r *surveys.Respondent, answers []surveys.Recorded) {
	if m.answers[r.ID] == nil {
		m.answers[r.ID] = map[string]questions.Answer{}
	}
	if m.answerSums[r.Survey] == nil {
		m.answerSums[r.Survey] = map[surveys.AnswerSum]int{}
	}
	for i := range answers {
		m.answers[r.ID][answers[i].Question] = answers[i].Answer
		answers[i].Count(m.answerSums[r.Survey], r.Arm)
	}
}

func (m *fakeStore) deleteEntries(ids []int64) {
	if len(ids) > 0 {
		m.outbox = slices.DeleteFunc(m.outbox, func(n surveys.OutboxEntry) bool { return slices.Contains(ids, n.ID) })
	}
}

func (m *fakeStore) addEvents(list []events.Event) {
	for _, e := range list {
		e.ID = m.nextID()
		m.events = append(m.events, e)
	}
}

func (m *fakeStore) UpdateSurvey(ctx context.Context, s surveys.Survey, tell ...events.Event) (surveys.Survey, error) {
	done, err := m.beginOperation(ctx, "UpdateSurvey")
	if err != nil {
		return s, err
	}
	defer done()
	have := m.surveys[s.ID]
	if have == nil {
		return s, notFound("survey")
	}
	if have.Version != s.Version {
		return s, weir.Errorf(weir.CodeConflict, "the survey was changed")
	}
	s.Version++
	*have = s
	m.addEvents(tell)
	return s, nil
}

func (m *fakeStore) Survey(ctx context.Context, name string) (surveys.Survey, error) {
	done, err := m.beginOperation(ctx, "Survey")
	if err != nil {
		return surveys.Survey{}, err
	}
	defer done()
	for _, s := range m.surveys {
		if s.Name == name {
			return *s, nil
		}
	}
	return surveys.Survey{}, notFound("survey")
}

func (m *fakeStore) SurveyByID(ctx context.Context, id int64) (surveys.Survey, error) {
	done, err := m.beginOperation(ctx, "SurveyByID")
	if err != nil {
		return surveys.Survey{}, err
	}
	defer done()
	if s := m.surveys[id]; s != nil {
		return *s, nil
	}
	return surveys.Survey{}, notFound("survey")
}

func (m *fakeStore) Surveys(ctx context.Context, states []surveys.State, after string, limit int) (out []surveys.Survey, _ error) {
	done, err := m.beginOperation(ctx, "Surveys")
	if err != nil {
		return nil, err
	}
	defer done()
	for _, s := range m.surveys {
		if s.Name > after && (len(states) == 0 || slices.Contains(states, s.State)) {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b surveys.Survey) int { return cmp.Compare(a.Name, b.Name) })
	return out[:min(len(out), limit)], nil
}

// selectRespondents lists respondents of a survey, in the order of less, or without it in that in which they were added.
// It copies only what it returns: a round asks for a few of many, and each copy costs the race detector dearly.
func (m *fakeStore) selectRespondents(
	ctx context.Context, operation string, survey int64, limit int, is func(*surveys.Respondent) bool, less ...func(a, b *surveys.Respondent) int,
) (out []surveys.Respondent, _ error) {
	done, err := m.beginOperation(ctx, operation)
	if err != nil {
		return nil, err
	}
	defer done()
	var found []*surveys.Respondent
	for _, id := range m.members[survey] {
		if r := m.people[id]; (len(found) < limit || len(less) > 0) && is(r) {
			found = append(found, r)
		}
	}
	for _, order := range less {
		slices.SortStableFunc(found, order)
	}
	for _, r := range found[:min(len(found), limit)] {
		out = append(out, *r)
	}
	return out, nil
}

func (m *fakeStore) Respondent(ctx context.Context, survey int64, id surveys.RespondentID) (surveys.Respondent, error) {
	done, err := m.beginOperation(ctx, "Respondent")
	if err != nil {
		return surveys.Respondent{}, err
	}
	defer done()
	if r := m.people[id]; r != nil && r.Survey == survey {
		return *r, nil
	}
	return surveys.Respondent{}, notFound("respondent")
}

func (m *fakeStore) RespondentsByID(ctx context.Context, ids []surveys.RespondentID) (out []surveys.Respondent, _ error) {
	done, err := m.beginOperation(ctx, "RespondentsByID")
	if err != nil {
		return nil, err
	}
	defer done()
	for i, id := range ids {
		if r := m.people[id]; r != nil && !slices.Contains(ids[:i], id) {
			out = append(out, *r)
		}
	}
	return out, nil
}

func (m *fakeStore) Respondents(ctx context.Context, f surveys.Filter) ([]surveys.Respondent, surveys.RespondentID, error) {
	out, err := m.selectRespondents(ctx, "Respondents", f.Survey, f.Limit, func(r *surveys.Respondent) bool {
		return r.ID > f.After && (len(f.Statuses) == 0 || slices.Contains(f.Statuses, r.Status))
	})
	if len(out) < f.Limit {
		return out, 0, err
	}
	return out, out[len(out)-1].ID, err
}

func (m *fakeStore) ByPhone(ctx context.Context, phone string, limit int) ([]surveys.Respondent, error) {
	found, err := m.ByPhones(ctx, []string{phone}, limit)
	return found[phone], err
}

func (m *fakeStore) ByPhones(ctx context.Context, phones []string, limit int) (map[string][]surveys.Respondent, error) {
	done, err := m.beginOperation(ctx, "ByPhones")
	if err != nil {
		return nil, err
	}
	defer done()
	found := map[string][]surveys.Respondent{}
	for _, phone := range phones {
		var list []surveys.Respondent
		for _, id := range slices.Backward(m.phones[phone]) {
			list = append(list, *m.people[id])
		}
		found[phone] = list[:min(len(list), limit)]
	}
	return found, nil
}

func (m *fakeStore) Startable(ctx context.Context, survey int64, now time.Time, full []int, limit int) ([]surveys.Respondent, error) {
	return m.selectRespondents(ctx, "Startable", survey, limit, func(r *surveys.Respondent) bool {
		return r.Status == surveys.Pending && !r.DelayedUntil.After(now) && !slices.Contains(full, r.Bucket)
	})
}

func (m *fakeStore) Rejectable(ctx context.Context, survey int64, full []int, limit int) ([]surveys.Respondent, error) {
	return m.selectRespondents(ctx, "Rejectable", survey, limit, func(r *surveys.Respondent) bool {
		return r.Status == surveys.Pending && slices.Contains(full, r.Bucket)
	})
}

func (m *fakeStore) Open(ctx context.Context, survey int64, limit int) ([]surveys.Respondent, error) {
	return m.selectRespondents(ctx, "Open", survey, limit, func(r *surveys.Respondent) bool { return !r.Status.Final() })
}

func (m *fakeStore) LatestDue(ctx context.Context, survey int64, limit int) ([]surveys.Respondent, error) {
	return m.selectRespondents(ctx, "LatestDue", survey, limit, func(r *surveys.Respondent) bool { return r.Status == surveys.Active },
		func(a, b *surveys.Respondent) int { return b.DueAt.Compare(a.DueAt) })
}

func (m *fakeStore) DueRespondents(ctx context.Context, survey int64, now time.Time, limit int) ([]surveys.Respondent, time.Time, error) {
	next := time.Time{}
	out, err := m.selectRespondents(ctx, "DueRespondents", survey, limit, func(r *surveys.Respondent) bool {
		due := r.Status == surveys.Active && !r.DueAt.After(now)
		if r.Status == surveys.Active && !due && (next.IsZero() || r.DueAt.Before(next)) {
			next = r.DueAt
		}
		return due
	}, func(a, b *surveys.Respondent) int { return a.DueAt.Compare(b.DueAt) })
	return out, next, err
}
