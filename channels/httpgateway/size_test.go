package httpgateway

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"weir/channels"
)

// A form repeats a name for each element of its list, and an empty list takes memory, too.
func TestRender_BoundsNamesAndEmptyLists(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	for _, part := range []string{
		`"form": {"` + strings.Repeat("k", 50_000) + `": [1` + strings.Repeat(",1", 3_000) + `]}`,
		`"json": {"each": [[]` + strings.Repeat(",[]", 50_000) + `]}`,
	} {
		tpl := parsed(t, `{"send": {"per": "contact", "url": "https://x.example/", `+part+`}, "answer": [{"status": "2xx", "fate": "completed"}]}`)
		c := content{a: channels.Attempt{Messages: make([]string, 50)}, part: whole}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := tpl.send.render(&c)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 100<<20 || !errors.Is(err, errSize) {
			t.Errorf("%.40s: %d bytes were allocated: %v", part, n, err)
		}
	}
}
