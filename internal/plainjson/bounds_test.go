package plainjson

import (
	"strings"
	"testing"
)

func TestBounds_RefuseTooManyValues(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want bool
	}{
		"most containers":      {"[" + strings.Repeat("{},", MaxContainers-2) + "{}]", false},
		"a container more":     {"[" + strings.Repeat("{},", MaxContainers-1) + "{}]", true},
		"most values":          {"[" + strings.Repeat("1,", MaxValues-1) + "1]", false},
		"a value more":         {"[" + strings.Repeat("1,", MaxValues) + "1]", true},
		"brackets in a text":   {`"` + strings.Repeat(`[{,\"`, MaxValues) + `"`, false},
		"a text without end":   {strings.Repeat("[", MaxContainers) + `"` + strings.Repeat("[", 99) + `\`, false},
		"brackets behind text": {`["\\",` + strings.Repeat("[", MaxContainers), true},
	} {
		if got := TooMany([]byte(tc.text)); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
