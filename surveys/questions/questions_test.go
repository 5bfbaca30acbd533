package questions_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/surveys/questions"
)

//go:embed testdata/vaccination.json
var vaccination []byte

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// definition reads a definition of Spanish and English, or of those that it names.
func definition(t testing.TB, raw string) questions.Definition {
	t.Helper()
	if !strings.Contains(raw, `"languages"`) {
		raw = `{"languages": [{"code": "es", "name": "Español"}, {"code": "en", "name": "English", "words": ["inglés"]}], ` + strings.TrimPrefix(strings.TrimSpace(raw), "{")
	}
	d, wrong := questions.Read([]byte(raw))
	if len(wrong) > 0 {
		t.Fatalf("%v of %s", wrong, raw)
	}
	return d
}

func compile(t testing.TB, raw string) *questions.Questionnaire {
	t.Helper()
	qs, wrong, _ := questions.Compile(definition(t, raw), questions.Context{})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return qs
}

// conversation is a conversation of a person by text.
type conversation struct {
	t      testing.TB
	qs     *questions.Questionnaire
	state  questions.State
	person questions.Person
	now    time.Time
}

func begin(t testing.TB, qs *questions.Questionnaire, attributes map[string]string) (*conversation, string) {
	t.Helper()
	c := &conversation{t: t, qs: qs, now: noon, person: questions.Person{Attributes: attributes, Answers: map[string]questions.Answer{}, Mode: "sms"}}
	c.person.Now = c.now
	return c, c.take(qs.Start(questions.State{}, c.person, 7))
}

// take commits a result, and returns what is said.
func (c *conversation) take(r questions.Result) string {
	c.t.Helper()
	raw, err := json.Marshal(r.State)
	if err != nil {
		c.t.Fatal(err)
	}
	c.state = questions.State{}
	if err := json.Unmarshal(raw, &c.state); err != nil || c.state != r.State {
		c.t.Fatalf("%v: %+v became %+v", err, r.State, c.state)
	}
	for _, a := range r.Answers {
		c.person.Answers[a.Question] = a
	}
	if len(r.Say) > 0 {
		c.now = c.now.Add(time.Second)
		c.state = c.state.Claimed(c.state.Turn, c.now)
	}
	return strings.Join(r.Say, "|")
}

// says sends a message, and returns what is said in return.
func (c *conversation) says(text string) string {
	c.t.Helper()
	return c.take(c.turn(text))
}

func (c *conversation) turn(text string) questions.Result {
	c.now = c.now.Add(time.Minute)
	c.person.Now = c.now
	return c.qs.Turn(c.state, c.person, questions.Input{Text: text, ReceivedAt: c.now, Identified: true})
}

func (c *conversation) recorded() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c.person.Answers)) {
		a := c.person.Answers[name]
		list = append(list, strings.TrimSuffix(fmt.Sprintf("%s %s %s", name, a.Status, a.Value), " "))
	}
	return strings.Join(list, ", ")
}

func TestTurn_ThreeQuestionsAllTheWay(t *testing.T) {
	t.Parallel()
	qs := compile(t, string(vaccination))
	c, said := begin(t, qs, nil)
	for i, step := range []struct{ message, want string }{
		{"¿qué?", "No entendí. ¿Se vacunó su hijo?\n1 Sí\n2 No"},
		{"Sí", "¿Cuántos meses tiene?"},
		{"abc", "No entendí. ¿Cuántos meses tiene?"},
		{"999", "Escriba los meses, de 0 a 240. ¿Cuántos meses tiene?"},
		{"30 meses", ""},
	} {
		if i == 0 && said != "¿Se vacunó su hijo?\n1 Sí\n2 No" {
			t.Errorf("first: %q", said)
		}
		if got := c.says(step.message); got != step.want {
			t.Errorf("after %q: %q, want %q", step.message, got, step.want)
		}
		if want := i + 2; c.state.Turn != want {
			t.Errorf("turn %d after %q, want %d", c.state.Turn, step.message, want)
		}
	}
	if c.state.Ended != questions.EndedBreakoff || c.state.Missed != 4 {
		t.Errorf("ended as %+v", c.state)
	}
	if got := c.recorded(); got != "months invalid, vaccinated answered yes, why skipped" {
		t.Errorf("recorded: %s", got)
	}

	qs = compile(t, strings.Replace(string(vaccination), `"constraint"`, `"unit": {"es": ["meses"]}, "constraint"`, 1))
	c, _ = begin(t, qs, nil)
	c.says("no")
	c.says("No había vacunas.")
	if got := c.says("30 meses"); got != "Gracias." || c.state.Ended != questions.Completed {
		t.Errorf("%q, ended %q", got, c.state.Ended)
	}
	if got := c.recorded(); got != "months answered 30, vaccinated answered no, why answered No había vacunas." {
		t.Errorf("recorded: %s", got)
	}
	if raw := c.person.Answers["months"].Raw; raw != "30 meses" {
		t.Errorf("raw: %q", raw)
	}
}

