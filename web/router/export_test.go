package router

import (
	"maps"
	"slices"
)

// ReserializeForm is reserializeForm, for fuzzing.
func ReserializeForm(query string) string { return reserializeForm(query) }

// ParseAuthorization is parseAuthorization, for fuzzing.
func ParseAuthorization(header string) (dateHeader string, signature []byte, err error) {
	a, err := newSignatures(nil).parseAuthorization([]string{header})
	return a.dateHeader, a.signature[:], err
}

// IsCanonicalForm is isCanonicalForm, for fuzzing.
func IsCanonicalForm(query string) bool { return isCanonicalForm(query) }

// Kinds returns the names of the resources in paths.
func Kinds() (names []string) {
	for _, res := range resources() {
		names = append(names, res.path)
	}
	return names
}

// Routes lists the method and the path of every route, with * for an id.
func Routes() (list []string) {
	for path, methods := range newRoutes(&Options{}) {
		for method := range methods {
			list = append(list, method+" "+prefix+path)
		}
	}
	return list
}

// Members lists the members that a client may state, of each resource and of the bodies of
// actions.
func Members() map[string][]string {
	out := map[string][]string{}
	for _, res := range resources() {
		for name, form := range resourceShapes(version2024)[res.kind] {
			if form != nil {
				out[res.path] = append(out[res.path], name)
			}
		}
	}
	for action, shape := range actionShapes() {
		out[action] = slices.Collect(maps.Keys(shape))
	}
	return out
}
