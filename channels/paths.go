package channels

import (
	"slices"
	"strings"
)

// CallbackPath returns the spelling in which a path was declared: people type addresses, so
// slashes around a path and capitals do not matter. ok is false if the type has no such path.
func (t *Type) CallbackPath(path string) (_ string, ok bool) {
	given := strings.Split(strings.Trim(path, "/"), "/")
	for _, p := range t.Callbacks {
		declared := strings.Split(p.Path, "/")
		same := func(s, d string) bool { return strings.EqualFold(s, d) || d[0] == '{' && s != "" }
		if !slices.EqualFunc(given, declared, same) {
			continue
		}
		for i, d := range declared {
			if d[0] == '{' {
				declared[i] = given[i]
			}
		}
		return strings.Join(declared, "/"), true
	}
	return path, false
}

// CallbackPaths lists the paths of callbacks, for people.
func (t *Type) CallbackPaths() string {
	var list []string
	for _, p := range t.Callbacks {
		list = append(list, "/"+p.Path)
	}
	return strings.Join(list, ", ")
}
