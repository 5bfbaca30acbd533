package web

import (
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// queryValues holds the query parameters of a request that are present or have
// a default: string, int64 or bool, by the parameter's kind.
type queryValues map[string]any

func (q queryValues) text(name string) string { v, _ := q[name].(string); return v }
func (q queryValues) number(name string) int  { v, _ := q[name].(int64); return int(v) }
func (q queryValues) flag(name string) bool   { v, _ := q[name].(bool); return v }

// words splits a comma-separated list.
func (q queryValues) words(name string) []string {
	if q.text(name) == "" {
		return nil
	}
	return strings.Split(q.text(name), ",")
}

// mostParameter is the max length of a query parameter in bytes.
const mostParameter = 512

// nameCursor returns the cursor after the row with this name, in a list sorted
// by name.
func nameCursor(list, name string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(list + "/" + name))
}

// nameAfter returns the name in a cursor that nameCursor made for the list;
// empty if there is no cursor.
func (c *call) nameAfter(list string) (string, error) {
	cursor := c.query.text("cursor")
	if cursor == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	name, ours := strings.CutPrefix(string(text), list+"/")
	if err != nil || !ours || name == "" {
		c.wrong.add("/cursor", "format", "must be the next_cursor of a page before")
	}
	return name, c.refuse()
}

// readQuery parses a query string. Errors point at /name, as if the parameters
// were the members of an object.
func readQuery(known []parameter, raw string, wrong *mistakes) queryValues {
	values, err := url.ParseQuery(raw)
	if err != nil {
		wrong.add("", "format", "the query string is not well-formed")
	}
	out := queryValues{}
	for _, p := range known {
		given, ok := values[p.name]
		delete(values, p.name)
		switch {
		case !ok && p.fallback != nil:
			out[p.name] = p.fallback
		case ok && len(given) > 1:
			wrong.add("/"+p.name, "duplicate", "may be given once")
		case ok:
			out[p.name] = p.read(given[0], wrong)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		wrong.add("/"+token(name), "unknown", "there is no such query parameter")
	}
	return out
}

func (p *parameter) read(s string, wrong *mistakes) any {
	at := "/" + p.name
	switch p.kind {
	case "integer":
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			wrong.add(at, "type", "must be a whole number")
		} else if n < p.minimum || n > p.maximum {
			wrong.add(at, "range", "must be from %d to %d", p.minimum, p.maximum)
		}
		return n
	case "boolean":
		if s != "true" && s != "false" {
			wrong.add(at, "type", "must be true or false")
		}
		return s == "true"
	default:
		if len(s) > mostParameter || !utf8.ValidString(s) {
			wrong.add(at, "length", "must have up to %d bytes of UTF-8", mostParameter)
		}
		p.readWords(s, wrong)
		return s
	}
}

// readWords checks a comma-separated list against the allowed words.
func (p *parameter) readWords(s string, wrong *mistakes) {
	if p.enum == nil || s == "" {
		return
	}
	if p.single {
		if !slices.Contains(p.enum, s) {
			wrong.add("/"+p.name, "enum", "must be one of %s", strings.Join(p.enum, ", "))
		}
		return
	}
	for word := range strings.SplitSeq(s, ",") {
		if !slices.Contains(p.enum, word) {
			wrong.add("/"+p.name, "enum", "must be one or more of %s, joined by commas", strings.Join(p.enum, ", "))
			return
		}
	}
}
