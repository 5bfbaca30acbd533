package web_test

import (
	"strings"
	"testing"

	"weir/web"
	"weir/web/api"
)

// A proxy in front of the router learns which process serves it; the rest of
// the API works in every process.
func TestScenario149_ReadinessByPart(t *testing.T) {
	t.Parallel()
	phase := ""
	r := newRig(t, func(o *web.Options) { o.Router = func() string { return phase } })
	for now, want := range map[string]int{"serving": 200, "replaying": 503, "stopping": 503} {
		phase = now
		if v := into[api.Readiness](t, r.do("GET", "/readyz", ""), 200); !v.Ready || v.Router != now {
			t.Errorf("%s: %+v", now, v)
		}
		v := into[api.Readiness](t, r.do("GET", "/readyz/router", ""), want)
		if v.Ready != (want == 200) || v.Router != now || !v.Ready && !strings.Contains(v.Reasons[0], now) {
			t.Errorf("%s: %+v", now, v)
		}
	}
	r.down = errDown
	phase = "serving"
	if v := into[api.Readiness](t, r.do("GET", "/readyz/router", ""), 503); v.Ready {
		t.Errorf("%+v", v)
	}
}
