package jobrouter

import (
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
	for name := range resources() {
		names = append(names, name)
	}
	return names
}

// Undescribed returns the routes without a row in the description, and the rows
// without a route.
func Undescribed() []string {
	rows := operationDocs()
	var out []string
	for route, methods := range (&service{}).table() {
		for method := range methods {
			if _, ok := rows[method+" "+route]; !ok {
				out = append(out, method+" "+route)
			}
			delete(rows, method+" "+route)
		}
	}
	for row := range rows {
		out = append(out, "no route: "+row)
	}
	slices.Sort(out)
	return out
}