const several = `{"refused": {"es": ["paso", "*"], "en": ["skip"]}, "messages": {"help": {"es": "Ayuda: 800.", "en": "Help: 800."}, "over": {"es": "Ya terminó.", "en": "It is over."}, "rejected": {"es": "Ya hay bastantes.", "en": "Enough."}}, "questions": [
	{"name": "consent", "kind": "choice", "consent": true, "text": {"es": "{{name}}, ¿responde?", "en": "{{name}}, will you answer?"}, "choices": [
		{"name": "yes", "text": {"es": "Sí", "en": "Yes"}}, {"name": "no", "text": {"es": "No", "en": "No"}, "end": "refused"}]},
	{"name": "intro", "kind": "statement", "text": {"es": "Gracias, {{name}}.", "en": "Thanks, {{name}}."}},
	{"name": "fruit", "kind": "choices", "text": {"es": "¿Qué frutas?", "en": "Which fruits?"}, "partial": true, "choices": [
		{"name": "apple", "text": {"es": "Manzana", "en": "Apple"}}, {"name": "pear", "text": {"es": "Pera", "en": "Pear"}},
		{"name": "none", "text": {"es": "Ninguna", "en": "None"}, "exclusive": true}]},
	{"name": "n", "kind": "calculation", "calculation": "count-selected(${fruit})"},
	{"name": "why", "kind": "text", "allow": ["refused", "dont_know"], "default": "x", "relevant": "${n} > 1", "text": {"es": "¿Por qué {{fruit}}?", "en": "Why {{fruit}}?"}},
	{"name": "born", "kind": "date", "after_tries": "skip", "tries": 2, "text": {"es": "¿Nacimiento?", "en": "Born?"}, "latest": "2026-01-01"},
	{"name": "young", "kind": "end", "end": "ineligible", "relevant": "today() - ${born} < 18 * 365.25", "text": {"es": "Solo mayores.", "en": "Adults only."}},
	{"name": "last", "kind": "text", "text": {"es": "¿Algo más?", "en": "Anything else?"}}
]}`

