package questions_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/people"
	"weir/surveys/questions"
	"weir/surveys/questions/expression"
)

// valid is a definition that mistakes are written into.
const valid = `{"languages": [{"code": "es", "name": "Español"}, {"code": "en"}], "questions": [
	{"name": "pet", "kind": "choice", "text": {"es": "¿Mascota?", "en": "Pet?"}, "choices": [
		{"name": "dog", "text": {"es": "Perro", "en": "Dog"}, "words": {"es": ["can"]}},
		{"name": "cat", "text": {"es": "Gato", "en": "Cat"}}]},
	{"name": "legs", "kind": "number", "text": {"es": "¿Patas?", "en": "Legs?"}, "min": 0, "max": 4, "relevant": "${pet} = 'dog'", "constraint": ". <= 4"},
	{"name": "twice", "kind": "calculation", "calculation": "${legs} * 2"},
	{"name": "note", "kind": "statement", "text": {"es": "Nota {{legs}}", "en": "Note {{legs}}"}},
	{"name": "story", "kind": "text", "text": {"es": "¿Historia?", "en": "Story?"}, "pattern": "[a-z ]+"},
	{"name": "when", "kind": "date", "text": {"es": "¿Fecha?", "en": "Date?"}, "earliest": "2020-01-01"}
]}`

