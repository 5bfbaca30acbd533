package questionnaire_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/surveys/questions"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/questionnaire"
)

func english() *locale.Locale { return locale.New().Choose("en", "") }

// sent returns what a browser sends of a page on which nothing was changed.
func sent(e *questionnaire.Editor) url.Values {
	out := url.Values{"rest": {e.Kept}, "questions": {strconv.Itoa(len(e.Cards))}}
	add := func(f *form.Form) {
		for _, in := range f.Inputs {
			switch in.Kind {
			case form.Checks:
				out[in.Name] = in.Chosen
			case form.Switch:
				if in.Value != "" {
					out.Set(in.Name, in.Value)
				}
			default:
				out.Set(in.Name, strings.ReplaceAll(in.Value, "\n", "\r\n"))
			}
		}
	}
	add(e.Form)
	for _, c := range e.Cards {
		add(c.Form)
		out.Set(c.Prefix+"rest", c.Kept)
		out.Set(c.Prefix+"was", c.Name)
		out.Set(c.Prefix+"choices", strconv.Itoa(len(c.Rows)))
		for _, r := range c.Rows {
			add(r.Form)
			out.Set(r.Prefix+"rest", r.Kept)
			out.Set(r.Prefix+"was", r.Name)
			out.Set(r.Prefix+"then", r.Then)
			out.Set(r.Prefix+"then.was", r.Then)
		}
	}
	return out
}

func show(t interface{ Fatal(...any) }, d questionnaire.Document) *questionnaire.Editor {
	e, err := questionnaire.Show(d, english())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func document(t interface{ Fatal(...any) }, text string) questionnaire.Document {
	var d questions.Definition
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	out, err := questionnaire.DocumentOf(&d)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t interface{ Errorf(string, ...any) }, got, want questionnaire.Document) {
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("is\n%s, want\n%s", a, b)
	}
}

// everything uses each member of a questionnaire.
const everything = `{"languages":[{"code":"es","name":"Español","words":["castellano"]},{"code":"en","name":"English"}],"default_language":"es","tries":2,"after_tries":"skip",
"refused":{"es":["paso"],"en":["pass"]},"dont_know":{"es":["ni idea"],"en":["no idea"]},"messages":{"thanks":{"es":"Gracias {{why}}","en":"Thanks {{why}}"},"over":{"es":"Ya","en":"Over"}},
"questions":[
{"name":"ok","kind":"choice","consent":true,"text":{"es":"¿Sí?","en":"Ok?"},"choices":[{"name":"yes","key":"1","text":{"es":"Sí","en":"Yes"},"words":{"es":["claro","por supuesto"],"en":["sure"]}},{"name":"no","key":"2","text":{"es":"No","en":"No"},"end":"refused"}]},
{"name":"sick","kind":"choice","text":{"es":"¿Enfermo?","en":"Sick?"},"text_in":{"mobileweb":{"es":"x","en":"y"}},"shuffle":true,"allow":["dont_know"],"choices":[{"name":"yes","text":{"es":"Sí","en":"Yes"},"fixed":true},{"name":"no","text":{"es":"No","en":"No"}}]},
{"name":"why","kind":"text","relevant":"${sick} != 'no'","text":{"es":"¿Qué?","en":"What?"},"min_length":2,"max_length":100,"pattern":".*","default":"nada","partial":true},
{"name":"days","kind":"number","relevant":"(${sick} = 'yes' or ${why} = 'x') and ${sick} != 'no'","text":{"es":"¿Días?","en":"Days?"},"min":0,"max":12.5,"decimal":true,"unit":{"es":["días"],"en":["days"]},"constraint":". >= 0","message":{"es":"De 0 a 12","en":"0 to 12"},"tries":4,"after_tries":"refused"},
{"name":"since","kind":"date","text":{"es":"¿Desde?","en":"Since?"},"earliest":"2020-01-01","latest":"2026-12-31"},
{"name":"double","kind":"calculation","calculation":"${days} * 2"},
{"name":"signs","kind":"choices","text":{"es":"¿Cuáles?","en":"Which?"},"choices":[{"name":"a","text":{"es":"uno","en":"one"}},{"name":"b","text":{"es":"nada","en":"none"},"exclusive":true,"relevant":"${days} > 1"}]},
{"name":"bye","kind":"statement","text":{"es":"Fin","en":"End"}},
{"name":"end","kind":"end","end":"completed","text":{"es":"Adiós","en":"Bye"}}]}`