func TestTurn_Conversations(t *testing.T) {
	t.Parallel()
	qs := compile(t, several)
	for name, tc := range map[string]struct {
		messages []string
		last     string // said last
		recorded string
		ended    questions.Ending
	}{
		"no consent":          {[]string{"No gracias"}, "", "born not_reached, consent answered no, fruit not_reached, last not_reached, n not_reached, why not_reached", questions.EndedRefused},
		"a statement":         {[]string{"si"}, "Gracias, Ana.\n¿Qué frutas?\n1 Manzana\n2 Pera\n3 Ninguna", "consent answered yes", ""},
		"labels in texts":     {[]string{"si", "2 y 1"}, "¿Por qué Manzana, Pera?", "consent answered yes, fruit answered apple pear, n answered 2", ""},
		"exclusive":           {[]string{"si", "1 3"}, "No entendimos su respuesta. ¿Qué frutas?\n1 Manzana\n2 Pera\n3 Ninguna", "consent answered yes", ""},
		"refused":             {[]string{"si", "12", "Paso"}, "¿Nacimiento?", "consent answered yes, fruit answered apple pear, n answered 2, why refused", ""},
		"refused by a sign":   {[]string{"si", "12", " * "}, "¿Nacimiento?", "consent answered yes, fruit answered apple pear, n answered 2, why refused", ""},
		"not known":           {[]string{"si", "12", "No sé."}, "¿Nacimiento?", "consent answered yes, fruit answered apple pear, n answered 2, why dont_know", ""},
		"skipped after tries": {[]string{"si", "1", "ayer", "hoy"}, "¿Algo más?", "born invalid, consent answered yes, fruit answered apple, n answered 1, why skipped", ""},
		"out of bounds":       {[]string{"si", "1", "2/1/2026"}, "No entendimos su respuesta. ¿Nacimiento?", "consent answered yes, fruit answered apple, n answered 1, why skipped", ""},
		"an end":              {[]string{"si", "pera", "1 de mayo de 2020"}, "Solo mayores.", "born answered 2020-05-01, consent answered yes, fruit answered pear, last not_reached, n answered 1, why skipped", questions.Ineligible},
		"completed":           {[]string{"si", "pera", "1/5/1980", "no"}, "Gracias por sus respuestas.", "born answered 1980-05-01, consent answered yes, fruit answered pear, last answered no, n answered 1, why skipped", questions.Completed},
		"another language":    {[]string{"English", "yes", "1", "ingles"}, "Sorry, we did not understand your answer. Born?", "consent answered yes, fruit answered apple, n answered 1, why skipped", ""},
		"over":                {[]string{"no", "¿hola?"}, "Ya terminó.", "born not_reached, consent answered no, fruit not_reached, last not_reached, n not_reached, why not_reached", ""},
		"over once":           {[]string{"no", "¿hola?", "¿hola?"}, "", "born not_reached, consent answered no, fruit not_reached, last not_reached, n not_reached, why not_reached", ""},
	} {
		c, _ := begin(t, qs, map[string]string{"name": "Ana"})
		said := ""
		for _, m := range tc.messages {
			r := c.turn(m)
			said = c.take(r)
			if m == tc.messages[len(tc.messages)-1] && r.Ended != tc.ended {
				t.Errorf("%s: ended as %q, want %q", name, r.Ended, tc.ended)
			}
		}
		if said != tc.last {
			t.Errorf("%s: %q, want %q", name, said, tc.last)
		}
		if got := c.recorded(); got != tc.recorded {
			t.Errorf("%s: %s, want %s", name, got, tc.recorded)
		}
	}
}

func TestTurn_InputsThatChangeNothing(t *testing.T) {
	t.Parallel()
	qs := compile(t, string(vaccination))
	c, first := begin(t, qs, nil)
	for text, want := range map[string]questions.Effect{
		"":                               questions.EffectIgnored,
		" \u200b\u2060\ufe0f\u2800 ":     questions.EffectIgnored,
		"Le gustó “¿Se vacunó su hijo?”": questions.EffectIgnored,
		"👍 to “¿Se vacunó su hijo? 1 Sí”": questions.EffectIgnored,
		"¿Se vacunó su hijo? 1 Sí 2 No":   questions.EffectIgnored,
		"¿se vacuno su hijo?":             questions.EffectIgnored,
	} {
		if r := c.turn(text); r.Effect != want || r.State != c.state || len(r.Say)+len(r.Answers) > 0 {
			t.Errorf("%q: %+v", text, r)
		}
	}
	stale := qs.Turn(c.state, c.person, questions.Input{Turn: 9, Text: "1"})
	if stale.Effect != questions.EffectStale || stale.State != c.state || len(stale.Answers) > 0 || strings.Join(stale.Say, "") != first {
		t.Errorf("another turn: %+v", stale)
	}
	if got := strings.Join(qs.Render(c.state, c.person), ""); got != first {
		t.Errorf("rendered: %q", got)
	}
	if r := qs.Start(c.state, c.person, 9); r.State != c.state || strings.Join(r.Say, "") != first {
		t.Errorf("a second start: %+v", r)
	}
	if r := qs.Turn(questions.State{}, c.person, questions.Input{Text: "1"}); r.Effect != questions.EffectIgnored {
		t.Errorf("before the start: %+v", r)
	}
}

