package dashboard

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// english returns the language in which most tests read pages.
func english() *locale.Locale {
	return locale.New().Choose("en", "")
}

// templatesOf returns the templates of all pages, in English.
func templatesOf(t *testing.T) page.Templates {
	t.Helper()
	all, err := page.NewTemplates(templateFiles, english(), functions(english()))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTemplates_OfEveryPageAreValid(t *testing.T) {
	t.Parallel()
	for name, parse := range templatesOf(t) {
		set, err := parse()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if set.Lookup("main") == nil {
			t.Errorf("%s does not define main", name)
		}
	}
}

// A template takes the zero instant for true: whoever asks whether one is known says so.
func TestTemplates_AskWhetherInstantsAreKnown(t *testing.T) {
	t.Parallel()
	var names []string
	for _, room := range []string{"../../api", "../api", "../surveys"} {
		for text := range texts(t, room, ".go") {
			for _, m := range regexp.MustCompile(`(?m)^\s+(\w+)\s+time\.Time\s+.json:"\w+,omitzero`).FindAllStringSubmatch(text, -1) {
				names = append(names, m[1])
			}
		}
	}
	if len(names) < 40 {
		t.Fatalf("%d instants that may be absent", len(names))
	}
	// Forms have texts that are named since and until.
	asked := regexp.MustCompile(`\{\{-? ?(?:else )?(?:if|with) (?:not )?\$?(?:\.\w+)*\.(?:` + strings.Join(names, "|") + `)\}\}`)
	own := map[string]bool{"survey_form.html": true}
	for text, name := range texts(t, "templates", ".html") {
		if found := asked.FindAllString(text, -1); found != nil && !own[name] {
			t.Errorf("%s: %q: known is missing", name, found)
		}
	}
}

// texts returns the texts of files of a folder, and their names.
func texts(t *testing.T, folder, suffix string) func(func(text, name string) bool) {
	return func(yield func(text, name string) bool) {
		dir := os.DirFS(folder)
		names, err := fs.Glob(dir, "*"+suffix)
		if err != nil || names == nil {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			if !yield(string(text), name) {
				return
			}
		}
	}
}
