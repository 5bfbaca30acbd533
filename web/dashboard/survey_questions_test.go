package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// written returns what a browser sends of the page of questions, with some values changed.
func written(page answer, do string, changes ...string) url.Values {
	form := page.formOf()
	form.Del("say")
	form.Set("do", do)
	for i := 0; i < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
	}
	return form
}

// An operator writes questions in the browser and tries them; nothing is stored before they are saved.
func TestSurveyQuestions_AreWrittenAndTried(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	b := r.login("admin")
	form := filledSurvey()
	b.post("/surveys/_new", form).want(303)
	b.get("/surveys/flu").want(200).has(`id="questions" href="/surveys/flu/questions"`)
	const path = "/surveys/flu/questions"
	page := b.get(path).want(200).has("May we ask you a few questions?", `id="replaces"`, "the end: refused", `<span class="bubble">May we ask you a few questions?`)
	page = b.post(path, written(page, "after:0")).want(200).has(`id="q1"`).hasNot(`-wrong"`)
	page = b.post(path, written(page, "check", "q1.text.en", "Do you cough?", "q1.name", "cough")).want(200).has("1 mistake is marked below")
	counted := b.post(path, written(page, "count", "q1.text.en", strings.Repeat("ñ", 153))).want(200).hasNot(`-wrong"`, "marked below")
	if sizes := regexp.MustCompile(`id="q1\.sizes">.*</p>`).FindString(counted.body); !strings.Contains(sizes, "153 characters") || !strings.Contains(sizes, "1 SMS") {
		t.Errorf("while one types, the text is counted as %s", sizes)
	}
	b.post(path, written(page, "count", "q1.text.en", "ł")).want(200).has(`id="q1.sizes"`)
	page = b.post(path, written(page, "after:1", "q1.c0.text.en", "Yes", "q1.c1.text.en", "No", "q1.c1.words.en", "nope, never")).want(200)
	page = b.post(path, written(page, "after:2", "q2.kind", "number", "q2.text.en", "For how many days?", "q2.name", "days")).want(200)
	page = b.post(path, written(page, "check", "q3.kind", "text", "q3.text.en", "What else?", "q3.name", "else", "q1.c1.then", "else")).want(200).
		has("${cough} != &#39;no&#39;", "no: 4 else", "yes: 3 days").hasNot(`-wrong"`, "mistake")
	page = b.post(path, written(page, "say", "say", "yes")).want(200).has("Do you cough?", `<span class="badge">yes</span>`)
	page = b.post(path, written(page, "say", "say", "never")).want(200).has(`<span class="bubble">What else?</span>`, "asked now").hasNot(`<span class="bubble">For how many days?</span>`)
	page = b.post(path, written(page, "check", "say", "fever")).want(200).has("The conversation is over.") // as by Enter
	page = b.post(path, written(page, "restart")).want(200).hasNot(`<span class="bubble">What else?</span>`)
	if asked := r.definitionOf("flu")["questions"]; asked != nil {
		t.Fatalf("the page has stored %v", asked)
	}
	b.post(path, written(page, "save", "q2.min", "many")).want(http.StatusUnprocessableEntity).has(`id="q2.min-wrong"`, `value="many"`)
	b.post(path, written(page, "save")).want(303)
	sameJSON(t, r.definitionOf("flu")["questions"], `{"languages":[{"code":"en","name":"English"}],"questions":[
		{"name":"consent","kind":"choice","consent":true,"text":{"en":"May we ask you a few questions? You can stop at any time."},"choices":[{"name":"yes","text":{"en":"Yes"}},{"name":"no","text":{"en":"No"},"end":"refused"}]},
		{"name":"cough","kind":"choice","text":{"en":"Do you cough?"},"choices":[{"name":"yes","text":{"en":"Yes"}},{"name":"no","text":{"en":"No"},"words":{"en":["nope","never"]}}]},
		{"name":"days","kind":"number","text":{"en":"For how many days?"},"relevant":"${cough} != 'no'"},
		{"name":"else","kind":"text","text":{"en":"What else?"}}]}`)
	if r.definitionOf("flu")["questionnaires"] != nil {
		t.Error("the texts of before are left")
	}
	b.post("/surveys/flu/edit", b.get("/surveys/flu/edit").want(200).formOf()).want(303) // its form keeps them
	if r.definitionOf("flu")["questions"] == nil {
		t.Error("the form of the survey loses its questions")
	}
	page = b.get(path).want(200).has(`value="cough"`).hasNot(`id="replaces"`)
	b.post(path, written(page, "save", "version", "1")).want(http.StatusConflict).has("Nothing was saved")
	b.get(path).want(200)
}