func TestTurn_MessagesBeforeTheQuestionWasSent(t *testing.T) {
	t.Parallel()
	qs := compile(t, string(vaccination))
	c, _ := begin(t, qs, nil)
	c.says("no")
	r := c.turn("Porque no había vacunas")
	c.state = r.State // the next question waits to be sent
	c.person.Answers["why"] = r.Answers[0]
	r = c.turn("y no tenía tiempo.")
	if r.Effect != questions.EffectAppended || r.State != c.state || len(r.Answers) != 1 || r.Answers[0].Value != "Porque no había vacunas y no tenía tiempo." || len(r.Say) > 0 {
		t.Errorf("the second part of a message: %+v", r)
	}
	c.state = c.state.Claimed(c.state.Turn-1, c.now)
	if c.state.Asked != 0 {
		t.Error("the claim of an earlier turn counts")
	}
	c.state = c.state.Claimed(c.state.Turn, c.now)
	early := questions.Input{Text: "30", ReceivedAt: c.now.Add(-time.Second)}
	if r := qs.Turn(c.state, c.person, early); r.Effect != questions.EffectAppended {
		t.Errorf("received before the question was sent: %+v", r)
	}
	if r := c.turn("30"); r.Effect != questions.EffectAnswered || r.Ended != questions.Completed {
		t.Errorf("received after: %+v", r)
	}

	c, _ = begin(t, qs, nil)
	c.state = c.turn("sí").State // no text before it
	if r := c.turn("30"); r.Effect != questions.EffectEarly || r.State != c.state || len(r.Answers)+len(r.Say) > 0 {
		t.Errorf("the question before was none for a text: %+v", r)
	}
}

func TestTurn_MessagesBeforeTheQuestionWasRepeated(t *testing.T) {
	t.Parallel()
	qs := compile(t, string(vaccination))
	for name, repeat := range map[string]func(*conversation) questions.Result{
		"reminder":       func(c *conversation) questions.Result { return c.qs.Remind(c.state, c.person) },
		"not understood": func(c *conversation) questions.Result { return c.turn("¿qué?") },
	} {
		c, _ := begin(t, qs, nil)
		c.state = repeat(c).State // not sent yet
		if r := c.turn("Sí"); r.Effect != questions.EffectAnswered || r.State.Question != "months" || r.State.Asked != 0 {
			t.Errorf("%s: the answer is lost: %+v", name, r)
		}
	}
}

// What says a question may become known in any order: the first claim of any of it counts.
func TestState_ClaimedByTheFirstContactOfTheQuestion(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.UnixMicro(s) }
	repeated := questions.State{Turn: 5, Since: 3, Question: "q"}
	for name, tt := range map[string]struct {
		state  questions.State
		claims [][2]int64 // turn, instant
		want   int64
	}{
		"in order":            {repeated, [][2]int64{{3, 10}, {4, 20}, {5, 30}}, 10},
		"the last first":      {repeated, [][2]int64{{5, 30}, {3, 10}, {4, 20}}, 10},
		"only a repetition":   {repeated, [][2]int64{{4, 20}}, 20},
		"the question before": {repeated, [][2]int64{{2, 1}, {1, 1}}, 0},
		"of an older program": {questions.State{Turn: 5, Question: "q"}, [][2]int64{{4, 20}, {5, 30}}, 30},
		"a turn to come":      {repeated, [][2]int64{{6, 5}}, 0},
	} {
		for _, c := range tt.claims {
			tt.state = tt.state.Claimed(int(c[0]), at(c[1]))
		}
		if tt.state.Asked != tt.want {
			t.Errorf("%s: asked at %d, want %d", name, tt.state.Asked, tt.want)
		}
	}
}

func TestTurn_MessagesAfterTheEnd(t *testing.T) {
	t.Parallel()
	qs := compile(t, `{"messages": {"over": {"es": "Ya terminó.", "en": "Over."}}, "questions": [{"name": "free", "kind": "text", "text": {"es": "¿?", "en": "?"}}]}`)
	c, _ := begin(t, qs, nil)
	r := c.turn("Una parte")
	c.state, c.person.Answers["free"] = r.State, r.Answers[0] // thanks wait to be sent
	if r := c.turn("y otra"); r.Effect != questions.EffectAppended || r.Answers[0].Value != "Una parte y otra" {
		t.Errorf("the second part: %+v", r)
	}
	c.state = c.state.Claimed(c.state.Turn, c.now)
	r = c.turn("¿Hola?")
	if r.Effect != questions.EffectLate || strings.Join(r.Say, "") != "Ya terminó." {
		t.Errorf("after the end: %+v", r)
	}
	c.state = r.State
	if r := c.turn("¿Hay alguien?"); len(r.Answers)+len(r.Say) > 0 || r.State != c.state {
		t.Errorf("before that it is over was sent: %+v", r)
	}
}

