package questions_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"weir/surveys/questions"
)

// modelQuestion is a question of a drawn questionnaire, with its condition as a function.
type modelQuestion struct {
	definition questions.Question
	relevant   func(answers map[string]string) bool
}

func both(s string) questions.Text { return questions.Text{"es": s, "en": s + " (en)"} }

// drawCondition draws a condition on an earlier question.
func drawCondition(t *rapid.T, earlier []modelQuestion) (string, func(map[string]string) bool) {
	always := func(map[string]string) bool { return true }
	if len(earlier) == 0 || rapid.Bool().Draw(t, "always") {
		return "", always
	}
	on := rapid.SampledFrom(earlier).Draw(t, "on").definition
	name := on.Name
	switch on.Kind {
	case questions.Choose:
		if rapid.Bool().Draw(t, "not") {
			return fmt.Sprintf("${%s} != 'b'", name), func(a map[string]string) bool { return a[name] != "b" }
		}
		return fmt.Sprintf("${%s} = 'a'", name), func(a map[string]string) bool { return a[name] == "a" }
	case questions.ChooseMany:
		return fmt.Sprintf("selected(${%s}, 'a')", name), func(a map[string]string) bool { return slices.Contains(strings.Fields(a[name]), "a") }
	case questions.Number:
		return fmt.Sprintf("${%s} > 4", name), func(a map[string]string) bool { return len(a[name]) == 1 && a[name] > "4" }
	case questions.FreeText:
		return fmt.Sprintf("string-length(${%s}) > 3", name), func(a map[string]string) bool { return utf8.RuneCountInString(a[name]) > 3 }
	default:
		return "", always
	}
}

func drawQuestions(t *rapid.T) []modelQuestion {
	var list []modelQuestion
	kinds := []questions.Kind{questions.Choose, questions.Choose, questions.ChooseMany, questions.Number, questions.FreeText, questions.Date, questions.Statement}
	for i := range rapid.IntRange(1, 8).Draw(t, "questions") {
		q := questions.Question{Name: fmt.Sprintf("q%d", i), Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Text: both(fmt.Sprintf("¿Pregunta %d?", i))}
		if i == 0 && q.Kind == questions.Statement {
			q.Kind = questions.FreeText
		}
		var relevant func(map[string]string) bool
		q.Relevant, relevant = drawCondition(t, list)
		if q.Kind == questions.Choose || q.Kind == questions.ChooseMany {
			q.Choices = []questions.Choice{{Name: "a", Text: both("rojo")}, {Name: "b", Text: both("verde")}, {Name: "c", Text: both("azul")}}
			q.Shuffle = rapid.Bool().Draw(t, "shuffle")
		}
		if q.Kind == questions.Number {
			top := 9.0
			q.Max = &top
		}
		if questions.Asked(q.Kind) {
			q.Tries = rapid.IntRange(1, 4).Draw(t, "tries")
			q.AfterTries = rapid.SampledFrom([]questions.After{questions.AfterSkip, questions.AfterSkip, questions.AfterBreakoff}).Draw(t, "after")
			q.Allow = rapid.SampledFrom([][]questions.Status{nil, {questions.DontKnow}}).Draw(t, "allow")
		}
		list = append(list, modelQuestion{q, relevant})
	}
	return list
}

// TestTurn_Model drives drawn questionnaires with drawn inputs, and holds them against what has to
// follow from the conditions.
func TestTurn_Model(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := drawQuestions(t)
		d := questions.Definition{Languages: []questions.Language{{Code: "es", Name: "Español"}, {Code: "en", Name: "English"}}}
		tries := 0
		for _, q := range list {
			d.Questions = append(d.Questions, q.definition)
			tries += q.definition.Tries
		}
		qs, wrong, _ := questions.Compile(d, questions.Context{})
		if len(wrong) > 0 {
			t.Fatalf("%v", wrong)
		}
		m := model{T: t, list: list, qs: qs, now: noon, said: map[int]string{}, missed: map[string]int{}, person: questions.Person{Answers: map[string]questions.Answer{}}}
		m.commit(qs.Start(questions.State{}, m.person, rapid.Uint64().Draw(t, "seed")))
		for counted := 0; m.state.Ended == ""; {
			if counted > tries {
				t.Fatalf("%d answers, and no end", counted)
			}
			before := m.state
			r := m.step()
			if r.Effect == questions.EffectAnswered || r.Effect == questions.EffectNotUnderstood {
				counted++
				if r.Effect == questions.EffectNotUnderstood {
					m.missed[before.Question]++
				}
			} else if r.State.Question != before.Question || r.State.Tries != before.Tries {
				t.Fatalf("%s changed %+v to %+v", r.Effect, before, r.State)
			}
			m.commit(r)
		}
		m.checkEnd()
	})
}

