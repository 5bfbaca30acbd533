package surveys

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"weir/internal/validation"
	"weir/surveys/respondents"
)

// Bounds of contents.
const (
	maxMessages = 10
	maxMessage  = 1600     // characters per message
	maxTwiML    = 64 << 10 // bytes
	maxURL      = 8 << 10  // bytes
	maxContents = MaxRetries + 1
)

// text is a template: literal text and {{names}} in turn.
type text []piece

type piece struct {
	literal string
	field   string
}

// parseText parses a template.
func parseText(s string) (text, error) {
	var out text
	for s != "" {
		before, rest, found := strings.Cut(s, "{{")
		if before != "" {
			out = append(out, piece{literal: before})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, errors.New("{{ without }}")
		}
		name = strings.TrimSpace(name)
		switch {
		case !respondents.ValidName(name):
			return nil, fmt.Errorf("{{%s}}: %s", validation.Clip(name), respondents.NameRule)
		case name == respondents.FieldPhone:
			return nil, errors.New("{{phone}} cannot be used; use {{respondent}} to identify the respondent")
		}
		out = append(out, piece{field: name})
		s = after
	}
	return out, nil
}

// resembling matches what other programs write for a field, and a field in other braces.
var resembling = regexp.MustCompile(`[$#%]?[{｛]+\s*\pL[\pL\pN_ .-]*[}｝]+`)

// resembles returns the first part of the template that is text and looks like a field.
func (t text) resembles() string {
	for _, p := range t {
		if found := resembling.FindString(p.literal); found != "" {
			return found
		}
	}
	return ""
}

// fields returns the attributes that the template uses.
func (t text) fields() []string {
	var out []string
	for _, p := range t {
		if p.field != "" && !respondents.BuiltIn(p.field) && p.field != respondents.FieldToken {
			out = append(out, p.field)
		}
	}
	return out
}

// maxFilled is a length in bytes that exceeds the limit of any content; see tooLong.
const maxFilled = 2 * maxTwiML

// fill writes the values into the template, each through escape. It stops once the
// text is too long for any content.
func (t text) fill(values func(string) string, escape func(before, value string) string) string {
	var b strings.Builder
	for _, p := range t {
		if b.Len() > maxFilled {
			break
		}
		if p.field == "" {
			b.WriteString(p.literal)
		} else {
			b.WriteString(escape(b.String(), values(p.field)))
		}
	}
	return b.String()
}

// asIs leaves a value unescaped, for text that a person reads.
func asIs(_, value string) string { return value }

// inURL escapes a value so that it is one segment of a path or one value of a
// query, whatever it contains.
func inURL(before, value string) string {
	if strings.Contains(before, "?") {
		return url.QueryEscape(value)
	}
	return url.PathEscape(value)
}

// inXML escapes a value so that it is text, whatever it contains.
func inXML(_, value string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(value)) // a strings.Builder never fails
	return b.String()
}

// parseURL parses the template of a callback URL. The host has to be literal, because
// respondents must not choose the server that is called. Without {{respondent}} or
// {{token}} the respondent's id becomes a query parameter.
func parseURL(s string) (text, error) {
	t, err := parseText(s)
	if err != nil {
		return nil, err
	}
	wrong := errors.New("must be an http or https URL with a host, without fields up to its path")
	if len(t) == 0 {
		return nil, wrong
	}
	scheme, rest, _ := strings.Cut(t[0].literal, "://")
	u, err := url.Parse(t.fill(func(string) string { return "x" }, inURL))
	if err != nil || u.Host == "" || scheme != "http" && scheme != "https" || len(t) > 1 && !strings.ContainsAny(rest, "/?") {
		return nil, wrong
	}
	if strings.Contains(s, "#") {
		return nil, errors.New("must have no fragment (#)")
	}
	for _, p := range t {
		if p.field == respondents.FieldRespondent || p.field == respondents.FieldToken {
			return t, nil
		}
	}
	join := "?"
	if strings.Contains(s, "?") {
		join = "&"
	}
	return append(t, piece{literal: join + respondents.FieldRespondent + "="}, piece{field: respondents.FieldRespondent}), nil
}