func TestTurn_RepeatedMessagesCountOnce(t *testing.T) {
	t.Parallel()
	qs := compile(t, string(vaccination))
	c, _ := begin(t, qs, nil)
	send := func(text string, after time.Duration, identified bool) questions.Result {
		c.now = c.now.Add(after)
		return qs.Turn(c.state, c.person, questions.Input{Text: text, ReceivedAt: c.now, Identified: identified})
	}
	c.take(send("¿qué?", time.Minute, false))
	for _, tc := range []struct {
		text       string
		after      time.Duration
		identified bool
		want       questions.Effect
	}{
		{"¿qué?", 2 * time.Second, false, questions.EffectRepeated},
		{"¿qué?", 0, true, questions.EffectNotUnderstood},
		{"¿cómo?", 0, false, questions.EffectNotUnderstood},
		{"¿qué?", 20 * time.Second, false, questions.EffectNotUnderstood},
	} {
		now := c.now
		if r := send(tc.text, tc.after, tc.identified); r.Effect != tc.want {
			t.Errorf("%+v: %+v", tc, r)
		}
		c.now = now
	}
}

func TestTurn_LongAnswers(t *testing.T) {
	t.Parallel()
	qs := compile(t, `{"questions": [
		{"name": "free", "kind": "text", "text": {"es": "¿?", "en": "?"}},
		{"name": "short", "kind": "text", "max_length": 20, "text": {"es": "¿Corto?", "en": "Short?"}}]}`)
	c, _ := begin(t, qs, nil)
	r := c.turn(strings.Repeat("ñ", 10_000))
	if a := r.Answers[0]; r.Effect != questions.EffectAnswered || len([]rune(a.Value)) != 1600 || len([]rune(a.Raw)) != 500 {
		t.Errorf("%s: %d and %d characters", r.Effect, len([]rune(a.Value)), len([]rune(a.Raw)))
	}
	c.take(r)
	if r := c.turn(strings.Repeat("ñ", 10_000)); r.Effect != questions.EffectNotUnderstood {
		t.Errorf("longer than allowed: %s", r.Effect)
	}
	if r := c.turn("una línea\ny otra"); r.Answers[0].Value != "una línea\ny otra" {
		t.Errorf("lines: %q", r.Answers[0].Value)
	}
	number := compile(t, `{"questions": [{"name": "n", "kind": "number", "text": {"es": "¿?", "en": "?"}}]}`)
	c, _ = begin(t, number, nil)
	for _, text := range []string{strings.Repeat("1", 10_000), strings.Repeat("1 ", 5000), strings.Repeat("\xff", 10_000) + "x"} {
		if r := c.turn(text); r.Effect != questions.EffectNotUnderstood {
			t.Errorf("%.10q…: %s", text, r.Effect)
		}
	}
}

func TestTurn_LanguageOfAPerson(t *testing.T) {
	t.Parallel()
	qs := compile(t, `{"questions": [
		{"name": "language", "kind": "choice", "set_language": true, "text": {"es": "¿Idioma?", "en": "Language?"}, "choices": [
			{"name": "es", "text": {"es": "Español", "en": "Español"}}, {"name": "en", "text": {"es": "English", "en": "English"}}]},
		{"name": "age", "kind": "number", "text": {"es": "¿Edad?", "en": "Age?"}}]}`)
	for attribute, want := range map[string]string{"": "es", "en": "en", "en-GB": "en", "EN_us": "en", "fr": "es"} {
		c, said := begin(t, qs, map[string]string{"language": attribute})
		if c.state.Language != want || said != "¿Idioma?\nLanguage?\n1 Español\n2 English" {
			t.Errorf("%q: %q, %q", attribute, c.state.Language, said)
		}
		if got := c.says("english"); got != "Age?" || c.state.Language != "en" || c.person.Answers["language"].Value != "en" {
			t.Errorf("chosen: %q %+v", got, c.state)
		}
		if got := c.says("Español"); got != "¿Edad?" || c.state.Language != "es" || c.state.Tries != 0 {
			t.Errorf("switched: %q %+v", got, c.state)
		}
	}
}

