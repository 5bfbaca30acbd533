package web_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/operators"
	"weir/web"
	"weir/web/api"
	"weir/web/auth"
)

func TestWhoami_ShowsTheTokenAndItsScopes(t *testing.T) {
	t.Parallel()
	clock := &clock{now: start}
	b := newBearers(t, clock.Now)
	r := newRig(t, func(o *web.Options) { o.Gate, o.Now = b.gate, clock.Now })
	who := into[api.WhoView](t, r.as("GET", "/v1/whoami", "", b.text["router"]), 200)
	id, _ := operators.TokenID(b.text["router"])
	if d := cmp.Diff(api.WhoView{Token: id, Name: "router", Scopes: []operators.Scope{operators.ScopeRouter}}, who); d != "" {
		t.Error(d)
	}
	who = into[api.WhoView](t, r.as("GET", "/v1/whoami", "", b.text["configured"]), 200)
	if d := cmp.Diff(api.WhoView{Token: "configured-1", Scopes: operators.Scopes()}, who); d != "" {
		t.Error(d)
	}

	open := newRig(t, func(o *web.Options) { o.Gate = auth.NewGate(auth.GateOptions{}) })
	who = into[api.WhoView](t, open.as("GET", "/v1/whoami", "", ""), 200)
	if d := cmp.Diff(api.WhoView{Open: true, Scopes: operators.Scopes()}, who); d != "" {
		t.Errorf("without any token: %s", d)
	}
}
