package router

import "strings"

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
	out := actionMembers()
	for _, res := range resources() {
		for f := range res.spec.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if res.patchChecker(version2024).Has(name) {
				out[res.path] = append(out[res.path], name)
			}
		}
	}
	return out
}