func TestRemind_AsksThePresentQuestionUnderANewTurn(t *testing.T) {
	t.Parallel()
	qs := compile(t, several)
	c, _ := begin(t, qs, map[string]string{"name": "Ana"})
	c.says("¿?¿?x")
	tries := c.state.Tries
	if got := c.take(qs.Remind(c.state, c.person)); got != "Seguimos esperando su respuesta.\nAna, ¿responde?\n1 Sí\n2 No" || c.state.Turn != 3 || c.state.Tries != tries {
		t.Errorf("%q %+v", got, c.state)
	}
	if got := c.take(qs.Help(c.state, c.person)); got != "Ayuda: 800.\nAna, ¿responde?\n1 Sí\n2 No" || c.state.Turn != 4 {
		t.Errorf("%q %+v", got, c.state)
	}
	if got := c.take(qs.Stop(c.state, c.person, questions.QuotaFull)); got != "Ya hay bastantes." || c.state.Ended != questions.QuotaFull {
		t.Errorf("%q %+v", got, c.state)
	}
	if got := c.recorded(); got != "born not_reached, consent not_reached, fruit not_reached, last not_reached, n not_reached, why not_reached" {
		t.Error(got)
	}
	for name, r := range map[string]questions.Result{
		"reminder": qs.Remind(c.state, c.person), "help": qs.Help(c.state, c.person), "stop": qs.Stop(c.state, c.person, questions.EndedBreakoff),
	} {
		if r.State != c.state || len(r.Say)+len(r.Answers) > 0 {
			t.Errorf("%s after the end: %+v", name, r)
		}
	}
}

func TestTurn_WhatADefinitionCanSay(t *testing.T) {
	t.Parallel()
	qs := compile(t, `{"languages": [{"code": "en"}], "messages": {"refused": {"en": "Goodbye."}, "thanks": {}}, "dont_know": {"en": ["pass"]}, "questions": [
		{"name": "a", "kind": "choice", "allow": ["dont_know"], "default": "y", "text": {"en": "A?"}, "text_in": {"mobileweb": {"en": "Please choose."}}, "choices": [
			{"name": "x", "text": {"en": "Ex"}}, {"name": "y", "text": {"en": "Why"}}]},
		{"name": "b", "kind": "choice", "after_tries": "refused", "tries": 1, "text": {"en": "B after {{a}}?"}, "choices": [
			{"name": "p", "text": {"en": "Pea"}, "relevant": "${a} = 'x'"}, {"name": "q", "text": {"en": "Queue"}}]},
		{"name": "c", "kind": "choice", "text": {"en": "C?"}, "choices": [{"name": "r", "text": {"en": "Are"}, "relevant": "${a} = 'y'"}]},
		{"name": "done", "kind": "end"}]}`)
	for name, tc := range map[string]struct {
		messages []string
		said     string
		recorded string
		ended    questions.Ending
	}{
		"all choices":               {[]string{"x"}, "B after Ex?\n1 Pea\n2 Queue", "a answered x", ""},
		"a default, and one choice": {[]string{"Pass"}, "B after Why?\n1 Queue", "a dont_know", ""},
		"no choice is left":         {[]string{"x", "1"}, "", "a answered x, b answered p, c skipped", questions.Completed},
		"the number that is shown":  {[]string{"y", "1"}, "C?\n1 Are", "a answered y, b answered q", ""},
		"refused after the tries":   {[]string{"y", "2"}, "Goodbye.", "a answered y, b invalid, c not_reached", questions.EndedRefused},
	} {
		c, _ := begin(t, qs, nil)
		said := ""
		for _, m := range tc.messages {
			said = c.says(m)
		}
		if said != tc.said || c.recorded() != tc.recorded || c.state.Ended != tc.ended {
			t.Errorf("%s: %q, %s, %q", name, said, c.recorded(), c.state.Ended)
		}
	}
	c, first := begin(t, qs, nil)
	c.person.Mode = "mobileweb"
	if got := strings.Join(qs.Render(c.state, c.person), "|"); got != "Please choose.\n1 Ex\n2 Why" || first != "A?\n1 Ex\n2 Why" {
		t.Errorf("on a page %q, by text %q", got, first)
	}
	c.person.Mode, c.state.Question = "sms", "gone" // of another version
	if got := c.says("x"); got != "A?\n1 Ex\n2 Why" || c.state.Question != "a" {
		t.Errorf("a question that is gone: %q", got)
	}
}

