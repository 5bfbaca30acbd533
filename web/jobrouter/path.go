package jobrouter

import (
	"net/url"
	"strings"

	"weir"
)

// handle answers an admitted request.
type handle func(*call) (answer, error)

// routes maps a path pattern, with * for an id, and a method to a handler.
type routes map[string]map[string]handle

const prefix = "/routing/"

// find splits the path before unescaping it, because an id may contain an escaped
// slash or colon. The text after the last unescaped colon is an action if such an
// action exists, and otherwise part of the id.
func (t routes) find(c *call) (methods map[string]handle, err error) {
	rest, ok := strings.CutPrefix(c.r.URL.EscapedPath(), prefix)
	if !ok {
		return nil, nothingHere()
	}
	c.ids = c.room[:0]
	var room [80]byte
	route := room[:0]
	for i, more := 0, true; more; i++ {
		var s string
		if s, rest, more = strings.Cut(rest, "/"); i > 3 {
			return nil, nothingHere()
		}
		if i > 0 {
			route = append(route, '/')
		}
		if i%2 == 0 {
			route = append(route, s...)
			continue
		}
		route = append(route, '*')
		if id, name, ok := cutLast(s, ":"); ok && !more {
			with := append(append(route, ':'), name...)
			if _, is := t[string(with)]; is {
				s, route = id, with
			}
		}
		id, err := url.PathUnescape(s)
		if err != nil || id == "" {
			return nil, nothingHere()
		}
		c.ids = append(c.ids, id)
	}
	methods, ok = t[string(route)]
	if !ok {
		return nil, nothingHere()
	}
	return methods, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func nothingHere() error { return weir.Errorf(weir.CodeNotFound, "there is nothing here") }