// After the launch a mistake in a text is corrected, and nothing else; the audit log has both texts.
func TestSurveyQuestions_TextsAreCorrectedAfterTheLaunch(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	r.api("PUT", "/v1/surveys/flu", `{"modes":{"sms":{"channel":"texts"}},"arms":[{"modes":["sms"]}],"schedule":{"time_zone":"UTC","weekdays":["mon","tue","wed","thu","fri","sat","sun"],"windows":[{"from":"00:00","to":"24:00"}]},
		"questions":{"languages":[{"code":"en","name":"English"}],"questions":[{"name":"cough","kind":"choice","text":{"en":"Do you cuogh, {{name}}?"},"choices":[{"name":"yes","text":{"en":"Yes"}},{"name":"no","text":{"en":"No"}}]},{"name":"end","kind":"end","text":{"en":"Thanks."}}]}}`, nil)
	r.api("POST", "/v1/surveys/flu/respondents", `{"respondents":[{"phone":"+15550001","attributes":{"name":"Ana"}}]}`, nil)
	b := r.login("admin")
	const path = "/surveys/flu/questions"
	b.get(path).want(200).has(`id="add"`, `id="save"`).hasNot(`id="launched"`)
	r.api("POST", "/v1/surveys/flu:launch", "", nil)
	page := b.get(path).want(200).has(`id="launched"`, "Save the corrected texts").hasNot(`id="add"`, `value="delete:`)
	b.post(path, written(page, "save", "q0.text.en", "Do you cough, {{name}}?")).want(303)
	b.get(path).want(200).has("The texts of flu are corrected.", "Do you cough, {{name}}?")
	r.audit("Do you cuogh, {{name}}?", "Do you cough, {{name}}?")

	page = b.get(path).want(200)
	for what, change := range map[string][]string{
		"another field":      {"q0.text.en", "Do you cough, {{surname}}?"},
		"another name":       {"q0.name", "coughs"},
		"another kind":       {"q0.kind", "text"},
		"another answer":     {"q0.c0.name", "yeah"},
		"another language":   {"languages", "en English\r\nes Español", "q0.text.es", "¿Tose?", "q0.c0.text.es", "Sí", "q0.c1.text.es", "No", "q1.text.es", "Gracias."},
		"when it is asked":   {"q1.relevant", "${cough} = 'yes'"},
		"words of an answer": {"q0.c0.words.en", "sure"},
	} {
		if got := b.post(path, written(page, "save", change...)); got.status != http.StatusConflict || !strings.Contains(got.body, "ay change only in a draft") {
			t.Errorf("%s: %d, %s", what, got.status, regexp.MustCompile(`-wrong">[^<]*|class="(reason|flash[^"]*)"[^>]*>[^<]*`).FindAllString(got.body, -1))
		}
		if got := r.definitionOf("flu")["questions"].(map[string]any)["questions"].([]any)[0].(map[string]any)["text"].(map[string]any)["en"]; got != "Do you cough, {{name}}?" {
			t.Errorf("%s: %v is stored", what, got)
		}
	}
	r.api("POST", "/v1/surveys/flu:stop", "", nil)
	r.soon(func() bool { return !strings.Contains(b.get(path).body, "Save the corrected texts") })
	b.get(path).want(200).has("its questions cannot change any more")
}