// A page that is sent back as it was shown changes nothing, whatever the questionnaire has.
func TestRead_KeepsWhatNobodyChanged(t *testing.T) {
	t.Parallel()
	d := document(t, everything)
	e := show(t, d)
	if e.Check(d, questions.Context{}) == nil {
		t.Fatalf("the example has mistakes: %+v %+v", e.Mistakes, e.Cards)
	}
	same(t, questionnaire.Read(sent(e)), d)
}

// Every member of a questionnaire has a field, or is kept.
func TestFields_AreThoseOfTheDefinition(t *testing.T) {
	t.Parallel()
	for name, mistakes := range questionnaire.Forgotten() {
		if len(mistakes) > 0 {
			t.Errorf("%s: %v", name, mistakes)
		}
	}
}

// An answer gets a name of its own that a questionnaire takes, in whatever language it is written.
func TestRead_AnswersGetNamesThatAreTaken(t *testing.T) {
	t.Parallel()
	written := rapid.OneOf(rapid.SampledFrom([]string{"Sí", "si", "No sé", "Não", "Ça va", "Ja, natürlich!", "Straße", "Да", "はい", "نعم", "१", "½", "😀", "Yes, of course, whenever it is needed"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		form := url.Values{"rest": {"{}"}, "languages": {"es Español"}, "questions": {"1"}, "q0.kind": {"choice"}, "q0.name": {"q"}, "q0.text.es": {"¿?"}, "q0.choices": {"4"}}
		for i := range 4 {
			form.Set(fmt.Sprintf("q0.c%d.text.es", i), "x"+rapid.StringMatching(`[a-z]{0,2}`).Draw(t, "also")+written.Draw(t, "answer"))
			if rapid.Bool().Draw(t, "alone") {
				form.Set(fmt.Sprintf("q0.c%d.text.es", i), written.Draw(t, "answer"))
			}
		}
		d, mistakes := questionnaire.Read(form).Definition()
		if mistakes != nil {
			t.Fatal(mistakes)
		}
		_, mistakes, _ = questions.Compile(d, questions.Context{})
		for _, m := range mistakes {
			if strings.HasSuffix(m.Pointer, "/name") {
				t.Fatalf("%v are called %v: %v", form, d.Questions[0].Choices, m)
			}
		}
	})
}

// "Then go on with" is said by conditions; the interpreter goes there, and the page shows it again.
func TestLead_GoesWhereItSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "questions")
		choices := rapid.IntRange(2, 3).Draw(t, "choices")
		var list []string
		for i := range n {
			var answers []string
			for c := range choices {
				answers = append(answers, fmt.Sprintf(`{"name":"c%d","text":{"en":"answer %c"}}`, c, 'a'+c))
			}
			list = append(list, fmt.Sprintf(`{"name":"q%d","kind":"choice","text":{"en":"Question %d"},"choices":[%s]}`, i, i, strings.Join(answers, ",")))
		}
		d := document(t, `{"languages":[{"code":"en"}],"questions":[`+strings.Join(list, ",")+`]}`)
		q, c := rapid.IntRange(0, n-1).Draw(t, "question"), rapid.IntRange(0, choices-1).Draw(t, "choice")
		targets := []string{"", "end:completed", "end:ineligible", "end:refused"}
		for i := q + 2; i < n; i++ {
			targets = append(targets, fmt.Sprintf("q%d", i))
		}
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			target := rapid.SampledFrom(targets).Draw(t, "target")
			form := sent(show(t, d))
			form.Set(fmt.Sprintf("q%d.c%d.then", q, c), target)
			d = questionnaire.Read(form)
			e := show(t, d)
			qs := e.Check(d, questions.Context{})
			if qs == nil {
				t.Fatalf("%s has mistakes: %+v", target, e)
			}
			if shown := e.Cards[q].Rows[c].Then; shown != target {
				t.Errorf("%q is shown as %q", target, shown)
			}
			var said []string
			for range q {
				other := (c + 1) % choices // leads nowhere else
				said = append(said, strconv.Itoa(other+1))
			}
			e.Try(qs, append(said, strconv.Itoa(c+1)), questions.Person{Now: time.Unix(0, 0)})
			want := target
			if target == "" {
				want = fmt.Sprintf("q%d", q+1)
			}
			here := slices.IndexFunc(e.Cards, func(c *questionnaire.Card) bool { return c.Here })
			switch {
			case strings.HasPrefix(want, "end:") || want == fmt.Sprintf("q%d", n):
				if here >= 0 {
					t.Errorf("%q goes on with %s", target, e.Cards[here].Name)
				}
			case here < 0 || e.Cards[here].Name != want:
				t.Errorf("%q goes on with card %d", target, here)
			}
		}
	})
}

