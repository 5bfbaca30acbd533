package arch_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// Phrases that a reader has to read twice. A plain sentence names who does what:
// "returns", "reports whether", "no client", "the contacts that", "except".
var readTwice = regexp.MustCompile(`(?i)\b(tells whether|(is|are|was|were) what|(is|are|was|were) told|those (that|who)|nobody|somebody|but for)\b`)

// unwritten lists the folders whose comments are still in the old words: the
// store is rewritten with its protocol.
func unwritten() []string { return []string{"persistence"} }

func TestSentencesAreReadOnce(t *testing.T) {
	t.Parallel()
	tr := load(t)
	for _, f := range tr.files {
		if f.made || matches(unwritten(), f.folder) {
			continue
		}
		for _, group := range f.syntax.Comments {
			complain(t, tr.position(group), group.Text())
		}
	}
	for _, name := range texts(t) {
		if path.Ext(name) == ".md" && name != "docs/cli.md" && name != "docs/weirlab.md" { // made from the commands
			complain(t, name, prose(read(t, name)))
		}
	}
}

func complain(t *testing.T, where, text string) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		if found := readTwice.FindString(line); found != "" {
			t.Errorf("%s: %q in %q: say it in a plain sentence", where, found, strings.TrimSpace(line))
		}
	}
}

func TestPhrasesAreFound(t *testing.T) {
	t.Parallel()
	for text, bad := range map[string]bool{
		"InFlight tells whether a contact holds slots.": true, "the others, those that wait": true, "Nobody waits for it.": true,
		"InFlight reports whether a contact holds slots.": false, "somebody's": true, "a word offered": false,
	} {
		if readTwice.MatchString(text) != bad {
			t.Errorf("%q: found %v", text, !bad)
		}
	}
}