func TestCompile_ReportsEveryMistakeWithItsPlace(t *testing.T) {
	t.Parallel()
	stop := questions.Context{StopWords: people.DefaultWordLists().Stop, Modes: []string{"sms", "ivr"}, Attributes: []string{"name", "language"}}
	for name, tc := range map[string]struct{ old, new, want string }{
		"none":                       {"", "", ""},
		"a circle":                   {`"relevant": "${pet} = 'dog'"`, `"relevant": "${twice} = 8"`, "/questions/1/relevant order"},
		"itself":                     {`"relevant": "${pet} = 'dog'"`, `"relevant": "${legs} = 4"`, "/questions/1/relevant order"},
		"a later question":           {`"relevant": "${pet} = 'dog'"`, `"relevant": "${story} = 'a'"`, "/questions/1/relevant order"},
		"a later answer in a text":   {"Nota {{legs}}", "Nota {{story}}", "/questions/3/text/es field"},
		"an unknown name":            {`"relevant": "${pet} = 'dog'"`, `"relevant": "${pets} = 'dog'"`, "/questions/1/relevant expression"},
		"an unknown name in a text":  {"Nota {{legs}}", "Nota {{leg}}", "/questions/3/text/es field"},
		"a broken field":             {"Nota {{legs}}", "Nota {{legs", "/questions/3/text/es format"},
		"an unknown function":        {"${legs} * 2", "double(${legs})", "/questions/2/calculation expression"},
		"syntax":                     {". <= 4", ". <= = 4", "/questions/1/constraint expression"},
		"a choice that is none":      {"${pet} = 'dog'", "${pet} = 'cow'", "/questions/1/relevant choice"},
		"never true":                 {"${pet} = 'dog'", "${pet} = 'dog' and ${pet} = 'cat'", "/questions/1/relevant unreachable"},
		"always false":               {"${pet} = 'dog'", "${pet} = 'dog' and false()", "/questions/1/relevant unreachable"},
		"behind an end":              {`{"name": "note", "kind": "statement", "text"`, `{"name": "note", "kind": "end", "text"`, "/questions/4 unreachable, /questions/5 unreachable"},
		"a name twice":               {`"name": "legs"`, `"name": "PET"`, "/questions/1/name duplicate, /questions/2/calculation expression, /questions/3/text/en field, /questions/3/text/es field"},
		"a name of an attribute":     {`"name": "when"`, `"name": "name"`, "/questions/5/name duplicate"},
		"a reserved name":            {`"name": "when"`, `"name": "phone"`, "/questions/5/name reserved"},
		"a bad name":                 {`"name": "when"`, `"name": "1 año"`, "/questions/5/name format"},
		"an unknown kind":            {`"kind": "date"`, `"kind": "day"`, "/questions/5/earliest conflict, /questions/5/kind unknown, /questions/5/text conflict"},
		"a text without a language":  {`{"es": "¿Patas?", "en": "Legs?"}`, `{"es": "¿Patas?"}`, "/questions/1/text language"},
		"an empty text":              {`"en": "Legs?"`, `"en": " "`, "/questions/1/text language"},
		"an unknown language":        {`"en": "Legs?"`, `"en": "Legs?", "fr": "Pattes ?"`, "/questions/1/text/fr unknown"},
		"a text that is too long":    {"Legs?", strings.Repeat("x", 1601), "/questions/1/text/en length"},
		"an unknown mode":            {`"min": 0`, `"min": 0, "text_in": {"fax": {"es": "a", "en": "b"}}`, "/questions/1/text_in/fax unknown"},
		"a word of another choice":   {`["can"]`, `["GATO"]`, "/questions/0/choices/1 words"},
		"a name of another choice":   {`["can"]`, `["cat"]`, "/questions/0/choices/1 words"},
		"the key of another choice":  {`["can"]`, `["2"]`, "/questions/0/choices/0 words"},
		"a word that always refuses": {`["can"]`, `["¡Alto!"]`, "/questions/0/choices/0 stop_word"},
		"an invisible word":          {`["can"]`, "[\"\u200b\"]", "/questions/0/choices/0/words/es/0 length"},
		"a choice twice":             {`"name": "cat"`, `"name": "dog"`, "/questions/0/choices/1 words, /questions/0/choices/1/name duplicate"},
		"a choice with a space":      {`"name": "cat"`, `"name": "a cat"`, "/questions/0/choices/1/name format"},
		"no choices":                 {`"kind": "date", "text": {"es": "¿Fecha?", "en": "Date?"}, "earliest": "2020-01-01"`, `"kind": "choice", "text": {"es": "¿Fecha?", "en": "Date?"}`, "/questions/5/choices length"},
		"some keys":                  {`"name": "cat",`, `"name": "cat", "key": "7",`, "/questions/0/choices/1/key format"},
		"a pattern":                  {"[a-z ]+", "(?=x)", "/questions/4/pattern format"},
		"min over max":               {`"min": 0`, `"min": 5`, "/questions/1/min range"},
		"no date":                    {"2020-01-01", "2020-02-30", "/questions/5/earliest format"},
		"later than the latest":      {`"earliest": "2020-01-01"`, `"earliest": "2020-01-01", "latest": "2019-01-01"`, "/questions/5/earliest range"},
		"lengths":                    {`"pattern"`, `"min_length": 9, "max_length": 8, "pattern"`, "/questions/4/min_length range"},
		"a field of another kind":    {`"pattern"`, `"min": 1, "pattern"`, "/questions/4/min conflict"},
		"no calculation":             {`"calculation": "${legs} * 2"`, `"tries": 1`, "/questions/2/calculation required"},
		"a default":                  {`"min": 0`, `"default": "five", "min": 0`, "/questions/1/default format"},
		"tries":                      {`"min": 0`, `"tries": 99, "after_tries": "cry", "min": 0`, "/questions/1/after_tries unknown, /questions/1/tries range"},
		"no words to refuse":         {`"min": 0`, `"allow": ["refused"], "min": 0`, "/questions/1/allow/0 words"},
		"what cannot be allowed":     {`"min": 0`, `"allow": ["skipped"], "min": 0`, "/questions/1/allow/0 unknown"},
		"a word of a choice":         {`"choices"`, `"allow": ["dont_know"], "choices"`, ""},
		"consent in the middle":      {`"name": "when"`, `"consent": true, "name": "when"`, "/questions/5/consent conflict"},
		"the default language":       {`"questions"`, `"default_language": "fr", "questions"`, "/default_language unknown"},
		"a code":                     {`{"code": "en"}`, `{"code": "English"}`, "/languages/1/code format"},
		"a language twice":           {`{"code": "en"}`, `{"code": "en"}, {"code": "EN"}`, "/languages/2/code duplicate"},
		"a language without texts":   {`{"code": "en"}`, `{"code": "am", "name": "አማርኛ"}`, "/messages/not_understood language, /messages/reminder language, /messages/thanks language"},
		"a word of two languages":    {`{"code": "en"}`, `{"code": "en", "words": ["español"]}`, "/languages/1 words"},
		"a constant selected":        {"${pet} = 'dog'", "selected(${story}, 'a')", "/questions/1/relevant order"},
	} {
		d := definition(t, strings.Replace(valid, tc.old, tc.new, 1))
		qs, wrong, _ := questions.Compile(d, stop)
		got := pointers(wrong)
		if strings.HasPrefix(tc.want, "/languages/") || strings.HasPrefix(tc.want, "/messages/") { // texts lack a language as well
			if !strings.Contains(got, tc.want) {
				t.Errorf("%s: %s, want %s", name, got, tc.want)
			}
			continue
		}
		if got != tc.want || (qs == nil) != (tc.want != "") {
			t.Errorf("%s: %s, want %s\n%v", name, got, tc.want, wrong)
		}
		for _, f := range wrong {
			if f.Detail == "" {
				t.Errorf("%s: no sentence at %s", name, f.Pointer)
			}
		}
	}
}

