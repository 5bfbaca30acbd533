package surveys_test

import (
	"context"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/events"
	"weir/surveys"
	"weir/surveys/questions"
)

func (m *fakeStore) ChannelStates(ctx context.Context) ([]surveys.ChannelState, error) {
	done, err := m.beginOperation(ctx, "ChannelStates")
	if err != nil {
		return nil, err
	}
	defer done()
	return slices.Collect(maps.Values(m.states)), nil
}

func (m *fakeStore) SetChannelState(ctx context.Context, s surveys.ChannelState, tell []events.Event) error {
	done, err := m.beginOperation(ctx, "SetChannelState")
	if err != nil {
		return err
	}
	defer done()
	m.states[s.Channel] = s
	m.addEvents(tell)
	return nil
}

func (m *fakeStore) Channel(ctx context.Context, name string) (weir.Channel, error) {
	done, err := m.beginOperation(ctx, "Channel")
	if err != nil {
		return weir.Channel{}, err
	}
	defer done()
	for _, c := range m.channels {
		if c.Name == name && !c.Deleted {
			return *c, nil
		}
	}
	return weir.Channel{}, notFound("channel")
}

func (m *fakeStore) ChannelByID(ctx context.Context, id weir.ChannelID) (weir.Channel, error) {
	done, err := m.beginOperation(ctx, "ChannelByID")
	if err != nil {
		return weir.Channel{}, err
	}
	defer done()
	if c := m.channels[id]; c != nil {
		return *c, nil
	}
	return weir.Channel{}, notFound("channel")
}

func (m *fakeStore) Contact(ctx context.Context, ref weir.Ref) (weir.Contact, []weir.Attempt, error) {
	done, err := m.beginOperation(ctx, "Contact")
	if err != nil {
		return weir.Contact{}, nil, err
	}
	defer done()
	if c := m.contacts[ref]; c != nil {
		return *c, m.ended[ref], nil
	}
	return weir.Contact{}, nil, notFound("contact")
}

func (m *fakeStore) ContactsByRef(ctx context.Context, refs []weir.Ref) (list []weir.Contact, _ error) {
	done, err := m.beginOperation(ctx, "ContactsByRef")
	if err != nil {
		return nil, err
	}
	defer done()
	for _, ref := range refs {
		if c := m.contacts[ref]; c != nil {
			list = append(list, *c)
		}
	}
	return list, nil
}

func (m *fakeStore) Contacts(context.Context, weir.ContactFilter) ([]weir.Contact, string, error) {
	return nil, "", nil
}

// respondent and survey return the present state of a respondent and a survey,
// for tests.
func (m *fakeStore) respondent(id surveys.RespondentID) surveys.Respondent {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *m.people[id]
}

func (m *fakeStore) survey(id int64) surveys.Survey {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *m.surveys[id]
}

// locked calls do with the lock held.
func (m *fakeStore) locked(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
}

// eventCount counts the events of a type.
func (m *fakeStore) eventCount(kind string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, e := range m.events {
		if e.Type == kind {
			n++
		}
	}
	return n
}

func (m *fakeStore) EnqueuedSince(ctx context.Context, survey int64, since time.Time) (map[time.Time]int, error) {
	done, err := m.beginOperation(ctx, "EnqueuedSince")
	if err != nil {
		return nil, err
	}
	defer done()
	out := maps.Clone(m.enqueuedAt[survey])
	maps.DeleteFunc(out, func(at time.Time, _ int) bool { return at.Before(since) })
	return out, nil
}

func (m *fakeStore) OutboxEntries(ctx context.Context, after int64, limit int) (out []surveys.OutboxEntry, _ error) {
	done, err := m.beginOperation(ctx, "OutboxEntries")
	if err != nil {
		return nil, err
	}
	defer done()
	for _, n := range m.outbox {
		if n.ID > after && len(out) < limit {
			out = append(out, n)
		}
	}
	return out, nil
}

func (m *fakeStore) ReadySlots(ctx context.Context, channel weir.ChannelID, lanes []weir.Lane, largest, limit int) (r surveys.Ready, _ error) {
	done, err := m.beginOperation(ctx, "ReadySlots")
	if err != nil {
		return r, err
	}
	defer done()
	now, ours, others := time.Now(), limit, limit
	for _, c := range m.waiting[channel] {
		switch {
		case c.NotBefore.After(now) || c.Size() > largest:
		case slices.Contains(lanes, c.Lane()) && ours > 0:
			ours--
			r.Ours += c.Size()
		case !slices.Contains(lanes, c.Lane()) && others > 0:
			others--
			r.Others += c.Size()
		}
	}
	return r, nil
}

func (m *fakeStore) Activity(ctx context.Context, survey int64) ([]surveys.Activity, error) {
	done, err := m.beginOperation(ctx, "Activity")
	if err != nil {
		return nil, err
	}
	defer done()
	return slices.Clone(m.activity[survey]), nil
}

func (m *fakeStore) Counts(ctx context.Context, survey int64) (surveys.Sums, error) {
	done, err := m.beginOperation(ctx, "Counts")
	if err != nil {
		return surveys.Sums{}, err
	}
	defer done()
	s := m.sums[survey]
	return surveys.Sums{Respondents: maps.Clone(s.Respondents), Attempts: maps.Clone(s.Attempts)}, nil
}

func (m *fakeStore) Answers(ctx context.Context, _ int64, ids []surveys.RespondentID) (map[surveys.RespondentID]map[string]questions.Answer, error) {
	done, err := m.beginOperation(ctx, "Answers")
	if err != nil {
		return nil, err
	}
	defer done()
	out := map[surveys.RespondentID]map[string]questions.Answer{}
	for _, id := range ids {
		out[id] = maps.Clone(m.answers[id])
	}
	return out, nil
}

// AnswerTexts is not used by the broker.
func (m *fakeStore) AnswerTexts(context.Context, surveys.TextFilter) ([]surveys.AnswerText, surveys.RespondentID, error) {
	return nil, 0, nil
}

func (m *fakeStore) AnswerSums(ctx context.Context, f surveys.SumFilter) (map[surveys.AnswerSum]int, error) {
	done, err := m.beginOperation(ctx, "AnswerSums")
	if err != nil {
		return nil, err
	}
	defer done()
	sums := map[surveys.AnswerSum]int{}
	for k, n := range m.answerSums[f.Survey] {
		if f.Arm == surveys.AllArms || f.Arm == k.Arm {
			sums[f.By.Of(k)] += n
		}
	}
	return sums, nil
}