// Names and places of questions follow what leads to them.
func TestRead_FollowsNewNames(t *testing.T) {
	t.Parallel()
	d := document(t, everything)
	form := sent(show(t, d))
	form.Set("q1.name", "ill")
	form.Set("q1.c1.name", "never")
	form.Set("q2.name", "reason")
	d = questionnaire.Read(form)
	e := show(t, d)
	raw, _ := json.Marshal(d)
	for _, want := range []string{`"relevant":"${ill} != 'never'"`, `Gracias {{reason}}`, `${reason} = 'x'`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s is not in %s", want, raw)
		}
	}
	if strings.Contains(string(raw), "{sick}") || strings.Contains(string(raw), "{why}") {
		t.Errorf("an old name is in %s", raw)
	}
	_ = e
}

// Buttons add, move and remove questions; others change nothing.
func TestDo_ChangesTheOrder(t *testing.T) {
	t.Parallel()
	names := func(d questionnaire.Document) (list []string) {
		for _, c := range show(t, d).Cards {
			list = append(list, c.Name)
		}
		return list
	}
	for what, want := range map[string]string{
		"up:1": "b a c", "down:0": "b a c", "up:0": "a b c", "down:2": "a b c", "delete:1": "a c", "after:0": "a q2 b c", "after:-1": "q1 a b c", "after:2": "a b c q4",
		"delete:9": "a b c", "up:-1": "a b c", "delete:-1": "a b c", "check": "a b c", "": "a b c", "after:x": "a b c", "drop:1": "a b c",
	} {
		d := document(t, `{"languages":[{"code":"en"}],"questions":[{"name":"a","kind":"choice"},{"name":"b","kind":"text"},{"name":"c","kind":"date"}]}`)
		d.Do(what)
		if got := strings.Join(names(d), " "); got != want {
			t.Errorf("%q makes %s, want %s", what, got, want)
		}
	}
	d := document(t, everything)
	d.Do("delete:1")
	if raw, _ := json.Marshal(d); strings.Contains(string(raw), `"relevant":"${sick} != 'no'"`) {
		t.Errorf("a condition on a question that is gone is left in %s", raw)
	}
}