type model struct {
	*rapid.T
	list   []modelQuestion
	qs     *questions.Questionnaire
	state  questions.State
	person questions.Person
	now    time.Time
	said   map[int]string // by turn
	missed map[string]int // answers that did not fit, by question
	last   *questions.Input
}

// step draws an input, and returns what follows.
func (m *model) step() questions.Result {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(m.T, "later")) * time.Millisecond)
	m.person.Now = m.now
	switch rapid.IntRange(0, 9).Draw(m.T, "what") {
	case 0:
		return m.qs.Remind(m.state, m.person)
	case 1:
		m.state = m.state.Claimed(m.state.Turn, m.now)
	case 2:
		if m.last != nil { // the same input again
			return m.qs.Turn(m.state, m.person, *m.last)
		}
	}
	in := questions.Input{ReceivedAt: m.now.Add(-time.Duration(rapid.IntRange(0, 2000).Draw(m.T, "late")) * time.Millisecond)}
	in.Text = rapid.OneOf(rapid.SampledFrom([]string{"1", "2", "3", "1 2", "rojo", "verde y azul", "7", "9", "99", "2020-02-29", "1/5/2020", "no sé", "English", "español", "", "¿?", "una historia", "Liked “¿Pregunta 1?”"}), rapid.String()).Draw(m.T, "text")
	in.Turn = rapid.SampledFrom([]int{0, m.state.Turn, m.state.Turn, m.state.Turn - 1, m.state.Turn + 1}).Draw(m.T, "turn")
	m.last = &in
	r := m.qs.Turn(m.state, m.person, in)
	if again := m.qs.Turn(m.state, m.person, in); fmt.Sprint(again) != fmt.Sprint(r) {
		m.Fatalf("%+v, and again %+v", r, again)
	}
	if in.Turn > 0 && in.Turn != m.state.Turn && r.State != m.state {
		m.Fatalf("turn %d changed %+v to %+v", in.Turn, m.state, r.State)
	}
	if before := in.ReceivedAt.UnixMicro() < m.state.Asked || m.state.Asked == 0; in.Turn == 0 && before && r.State != m.state {
		m.Fatalf("a message from before the question changed %+v to %+v", m.state, r.State)
	}
	return r
}

// commit takes a result over, and checks what is asked.
func (m *model) commit(r questions.Result) {
	said := strings.Join(r.Say, "|")
	switch {
	case r.State.Turn == m.state.Turn:
		if said != "" && r.Effect != questions.EffectStale {
			m.Fatalf("%s says %q under turn %d again", r.Effect, said, r.State.Turn)
		}
		if said != "" && !strings.HasSuffix(m.said[r.State.Turn], said) {
			m.Fatalf("turn %d said %q, and then %q", r.State.Turn, m.said[r.State.Turn], said)
		}
	case r.State.Turn != m.state.Turn+1:
		m.Fatalf("turn %d follows %d", r.State.Turn, m.state.Turn)
	default:
		m.said[r.State.Turn] = said
	}
	for _, a := range r.Answers {
		if old, ok := m.person.Answers[a.Question]; ok && (r.Effect != questions.EffectAppended || !strings.HasPrefix(a.Value, old.Value)) {
			m.Fatalf("%+v replaces %+v", a, old)
		}
		m.person.Answers[a.Question] = a
	}
	m.state = r.State
	if m.state.Question == "" {
		return
	}
	if _, answered := m.person.Answers[m.state.Question]; answered {
		m.Fatalf("%s is asked and has an answer", m.state.Question)
	}
	for i := range m.list { // everything before is recorded, and it is relevant itself
		q := &m.list[i]
		if q.definition.Name == m.state.Question {
			if !q.relevant(m.values()) {
				m.Fatalf("%s is asked, and not relevant", q.definition.Name)
			}
			break
		}
		if _, ok := m.person.Answers[q.definition.Name]; !ok && questions.Recorded(q.definition.Kind) {
			m.Fatalf("%s is asked before %s is recorded", m.state.Question, q.definition.Name)
		}
	}
}

func (m *model) values() map[string]string {
	values := map[string]string{}
	for name, a := range m.person.Answers {
		values[name] = a.Value
	}
	return values
}

