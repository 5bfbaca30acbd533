// Package words finds words and phrases that a reader would have to read twice, or that no
// reader would search for: coined names, and sentences that hide who does what. The
// structure tests forbid them; the house program counts them.
//
// It reads comments, strings, struct tags and declared names of Go files, and the lines of
// every other text that people wrote: documents, templates, scripts, SQL, deployment files.
// A name is split at its capitals and underscores. The name of a test is a sentence.
package words

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// phrases matches what no sentence contains. A plain sentence names who does what:
// "returns", "reports whether", "no client", "the contacts that", "except".
var phrases = regexp.MustCompile(`(?i)\b(tells whether|(is|are|was|were) (what|told)|those (that|who)|nobody|somebody|but for|the one that|(the|no|late) word of|(of|for) whom|of which|` +
	`hand(s|ed|ing)?[ -]over|tak(e|es|en|ing) back|sets? aside|hopeful|wary|disappointed|chores?|crews?|stumbles?|rota|glances?)\b`)

// coined returns the words that no name contains, with the standard term for each.
func coined() map[string]string {
	return map[string]string{
		"seat": "channel state", "seats": "channel states", "crew": "worker pool", "hand": "local attempt", "hands": "local attempts",
		"hopeful": "optimistic", "wary": "verify", "careful": "verify", "disappointed": "stale cache", "doubts": "in doubt",
		"company": "batch delay", "linger": "batch delay", "tells": "reports", "aside": "delayed",
		"desk": "stepper", "road": "pacing", "roads": "pacing", "rota": "fair share", "library": "plan cache", "shelf": "plan cache",
		"crossed": "blocked", "misled": "mismatch", "stumble": "retry", "tend": "maintain", "bury": "delete", "buried": "deleted",
		"looker": "poller", "glance": "snapshot", "wanted": "backlog", "ladder": "retry schedule", "ladders": "retry schedules",
		"chore": "background job", "chores": "background jobs", "notice": "outbox entry", "notices": "outbox entries",
		"nearby": "local", "unfit": "a plain adjective", "siblings": "peers", "inquire": "check", "nobody": "none", "somebody": "a noun",
		"flying": "in flight", "aloft": "in flight",
	}
}

// InProse returns the first phrase of a text that is to be written plainly, or "".
func InProse(text string) string {
	if all := inProse(text); len(all) > 0 {
		return all[0]
	}
	return ""
}

// inProse returns all of them. Parts of paths and of ids, and quoted words, are data.
func inProse(line string) (out []string) {
	for _, at := range phrases.FindAllStringIndex(line, -1) {
		before, after := line[:at[0]], line[at[1]:]
		if strings.HasSuffix(before, "/") || strings.HasSuffix(before, "-") || strings.HasPrefix(after, "-") || strings.HasSuffix(before, `"`) && strings.HasPrefix(after, `"`) {
			continue
		}
		out = append(out, line[at[0]:at[1]])
	}
	return out
}

// ordinary are coined words that are plain ones in a test.
func ordinary(word string) bool {
	return slices.Contains([]string{"wanted", "hand", "hands", "notice", "notices", "library", "flying", "desk"}, word)
}

// InName returns the first coined word of a name, or "". A limit is max or min, not most
// or least; a test's name is read as a sentence.
func InName(name string) string {
	parts := split(name)
	if len(parts) > 1 && slices.Contains([]string{"test", "benchmark", "fuzz"}, parts[0]) {
		return InProse(strings.Join(parts, " "))
	}
	bad := coined()
	for i, p := range parts {
		if _, ok := bad[p]; ok {
			return p
		}
		if (p == "most" || p == "least") && i+1 < len(parts) && (i == 0 || parts[i-1] != "at") {
			return p + "…"
		}
		if p == "lose" && i+1 < len(parts) && parts[i+1] == "sight" {
			return "lose sight"
		}
		if p == "handed" && i+1 < len(parts) && parts[i+1] == "over" {
			return "handed over"
		}
	}
	return ""
}

// split returns the words of a name in lower case.
func split(name string) []string {
	var out []string
	letters := []rune(name)
	begin := 0
	cut := func(end int) {
		if w := strings.ToLower(strings.Trim(string(letters[begin:end]), "_0123456789")); w != "" {
			out = append(out, w)
		}
		begin = end
	}
	for i := 1; i < len(letters); i++ {
		upper := unicode.IsUpper(letters[i])
		begins := upper && !unicode.IsUpper(letters[i-1])
		ends := upper && i+1 < len(letters) && unicode.IsLower(letters[i+1]) // the P of HTTPPort
		if begins || ends || letters[i] == '_' {
			cut(i)
		}
	}
	cut(len(letters))
	return out
}
