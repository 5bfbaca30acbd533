package httpgateway

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// text is a parsed text with placeholders.
type text []segment

// segment is a literal, or the name of a placeholder.
type segment struct{ literal, name string }

// placeholder stands for something of the contact.
type placeholder struct {
	name      string
	send, ask bool // may stand in requests that dispatch, and in those of ask
	value     func(c *content) string
}

// placeholders are in the order in which messages list them. Those of ask have neither text nor
// report URLs, because a question identifies a message and carries nothing that could dispatch it
// again.
var placeholders = []placeholder{ //nolint:gochecknoglobals // a table that nothing changes
	// Unique for each try of a contact; letters, digits and hyphens.
	{"attempt", true, true, func(c *content) string { return c.a.ID.String() }},
	// Index of the message. A request for a whole contact has part 0: the -1 of whole is internal.
	{"part", true, true, func(c *content) string { return strconv.Itoa(max(0, c.part)) }},
	{"parts", true, true, func(c *content) string { return strconv.Itoa(len(c.a.Messages)) }},
	// Attempt and part in one: ATTEMPT.PART.
	{"id", true, true, (*content).id},
	// The address as stored, with a leading +, and the digits only.
	{"to", true, true, func(c *content) string { return c.a.To }},
	{"to.plus", true, true, func(c *content) string { return "+" + strings.TrimPrefix(c.a.To, "+") }},
	{"to.digits", true, true, func(c *content) string { return strings.TrimPrefix(c.a.To, "+") }},
	// Of the message; of all messages, joined by line breaks, in a request for a whole contact.
	{"text", true, false, (*content).text},
	// The same in UTF-16, big endian, as bytes.
	{"text.utf16", true, false, func(c *content) string { return string(provider.UTF16BE(c.text())) }},
	// Where the gateway reports on the message. Attempt and part become two segments: the path of a
	// callback has unreserved characters and no meaning that a proxy could change.
	{"report_url", true, false, func(c *content) string { return c.url(reportPath) + "/" + strings.ReplaceAll(c.id(), ".", "/") }},
	// The same without the message, for reports that name it by {id}.
	{"reports_url", true, false, func(c *content) string { return c.url(reportPath) }},
	// Where it passes on what people send.
	{"incoming_url", true, false, func(c *content) string { return c.url(incomingPath) }},
	// Of the gateway, from its answer.
	{"ref", false, true, func(c *content) string { return c.a.ProviderRef }},
	{"survey", true, true, func(c *content) string { return c.a.Survey }},
	{"priority", true, false, func(c *content) string {
		return []string{"reply", "high", "normal"}[min(max(0, c.a.Priority), weir.Normal)]
	}},
	// Until the contact's window closes; a day without one.
	{"seconds_left", true, false, func(c *content) string { return strconv.Itoa(c.left(time.Second)) }},
	{"minutes_left", true, false, func(c *content) string { return strconv.Itoa(c.left(time.Minute)) }},
}

// placeholderNames returns the names of some placeholders.
func placeholderNames(of func(placeholder) bool) []string {
	var out []string
	for _, p := range placeholders {
		if of(p) {
			out = append(out, p.name)
		}
	}
	return out
}

// Paths below the channel's callback URL.
const (
	reportPath   = "report"
	incomingPath = "incoming"
	consentPath  = "consent"
)

// names are the secrets and values of a channel's settings, which its template may use.
type names struct{ secrets, values map[string]string }

// scope is what a section of a template may refer to.
type scope struct {
	names
	contact []string // placeholders of a contact
}

// text reads a text with placeholders: {name}; {{ and }} stand for braces.
func (sc scope) text(wrong *mistakes, s, at string) text {
	var out text
	literal := ""
	flush := func() {
		if literal != "" {
			out, literal = append(out, segment{literal: literal}), ""
		}
	}
	for s != "" {
		switch {
		case strings.HasPrefix(s, "{{"), strings.HasPrefix(s, "}}"):
			literal, s = literal+s[:1], s[2:]
		case s[0] == '{':
			name, rest, closed := strings.Cut(s[1:], "}")
			if !closed {
				wrong.fail(at, "format", "a { has no }; write {{ for a brace")
				return out
			}
			flush()
			sc.check(wrong, name, at)
			out, s = append(out, segment{name: name}), rest
		case s[0] == '}':
			wrong.fail(at, "format", "a } has no {; write }} for a brace")
			return out
		default:
			i := strings.IndexAny(s, "{}")
			if i < 0 {
				i = len(s)
			}
			literal, s = literal+s[:i], s[i:]
		}
	}
	flush()
	return out
}