func TestCompile_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"${twice} = 8":    "character 1: twice is asked later, and depends on this question: a circle",
		"${legs} = 8":     "character 1: legs refers to itself; in a constraint the full stop is its answer",
		"${story} = 'a'":  "character 1: story is asked later (question 5)",
		"1 + ${note} = 2": "character 5: note is asked later (question 4)",
		"pulldata('a')":   "character 1: pulldata is not known here: import the value as an attribute and write ${attribute}",
		"${pet} = 'cow'":  `character 10: "pet" has no choice "cow"`,
	} {
		_, wrong, _ := questions.Compile(definition(t, strings.Replace(valid, "${pet} = 'dog'", change, 1)), questions.Context{})
		if len(wrong) == 0 || wrong[0].Detail != want {
			t.Errorf("%s: %v, want %s", change, wrong, want)
		}
	}
}

func TestCompile_Warns(t *testing.T) {
	t.Parallel()
	stop := questions.Context{StopWords: people.DefaultWordLists().Stop}
	for name, tc := range map[string]struct{ old, new, want string }{
		"nothing":                     {"", "", ""},
		"a word that refuses":         {`["can"]`, `["baja"]`, "/questions/0/choices/0 stop_word"},
		"the same for everybody":      {"${pet} = 'dog'", "1 = 1", "/questions/1/relevant constant"},
		"other programs":              {"${pet} = 'dog'", "selected(${pet}, 1) or selected(${pet}, 'dog')", ""},
		"a text of several SMS":       {"¿Historia?", strings.Repeat("í", 140), "/questions/4/text/es segments"},
		"what looks like a reference": {"¿Historia?", "¿${legs}?", "/questions/4/text/es field"},
	} {
		d := definition(t, strings.Replace(valid, tc.old, tc.new, 1))
		qs, wrong, warnings := questions.Compile(d, stop)
		if name == "other programs" {
			if !strings.Contains(pointers(warnings), "/questions/1/relevant expression") {
				t.Errorf("%s: %v", name, warnings)
			}
			continue
		}
		if got := pointers(warnings); got != tc.want || qs == nil {
			t.Errorf("%s: %s, want %s; %v", name, got, tc.want, wrong)
		}
	}
}

