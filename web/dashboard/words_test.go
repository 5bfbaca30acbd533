package dashboard

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/operators"
	"weir/surveys"
	"weir/web/dashboard/locale"
	surveypages "weir/web/dashboard/surveys"
)

// shownTypes are the types whose values pages show, each in a list beside the others. The values are read from the source, so
// that a new one is not forgotten.
func shownTypes() map[string]string {
	return map[string]string{
		"Outcome": "../..", "Health": "../..", "State": "../../surveys", "Status": "../../surveys", "Disposition": "../../surveys", "Cause": "../../surveys",
		"Source": "../../people",
	}
}

// notWords are values of them that no page shows as a word.
func notWords() []string {
	return []string{"api"} // a name
}

func TestAPIWords_HaveWhatPagesShow(t *testing.T) {
	t.Parallel()
	names := headlines(t)
	for name, dir := range shownTypes() {
		for _, value := range constantsOf(t, dir, name) {
			names = append(names, strings.ReplaceAll(value, "_", " "))
		}
	}
	words := apiWords()
	for _, name := range names {
		if !slices.Contains(words, locale.Message(name)) && !slices.Contains(notWords(), name) {
			t.Errorf("%q has no word", name)
		}
	}
}

// headlines are those of all reasons why something waits.
func headlines(t *testing.T) (list []string) {
	t.Helper()
	for _, code := range constantsOf(t, "../../operators", "WhyCode") {
		head, _ := operators.WhyCode(code).Headline(time.Time{}, time.Now())
		list = append(list, head)
	}
	return list
}

// constantsOf returns the values of the constants of a type that has a text, from the source.
func constantsOf(t *testing.T, dir, typ string) (list []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if of, is := spec.Type.(*ast.Ident); !is || of.Name != typ {
				return true
			}
			for _, v := range spec.Values {
				if lit, is := v.(*ast.BasicLit); is {
					list = append(list, strings.Trim(lit.Value, `"`))
				}
			}
			return true
		})
	}
	if len(list) < 3 {
		t.Fatalf("%s of %s has %d constants", typ, dir, len(list))
	}
	return list
}

// enumsOf adds the closed lists of texts of a description of the API by their places.
func enumsOf(place string, node any, lists map[string][]string) {
	switch x := node.(type) {
	case map[string]any:
		if values, ok := x["enum"].([]any); ok {
			for _, v := range values {
				if text, is := v.(string); is {
					lists[place] = append(lists[place], text)
				}
			}
		}
		for name, child := range x {
			enumsOf(place+"/"+name, child, lists)
		}
	case []any:
		for i, child := range x {
			enumsOf(place+"/"+strconv.Itoa(i), child, lists)
		}
	}
}

// TestWords_OfAClosedListAreDifferentInEveryLanguage is scenario 404: two values of a list that a page shows side by side never
// have one word. The lists are the enumerations of the API and the constants of the types that pages show.
func TestWords_OfAClosedListAreDifferentInEveryLanguage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var described any
	if err := json.Unmarshal(raw, &described); err != nil {
		t.Fatal(err)
	}
	lists := map[string][]string{"headlines": headlines(t), "filter of surveys": append(constantsOf(t, "../../surveys", "State"), "locked")}
	enumsOf("", described, lists)
	if len(lists) < 100 {
		t.Fatalf("only %d lists were found", len(lists))
	}
	for name, dir := range shownTypes() {
		lists[name+" of "+dir] = constantsOf(t, dir, name)
	}
	for _, l := range locale.New().List() {
		var steps []string
		for _, step := range surveys.Funnel() {
			name, _ := surveypages.StepText(l, step)
			steps = append(steps, name)
		}
		different(t, l, "steps", steps, func(text string) string { return text })
		for name, values := range lists {
			different(t, l, name, values, l.Word)
		}
		for _, mode := range surveys.Modes() {
			if text := surveypages.AttemptWord(l, mode, weir.Completed); text == l.Word(string(surveys.Complete)) {
				t.Errorf("%s: an attempt by %s is %q, as an interview is", l.Code, mode, text)
			}
		}
		if a, b := l.Amount("2.9"), l.Number(2.9); a != b {
			t.Errorf("%s: money is written %s, other numbers %s", l.Code, a, b)
		}
	}
}

func different(t *testing.T, l *locale.Locale, name string, values []string, word func(string) string) {
	t.Helper()
	of := map[string]string{}
	for _, v := range values {
		text := strings.ToLower(word(v))
		if other, taken := of[text]; taken && other != v {
			t.Errorf("%s: of the %s, %q and %q are both %q", l.Code, name, other, v, text)
		}
		of[text] = v
	}
}