// check reports a name that is no placeholder here.
func (sc scope) check(wrong *mistakes, name, at string) {
	kind, key, dotted := strings.Cut(name, ".")
	switch {
	case dotted && kind == "label" && key != "" && len(sc.contact) > 0, slices.Contains(sc.contact, name):
	case dotted && kind == "secret":
		checkDefined(wrong, "secret", key, at, sc.secrets)
	case dotted && kind == "value":
		checkDefined(wrong, "value", key, at, sc.values)
	default:
		names := slices.Concat(sc.contact, []string{"secret.NAME", "value.NAME"})
		if len(sc.contact) > 0 {
			names = append(names, "label.NAME")
		}
		wrong.fail(at, "placeholder", "{%s} is no placeholder here; there are %s", clip(name), strings.Join(names, ", "))
	}
}

// checkDefined reports a name that a setting does not define.
func checkDefined(wrong *mistakes, kind, key, at string, in map[string]string) {
	if _, ok := in[key]; !ok {
		names := strings.Join(slices.Sorted(maps.Keys(in)), ", ")
		if names == "" {
			names = "none"
		}
		wrong.fail(at, "placeholder", "the setting %ss has no %q; it has %s", kind, clip(key), names)
	}
}

func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), 40)], "") }

// join returns the text with each placeholder replaced by what put returns for its name.
func (t text) join(put func(name string) string) string {
	if len(t) == 1 {
		if t[0].name == "" {
			return t[0].literal
		}
		return put(t[0].name)
	}
	var b strings.Builder
	for _, s := range t {
		if s.name == "" {
			b.WriteString(s.literal)
		} else {
			b.WriteString(put(s.name))
		}
	}
	return b.String()
}

// content holds the values of the placeholders in one request.
type content struct {
	secrets, values map[string]string
	callback        string // of the channel
	a               channels.Attempt
	part            int // index of the message; whole: all of them
	now             time.Time
	room            *int // bytes that the request may still have, shared by copies; nil: any number
}

// take counts bytes of a request, and reports whether it may have them. What is rendered
// is bounded while it grows: a template may repeat a text of the client very often.
func (c *content) take(n int) bool {
	if c.room != nil {
		*c.room -= min(n, *c.room+1)
		return *c.room >= 0
	}
	return true
}

// whole is the part of a request for all messages of a contact.
const whole = -1

// value returns what a placeholder stands for; nothing once the request is too large.
func (c *content) value(name string) string {
	if !c.take(0) {
		return ""
	}
	if v := c.lookUp(name); c.take(len(v)) {
		return v
	}
	return ""
}

func (c *content) lookUp(name string) string {
	kind, key, _ := strings.Cut(name, ".")
	switch kind {
	case "secret":
		return c.secrets[key]
	case "value":
		return c.values[key]
	case "label":
		return c.a.Labels[key]
	}
	if i := slices.IndexFunc(placeholders, func(p placeholder) bool { return p.name == name }); i >= 0 {
		return placeholders[i].value(c)
	}
	return ""
}

// url returns an address below the channel's callback URL.
func (c *content) url(path string) string { return c.callback + "/" + path }

// id names the message: the attempt, and the index of the message unless it is about
// the whole contact.
func (c *content) id() string {
	if c.part == whole {
		return c.a.ID.String()
	}
	return c.a.ID.String() + "." + strconv.Itoa(c.part)
}

func (c *content) text() string {
	if c.part == whole {
		return strings.Join(c.a.Messages, "\n")
	}
	if c.part >= len(c.a.Messages) {
		return ""
	}
	return c.a.Messages[c.part]
}

// left returns how many whole units are left until the contact's window closes, 1 to
// those of a day.
func (c *content) left(unit time.Duration) int {
	const day = 24 * time.Hour
	d := day
	if !c.a.NotAfter.IsZero() {
		d = min(day, c.a.NotAfter.Sub(c.now))
	}
	return max(1, int(d/unit))
}