// After the launch the page asks for what can be corrected, and sends back all else as it is, whatever a questionnaire has.
func TestSurveyQuestions_OnlyTextsAreFieldsAfterTheLaunch(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	r.api("PUT", "/v1/surveys/flu", `{"modes":{"sms":{"channel":"texts"}},"arms":[{"modes":["sms"]}],"schedule":{"time_zone":"UTC","weekdays":["mon","tue","wed","thu","fri","sat","sun"],"windows":[{"from":"00:00","to":"24:00"}]},
		"questions":{"languages":[{"code":"en","name":"English"},{"code":"es","name":"Español","words":["castellano"]}],"default_language":"es","tries":4,"after_tries":"skip","refused":{"en":["rather not"],"es":["paso"]},
		"messages":{"thanks":{"en":"Thnaks","es":"Gracias"}},"questions":[
		{"name":"cough","kind":"choice","text":{"en":"Cuogh?","es":"¿Tose?"},"shuffle":true,"allow":["refused","dont_know"],"tries":2,"choices":[{"name":"yes","text":{"en":"Yess","es":"Sí"},"words":{"en":["sure","ok"]},"key":"7"},{"name":"no","text":{"en":"No","es":"No"},"key":"8","fixed":true,"end":"ineligible"}]},
		{"name":"signs","kind":"choices","text":{"en":"Which?","es":"¿Cuáles?"},"choices":[{"name":"a","text":{"en":"A","es":"A"}},{"name":"none","exclusive":true,"text":{"en":"None","es":"Ninguno"}}]},
		{"name":"weight","kind":"number","decimal":true,"min":0.5,"max":60,"unit":{"en":["kg"]},"relevant":"${cough} = 'yes'","constraint":". > 0","message":{"en":"Above 0","es":"Más de 0"},"text":{"en":"Weihgt?","es":"¿Peso?"},"default":"3","partial":true},
		{"name":"why","kind":"text","min_length":2,"max_length":60,"pattern":"[a-z]+","text":{"en":"Why?","es":"¿Por qué?"}},
		{"name":"born","kind":"date","earliest":"2020-01-31","text":{"en":"Born?","es":"¿Nació?"}},
		{"name":"twice","kind":"calculation","calculation":"${weight} * 2"},{"name":"end","kind":"end","end":"completed","text":{"en":"End","es":"Fin"}}]}}`, nil)
	r.api("POST", "/v1/surveys/flu/respondents", `{"respondents":[{"phone":"+15550001"}]}`, nil)
	r.api("POST", "/v1/surveys/flu:launch", "", nil)
	b, before := r.login("admin"), r.definitionOf("flu")["questions"]
	const path = "/surveys/flu/questions"
	page := b.get(path).want(200)
	asked := regexp.MustCompile(`<(?:input|textarea|select)[^>]* name="((?:q\d|messages|refused|languages|tries|default)[^"]*)"[^>]*>`).FindAllStringSubmatch(page.body, -1)
	texts := regexp.MustCompile(`^(messages\.thanks|q\d\.text|q\d\.c\d\.text|q\d\.message)\.e[ns]$`)
	fields := 0
	for _, in := range asked {
		if hidden := strings.Contains(in[0], `type="hidden"`); hidden == texts.MatchString(in[1]) {
			t.Errorf("after the launch: %s", in[0])
		} else if !hidden {
			fields++
		}
	}
	if fields != 24 {
		t.Errorf("%d texts can be corrected, want 24", fields)
	}
	if got := b.post(path, written(page, "say", "say", "yes")); got.status != 200 || !strings.Contains(got.body, "Weihgt?") && !strings.Contains(got.body, "¿Cuáles?") {
		t.Errorf("it cannot be tried: %d", got.status)
	}
	b.post(path, written(page, "save")).want(303)
	if now := r.definitionOf("flu")["questions"]; !cmp.Equal(now, before) {
		t.Errorf("saved without a change: %s", cmp.Diff(before, now))
	}
	b.post(path, written(page, "save", "q0.text.en", "Cough?", "q0.c0.text.en", "Yes", "q2.text.en", "Weight?", "messages.thanks.en", "Thanks")).want(303)
	r.audit("Weihgt?", "Weight?")
	r.api("POST", "/v1/surveys/flu:stop", "", nil)
	r.soon(func() bool { return !strings.Contains(b.get(path).body, "Save the corrected texts") })
	if over := b.get(path).want(200); regexp.MustCompile(`<textarea|<select[^>]* name="q`).MatchString(over.body) {
		t.Error("the survey is over, and fields are left")
	}
}