// What cannot be a questionnaire is shown as it was typed, with each mistake beside its field.
func TestCheck_SaysEachMistakeBesideItsField(t *testing.T) {
	t.Parallel()
	d := document(t, everything)
	form := sent(show(t, d))
	for name, value := range map[string]string{
		"q0.text.en": "", "q1.c0.text.es": "", "q2.relevant": "1 +", "q3.min": "seven", "q3.constraint": ". >", "q4.earliest": "soon", "q6.c0.name": "b", "q7.name": "why",
	} {
		form.Set(name, value)
	}
	shown := func(d questionnaire.Document) (wrong []string) {
		e := show(t, d)
		if e.Check(d, questions.Context{}) != nil {
			t.Error("it has no mistakes")
		}
		for _, c := range e.Cards {
			for field := range c.Mistakes {
				wrong = append(wrong, field)
			}
			for _, r := range c.Rows {
				for field := range r.Mistakes {
					wrong = append(wrong, field)
				}
			}
			for _, note := range c.Notes {
				wrong = append(wrong, c.Prefix+note)
			}
		}
		slices.Sort(wrong)
		return wrong
	}
	d = questionnaire.Read(form)
	if got := strings.Join(shown(d), " "); got != "q3.min" { // of the wrong type: the rest is not looked at
		t.Errorf("marked are %s", got)
	}
	if got := show(t, d).Cards[3].Input("q3.min").Value; got != "seven" {
		t.Errorf("what was typed is shown as %q", got)
	}
	form.Set("q3.min", "7")
	if got := strings.Join(shown(questionnaire.Read(form)), " "); got != "q0.text.en q1.c0.text.es q2.relevant q3.constraint q4.earliest q6.c1.name q6.c1.text.es q7.name" {
		t.Errorf("marked are %s", got)
	}
}

// A telephone on the page tells what became of each message.
func TestTry_IsAConversation(t *testing.T) {
	t.Parallel()
	d := document(t, everything)
	for said, want := range map[string]string{
		"":                            "¿Sí?",
		"claro":                       "¿Sí? < ¿Enfermo?",
		"1|no":                        "¿Sí? < ¿Enfermo? < ¿Desde?",
		"1|English":                   "¿Sí? < ¿Enfermo? <It switches the language. Sick?",
		"2":                           "¿Sí? <",
		"1|quizás":                    "¿Sí? < ¿Enfermo? <It does not fit. ¿Enfermo?",
		"1|STOP":                      "¿Sí? < ¿Enfermo? <It refuses: this person is not contacted again.",
		"1|no|2026-01-31|1|otra cosa": "¿Sí? < ¿Enfermo? < ¿Desde? < ¿Cuáles? < Fin <The conversation is over. Ya",
	} {
		e := show(t, d)
		qs := e.Check(d, questions.Context{})
		p := e.Try(qs, strings.Split(said, "|"), questions.Person{Now: time.Unix(0, 0), Attributes: map[string]string{"language": "es"}})
		var got []string
		for _, b := range p.Bubbles {
			text := b.Text
			for _, word := range []string{"¿Sí?", "¿Enfermo?", "Sick?", "¿Desde?", "¿Cuáles?", "Fin", "Ya"} {
				if strings.Contains(text, word) {
					text = word
				}
			}
			if b.Mine {
				text = "<" + string(b.Note)
			}
			got = append(got, text)
		}
		if line := strings.Join(got, " "); line != want {
			t.Errorf("%q: %s, want %s", said, line, want)
		}
	}
}

// Whatever a browser sends is shown, and what is shown is read as the same.
func FuzzRead(f *testing.F) {
	f.Add("rest={}&questions=1&q0.kind=choice&q0.c0.text.en=Yes&q0.choices=2&languages=en", "after:0")
	f.Add("rest=[]&questions=9999999&languages=es+Espa%C3%B1ol%0Aen", "delete:0")
	f.Add(`rest={"languages":[{"code":"x","words":"y"}],"messages":7}&q0.rest={"text":3,"choices":{}}&questions=2&q1.kind=number&q1.min=NaN&languages=x`, "up:1")
	f.Fuzz(func(t *testing.T, body, do string) {
		values, err := url.ParseQuery(body)
		if err != nil || len(body) > 2000 {
			return
		}
		d := questionnaire.Read(values)
		d.Do(do)
		e := show(t, d)
		e.Check(d, questions.Context{})
		again := questionnaire.Read(sent(show(t, d)))
		same(t, questionnaire.Read(sent(show(t, again))), again)
	})
}