// checkEnd checks that nothing was skipped that is relevant, and the other way round.
func (m *model) checkEnd() {
	ended := false
	values := map[string]string{} // as far as the conversation had come
	for i := range m.list {
		q := &m.list[i]
		name := q.definition.Name
		if !questions.Recorded(q.definition.Kind) {
			continue
		}
		a, ok := m.person.Answers[name]
		if !ok {
			m.Fatalf("%s is not recorded", name)
		}
		want := []questions.Status{questions.Skipped}
		switch {
		case ended:
			want = []questions.Status{questions.NotReached}
		case m.relevantThen(q, values):
			want = []questions.Status{questions.Answered, questions.Invalid}
			if q.definition.Allow != nil {
				want = append(want, questions.DontKnow)
			}
		}
		if !slices.Contains(want, a.Status) {
			m.Fatalf("%s is %s, want %v; %v", name, a.Status, want, m.person.Answers)
		}
		if a.Status != questions.Answered && a.Value != "" {
			m.Fatalf("%+v has a value", a)
		}
		if tries := q.definition.Tries; a.Status == questions.Invalid && m.missed[name] != tries || m.missed[name] > tries {
			m.Fatalf("%s is %s after %d of %d tries", name, a.Status, m.missed[name], tries)
		}
		values[name] = a.Value
		ended = ended || a.Status == questions.Invalid && q.definition.AfterTries == questions.AfterBreakoff
	}
	if want := map[bool]questions.Ending{true: questions.EndedBreakoff, false: questions.Completed}[ended]; m.state.Ended != want {
		m.Fatalf("ended as %s, want %s", m.state.Ended, want)
	}
}

// relevantThen evaluates a condition, which a text that has grown since may not change.
func (m *model) relevantThen(q *modelQuestion, values map[string]string) bool {
	if strings.Contains(q.definition.Relevant, "string-length") {
		return m.person.Answers[q.definition.Name].Status != questions.Skipped
	}
	return q.relevant(values)
}

func FuzzTurn(f *testing.F) {
	f.Add("si\n1 3\nporque\n1/2/1990\nno", 0, int64(5))
	f.Add("no", 1, int64(0))
	f.Add("English\nyes\n12\nskip\n1 May 1990\n\u200b\nok", 0, int64(1))
	f.Add(strings.Repeat("é", 3000)+"\n99\n99\n99\n99", 0, int64(0))
	f.Add(strings.Repeat("é", 2000)+"\xff\n?\n\xff\xff", 0, int64(0))
	qs := compile(f, several)
	f.Fuzz(func(t *testing.T, lines string, turn int, late int64) {
		person := questions.Person{Attributes: map[string]string{"name": lines}, Answers: map[string]questions.Answer{}, Now: noon}
		var state questions.State
		commit := func(r questions.Result) {
			for _, a := range r.Answers {
				if utf8.RuneCountInString(a.Raw) > 500 || utf8.RuneCountInString(a.Value) > 1600 || !slices.Contains(questions.Statuses(), a.Status) {
					t.Fatalf("%+v", a)
				}
				person.Answers[a.Question] = a
			}
			for _, s := range r.Say {
				if len(r.Say) > 10 || s == "" || utf8.RuneCountInString(s) > 1600 {
					t.Fatalf("%d messages, one of %d characters", len(r.Say), utf8.RuneCountInString(s))
				}
			}
			raw, err := json.Marshal(r.State)
			var back questions.State
			if err != nil || len(raw) > 400 || json.Unmarshal(raw, &back) != nil || back != r.State {
				t.Fatalf("%v: %s", err, raw)
			}
			state = r.State
		}
		commit(qs.Start(state, person, uint64(late)))
		for i, line := range strings.Split(lines, "\n") {
			if i%2 == 0 {
				state = state.Claimed(state.Turn, noon)
			}
			answers := maps.Clone(person.Answers)
			r := qs.Turn(state, person, questions.Input{Turn: turn, Text: line, ReceivedAt: noon.Add(-time.Duration(late))})
			if !maps.Equal(answers, person.Answers) {
				t.Fatal("the person is changed")
			}
			commit(r)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"languages": [{"code": "es"}], "questions": [{"name": "a", "kind": "text", "text": {"es": "?"}}]}`))
	f.Add(vaccination)
	f.Add([]byte(valid))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, wrong := questions.Read(raw)
		if len(wrong) > 0 {
			return
		}
		questions.Sizes(&d)
		qs, wrong, _ := questions.Compile(d, questions.Context{})
		if (qs == nil) == (len(wrong) == 0) {
			t.Fatalf("%v of %s", wrong, raw)
		}
		if qs == nil {
			return
		}
		qs.Arrows()
		r := qs.Start(questions.State{}, questions.Person{}, 1)
		qs.Turn(r.State, questions.Person{}, questions.Input{Turn: 1, Text: "1"})
	})
}