// The page is in the language of the reader, and so is what an empty one begins with.
func TestSurveyQuestions_BeginInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	b := r.login("admin")
	b.post("/surveys/_new", filledSurvey()).want(303)
	b.post("/language", url.Values{"language": {"es"}, "back": {"/"}}).want(303)
	page := b.get("/surveys/flu/questions").want(200).has("es Español", "¿Podemos hacerle unas preguntas?", `value="Sí"`)
	b.post("/surveys/flu/questions", written(page, "check", "languages", "es Español\r\npt Português")).want(200).has(`name="q0.text.pt"`, `id="q0.text.pt-wrong"`)
	for _, code := range []string{"en", "es", "fr", "pt"} {
		b.post("/language", url.Values{"language": {code}, "back": {"/"}}).want(303)
		page := b.get("/surveys/flu/questions").want(200)
		if sizes := regexp.MustCompile(`id="q0\.sizes">.*</p>`).FindString(page.body); !strings.Contains(sizes, " 1 SMS") {
			t.Errorf("what everybody is sent first in %s takes more than one SMS: %s", code, sizes)
		}
	}
}

// A new survey that asks questions needs no texts: the page of its questions follows.
func TestSurveyForm_MakesASurveyThatAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	b := r.login("admin")
	form := filledSurvey()
	form.Set("asks", "true")
	form.Set("answer_first", "true")
	if page := b.post("/surveys/_new", form).want(303); page.header.Get("Location") != "/surveys/flu/questions" {
		t.Errorf("what follows is %s", page.header.Get("Location"))
	}
	b.get("/surveys/flu/questions").want(200).has("Write its questions", "May we ask you a few questions?").hasNot(`id="fresh"`, `id="replaces"`)
	b.get("/surveys/flu/launch").want(200).has("<dt>Questions</dt><dd>1</dd>").hasNot("answers are not evaluated", "nobody completes")
	if d := r.definitionOf("flu"); d["questionnaires"] != nil || d["answer"] != nil || d["application"] != nil || d["questions"] == nil {
		t.Errorf("it is %v", d)
	}
}

// An answer to a question with several answers excludes the others if its box says so; for other kinds it has no box, and
// what was written in JSON is kept.
func TestSurveyQuestions_AnswerExcludesTheOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	b := r.login("admin")
	b.post("/surveys/_new", filledSurvey()).want(303)
	const path = "/surveys/flu/questions"
	page := b.get(path).want(200).hasNot(`exclusive"`)
	page = b.post(path, written(page, "after:0")).want(200)
	page = b.post(path, written(page, "check", "q1.kind", "choices", "q1.name", "signs", "q1.text.en", "Which signs?", "q1.c0.text.en", "Fever", "q1.c1.text.en", "None")).want(200).has(`id="q1.c1.exclusive"`)
	page = b.post(path, written(page, "check", "q1.c1.exclusive", "true")).want(200).hasNot(`-wrong"`)
	b.post(path, written(page, "save")).want(303)
	signs := func() string {
		return fmt.Sprint(r.definitionOf("flu")["questions"].(map[string]any)["questions"].([]any)[1])
	}
	if got := signs(); strings.Count(got, "exclusive:true name:none") != 1 || strings.Count(got, "exclusive") != 1 {
		t.Errorf("stored is %s", got)
	}
	form := written(b.get(path).want(200), "save")
	if form.Get("q1.c1.exclusive") != "true" || form.Has("q1.c0.exclusive") {
		t.Errorf("the form shows %v", form)
	}
	form.Del("q1.c1.exclusive")
	b.post(path, form).want(303)
	if got := signs(); strings.Contains(got, "exclusive") {
		t.Errorf("after the box was emptied, stored is %s", got)
	}
}