func TestCompile_FindsQuestionsThatCannotBeReached(t *testing.T) {
	t.Parallel()
	choice := func(name, relevant, more string) string {
		return fmt.Sprintf(`{"name": %q, "kind": "choice", "relevant": %q, "text": {"es": "?", "en": "?"}, "choices": [{"name": "a", "text": {"es": "A1", "en": "A1"}}, {"name": "b", "text": {"es": "B1", "en": "B1"}%s}]}`, name, relevant, more)
	}
	end := func(name, relevant string) string {
		return fmt.Sprintf(`{"name": %q, "kind": "end", "relevant": %q}`, name, relevant)
	}
	for name, tc := range map[string]struct {
		questions []string
		want      string
	}{
		"through a question that is not asked":  {[]string{choice("x", "", ""), choice("y", "${x} = 'a'", ""), choice("z", "${x} = 'b' and ${y} = 'a'", "")}, "/questions/2/relevant unreachable"},
		"the blank of one that is not asked":    {[]string{choice("x", "", ""), choice("y", "${x} = 'a'", ""), choice("z", "${y} = ''", "")}, ""},
		"the blank of one that is always asked": {[]string{choice("x", "", ""), choice("y", "${x} = ''", "")}, "/questions/1/relevant unreachable"},
		"after the choice that ends":            {[]string{choice("x", "", `, "end": "refused"`), choice("y", "${x} = 'b'", "")}, "/questions/1/relevant unreachable"},
		"after an end with a condition":         {[]string{choice("x", "", ""), end("e", "${x} = 'a'"), choice("y", "${x} = 'a'", "")}, "/questions/2/relevant unreachable"},
		"the rest of an end with a condition":   {[]string{choice("x", "", ""), end("e", "${x} = 'a'"), choice("y", "${x} = 'b'", "")}, ""},
		"behind ends that leave nothing":        {[]string{choice("x", "", ""), end("e", "${x} = 'a'"), end("f", "${x} != 'a'"), choice("y", "", "")}, "/questions/3 unreachable"},
		"by an attribute":                       {[]string{choice("x", "${att} = 'a' and ${att} = 'b'", "")}, ""},
	} {
		_, wrong, _ := questions.Compile(definition(t, `{"questions": [`+strings.Join(tc.questions, ",")+`]}`), questions.Context{})
		if got := pointers(wrong); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestRead_IsStrict(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"questions": [{"name": "a", "colour": "red"}]}`:                                        "/questions/0/colour unknown",
		`{"questions": [{"name": "a"}, {"name": "b", "choices": [{"name": "x", "weight": 1}]}]}`: "/questions/1/choices/0/weight unknown",
		`{"questions": [{"name": 1}]}`:                                                           "/questions/0/name type",
		`{"questions": {}}`:                                                                      "/questions type",
		`{"questions": [{"text": {"es": ["a"]}}]}`:                                               "/questions/0/text type",
		`{"questions": [1]}`:                                                                     "/questions/0 type",
		`{"shape": 1}`:                                                                           "/shape unknown",
		`{"tries": 1, "tries": 2}`:                                                               "/tries duplicate",
		`{"questions": [{"text": {"es": "a", "es": "b"}}]}`:                                      "/questions/0/text/es duplicate",
		`{"tries": 1} {}`:                                                                        " format",
		`{"tries": `:                                                                             " format",
		`[]`:                                                                                     " type",
		strings.Repeat("[", 30) + strings.Repeat("]", 30):                                        " format",
		`{"default_language": "` + strings.Repeat("x", 200<<10) + `"}`:                           " length",
		`{"questions": [` + strings.Repeat("{},", 500) + `{}]}`:                                  "/questions length",
	} {
		if _, wrong := questions.Read([]byte(raw)); pointers(wrong) != want {
			t.Errorf("%.60s: %v, want %s", raw, wrong, want)
		}
	}
}

func TestCompile_LargestDefinition(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 500 {
		relevant := ""
		if i > 0 {
			relevant = fmt.Sprintf("${q%d} = 'a' or ${q%d} = 'b'", i-1, i/2)
		}
		list = append(list, fmt.Sprintf(`{"name": "q%d", "kind": "choice", "relevant": %q, "text": {"es": "¿Pregunta número %d?"}, "choices": [{"name": "a", "text": {"es": "uno más"}}, {"name": "b", "text": {"es": "otro más"}}], "message": {"es": "Por favor, una de las dos."}}`, i, relevant, i))
	}
	raw := `{"languages": [{"code": "es"}], "questions": [` + strings.Join(list, ",") + `]}`
	if len(raw) > questions.MaxSize {
		t.Fatalf("%d bytes", len(raw))
	}
	c, _ := begin(t, compile(t, raw), nil)
	for c.state.Ended == "" && c.state.Turn < 1000 {
		c.says("1")
	}
	if c.state.Turn != 501 || c.state.Ended != questions.Completed || len(c.qs.Arrows()) == 0 {
		t.Errorf("%+v", c.state)
	}
}

func TestDefinition_RoundTrip(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{string(vaccination), several, valid} {
		d := definition(t, raw)
		once, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		again, wrong := questions.Read(once)
		twice, err := json.Marshal(again)
		if err != nil || len(wrong) > 0 || string(once) != string(twice) {
			t.Errorf("%s became %s: %v %v", once, twice, wrong, err)
		}
	}
}

// The document of the definition is right: its example goes as it says, its functions exist, and it names every kind and status.
func TestDefinition_DocumentIsRight(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/questions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "```json\n")
	example, rest, _ := strings.Cut(rest, "```")
	c, _ := begin(t, compile(t, example), nil)
	for _, step := range []struct{ message, want string }{
		{"¿qué?", "No entendimos su respuesta. ¿Se vacunó su hijo?\n1 Sí\n2 No"}, {"Sí", "¿Cuántos meses tiene?"},
		{"999", "Escriba los meses, de 0 a 240. ¿Cuántos meses tiene?"}, {"30 meses", "Gracias por sus respuestas."},
	} {
		if got := c.says(step.message); got != step.want {
			t.Errorf("after %s: %q", step.message, got)
		}
	}
	functions := 0
	for line := range strings.Lines(rest) {
		topic, list, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !slices.Contains([]string{"choosing", "logic", "numbers", "texts", "dates"}, topic) {
			continue
		}
		for _, m := range regexp.MustCompile("`([a-z:-]+)[(`]").FindAllStringSubmatch(list, -1) {
			functions++
			if _, err := expression.Parse(m[1]+"()", expression.Scope{}); err != nil && strings.Contains(err.Message, "not a function") {
				t.Errorf("the document has a function %s: %v", m[1], err)
			}
		}
	}
	if functions < 35 {
		t.Errorf("%d functions found", functions)
	}
	for _, kind := range questions.Kinds() {
		if !strings.Contains(rest, "| `"+string(kind)+"` |") {
			t.Errorf("kind %s is not in the document", kind)
		}
	}
	for _, status := range questions.Statuses() {
		if !strings.Contains(rest, "`"+string(status)+"`") {
			t.Errorf("status %s is not in the document", status)
		}
	}
}