func TestTurn_LongTextsAreSplit(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("palabra ", 190)
	qs := compile(t, `{"languages": [{"code": "es"}], "questions": [{"name": "s", "kind": "statement", "text": {"es": "`+word+`"}}, {"name": "q", "kind": "text", "text": {"es": "`+word+`{{long}}"}}]}`)
	r := qs.Start(questions.State{}, questions.Person{Attributes: map[string]string{"long": strings.Repeat("x", 100_000)}}, 0)
	if len(r.Say) != 10 || !strings.HasSuffix(r.Say[0], " palabra") || !strings.HasPrefix(r.Say[1], "palabra ") || !strings.HasSuffix(r.Say[1], " palabra") {
		t.Errorf("%d messages, the first two %q", len(r.Say), r.Say[:2])
	}
}

func TestQuestionnaire_ShufflesByTheSeed(t *testing.T) {
	t.Parallel()
	qs := compile(t, `{"languages": [{"code": "en"}], "questions": [{"name": "q", "kind": "choice", "shuffle": true, "text": {"en": "?"}, "choices": [
		{"name": "a", "text": {"en": "Ant"}}, {"name": "b", "text": {"en": "Bee"}}, {"name": "c", "text": {"en": "Cow"}}, {"name": "d", "text": {"en": "Other"}, "fixed": true}]}]}`)
	orders := map[string]bool{}
	for seed := range uint64(100) {
		r := qs.Start(questions.State{}, questions.Person{}, seed)
		said := r.Say[0]
		orders[said] = true
		if !strings.HasSuffix(said, "4 Other") || strings.Join(qs.Render(r.State, questions.Person{}), "") != said {
			t.Errorf("%q", said)
		}
		label := strings.Split(said, "\n")[2] // "2 Bee"
		answer := qs.Turn(r.State, questions.Person{}, questions.Input{Turn: 1, Text: "2"}).Answers[0].Value
		if !strings.EqualFold(answer, label[2:3]) {
			t.Errorf("2 of %q is %q", said, answer)
		}
	}
	if len(orders) != 6 {
		t.Errorf("%d orders of three choices", len(orders))
	}
}

func TestQuestionnaire_AnswerWords(t *testing.T) {
	t.Parallel()
	qs := compile(t, `{"languages": [{"code": "es"}], "questions": [{"name": "pressure", "kind": "choice", "text": {"es": "¿Presión?"}, "choices": [
		{"name": "high", "text": {"es": "alta"}}, {"name": "low", "text": {"es": "baja"}, "words": {"es": ["bajísima"]}}]}]}`)
	c, _ := begin(t, qs, nil)
	if got := strings.Join(qs.AnswerWords(c.state), " "); got != "high alta low baja bajísima" {
		t.Error(got)
	}
	c.says("baja")
	if got := qs.AnswerWords(c.state); got != nil || c.recorded() != "pressure answered low" {
		t.Errorf("%v, %s", got, c.recorded())
	}
}

func TestArrows_LeadWhereAnswersLead(t *testing.T) {
	t.Parallel()
	arrows := func(raw string) string {
		var list []string
		for _, a := range compile(t, raw).Arrows() {
			s := a.From
			if a.Choice != "" {
				s += "=" + a.Choice
			}
			s += ">" + a.To + string(a.End)
			if a.Maybe {
				s += "?"
			}
			list = append(list, s)
		}
		return strings.Join(list, " ")
	}
	if got, want := arrows(string(vaccination)), "vaccinated=yes>months vaccinated=no>why why>months months>completed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := arrows(several), "consent=yes>fruit consent=no>refused fruit>why? fruit>born? why>born born>youngineligible? born>last? last>completed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSizes_CountSegmentsPerTextAndLanguage(t *testing.T) {
	t.Parallel()
	d := definition(t, string(vaccination))
	sizes := questions.Sizes(&d)
	if len(sizes) != 5 {
		t.Fatal(sizes)
	}
	first := sizes[0]
	if first.Pointer != "/questions/0/text/es" || first.Language != "es" || first.Characters != 29 || first.Segments != 1 || first.Units != 29 {
		t.Errorf("%+v", first)
	}
	if last := sizes[4]; last.Pointer != "/messages/thanks/es" || last.Characters != 8 {
		t.Errorf("%+v", last)
	}
}

func pointers(list []weir.FieldError) string {
	var out []string
	for _, f := range list {
		out = append(out, f.Pointer+" "+f.Code)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}
