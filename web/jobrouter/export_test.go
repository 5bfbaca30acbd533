package jobrouter

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

// Undescribed returns the routes that have no summary, or two rows in the table.
func Undescribed() (list []string) {
	known := map[string]bool{}
	for _, r := range (&service{}).table() {
		name := r.method + " " + r.path
		if r.summary == "" || known[name] {
			list = append(list, name)
		}
		known[name] = true
	}
	return list
}
