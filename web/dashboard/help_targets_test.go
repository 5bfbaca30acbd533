package dashboard

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/docs"
	"weir/web/dashboard/help"
	"weir/web/dashboard/locale"
)

// Every page leads to the section that explains it, or was found to need none, and every section exists.
func TestHelpTargets_EveryPageLeadsToASection(t *testing.T) {
	t.Parallel()
	all, err := renderHelp("")
	if err != nil {
		t.Fatal(err)
	}
	targets, explained := helpTargets(), 0
	left := maps.Clone(targets)
	for _, p := range pages("") {
		to, ok := targets[p.Path]
		if !ok {
			t.Errorf("page %s has no entry", p.Path)
		}
		delete(left, p.Path)
		name, anchor, _ := strings.Cut(to, "#")
		if name == "" {
			continue
		}
		explained++
		i := slices.IndexFunc(all, func(d *help.Document) bool { return d.Name == name })
		if i < 0 {
			t.Errorf("page %s leads to %s, which is not served", p.Path, to)
			continue
		}
		if anchor != "" && !strings.Contains(string(all[i].HTML), ` id="`+anchor+`"`) {
			t.Errorf("page %s leads to %s, which has no such section", p.Path, to)
		}
	}
	if len(left) > 0 || explained < 50 {
		t.Errorf("%d pages are explained; entries of no page: %v", explained, left)
	}
}

// What the first survey of the documents calls by its name, in bold, is on the pages.
func TestHelp_TheFirstSurveyNamesWhatPagesShow(t *testing.T) {
	t.Parallel()
	text, err := docs.Files().ReadFile("surveys.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Your first survey\n")
	section, _, _ = strings.Cut(section, "\n## ")
	shown := messagesOfGo(t)
	maps.Copy(shown, messagesOfTemplates(t, templatesOf(t)))
	labels := regexp.MustCompile(`\*\*([^*]+)\*\*`).FindAllStringSubmatch(section, -1)
	for _, label := range labels {
		if shown[locale.Message(label[1])] == "" {
			t.Errorf("no page shows %q", label[1])
		}
	}
	if len(labels) < 25 {
		t.Errorf("only %d labels", len(labels))
	}
}
