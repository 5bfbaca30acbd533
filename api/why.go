package api

import (
	"strings"
	"time"
)

// WhyView says why something waits.
type WhyView struct {
	Why         string      `json:"why,omitempty" doc:"why it waits now, in one sentence for people; absent when nothing waits" example:"channel texts: 4 of 4 slots in use; 12 of higher priority ahead"`
	WhyCode     string      `json:"why_code,omitempty" doc:"the same as a stable code for programs; there may be more codes in later versions" example:"capacity"`
	WhyInstants []time.Time `json:"why_instants,omitempty" doc:"the instants in why, in the order of the sentence"`
	WhyClauses  []Clause    `json:"why_clauses,omitempty" doc:"the clauses of why, for programs that show them in another language"`
}

// Clause is one clause of a sentence, with the values of its fields.
type Clause struct {
	Sentence string            `json:"sentence" doc:"the clause in English, with the names of its fields in braces; the same in every version that has it, so that it can be translated" example:"attempt {attempt} is due at {at}"`
	Fields   map[string]string `json:"fields,omitempty" doc:"values of the fields; instants are of RFC 3339" example:"{\"attempt\": \"2\", \"at\": \"2026-07-01T09:30:00Z\"}"`
}

// Fill replaces the names in braces of a text, which is the sentence in some language.
func (c *Clause) Fill(text string, value func(name string) string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(before)
		if _, has := c.Fields[name]; has {
			b.WriteString(value(name))
		}
		text = after
	}
}

// Instant returns the field of a name if it is an instant.
func (c *Clause) Instant(name string) (at time.Time, ok bool) {
	if name != "at" && !strings.HasSuffix(name, "_at") {
		return at, false
	}
	at, err := time.Parse(time.RFC3339, c.Fields[name])
	return at, err == nil
}
