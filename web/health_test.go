package web_test

import (
	"testing"

	"weir/api"
	"weir/web"
	"weir/web/webtest"
)

// The phase of the router is told, and decides nothing: the rest of the API works meanwhile.
// The owner passes both probes.
// Scenario 149.
func TestHealth_RouterThatIsNotReadyStopsNoOtherPart(t *testing.T) {
	t.Parallel()
	phase := ""
	r := webtest.New(t, func(o *web.Options) {
		o.Router = func() string { return phase }
		o.DatabaseServer = func() string { return "db.example:3306" }
	})
	for _, now := range []string{"serving", "replaying", "stopping"} {
		phase = now
		for _, path := range []string{"/readyz", web.OwnerPath} {
			if v := webtest.Into[api.Readiness](t, r.Do("GET", path, ""), 200); !v.Ready || !v.Owner || v.Router != now || v.Database != "db.example:3306" {
				t.Errorf("%s, %s: %+v", path, now, v)
			}
		}
	}
	r.Down = webtest.ErrDown
	if v := webtest.Into[api.Readiness](t, r.Do("GET", web.OwnerPath, ""), 503); v.Ready {
		t.Errorf("%+v", v)
	}
}
