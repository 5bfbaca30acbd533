package limits_test

import (
	"strings"
	"testing"

	"weir/web/webtest"
)

// What is wrong with a limit is reported together, once for each field.
func TestLimits_EveryMistakeAtOnce(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	for body, pointers := range map[string][]string{
		`{"title":7,"channels":["none",8,"none"],"in_flight":0,"per_second":"many"}`: {"/name", "/title", "/channels/0", "/channels/1", "/channels/2", "/in_flight", "/per_second"},
		`{"title":"a"}`: {"/name", "/channels", ""},
	} {
		g := r.Do("PUT", "/v1/limits/No!", body)
		if g.Status != 422 {
			t.Fatalf("%d %s", g.Status, g.Body)
		}
		for _, pointer := range pointers {
			if n := strings.Count(g.Body, `"pointer":"`+pointer+`"`); n != 1 {
				t.Errorf("%q is named %d times: %s", pointer, n, g.Body)
			}
		}
		if n := strings.Count(g.Body, `"pointer"`); n != len(pointers) || len(r.Limits()) > 0 {
			t.Errorf("%d mistakes: %s", n, g.Body)
		}
	}
}
