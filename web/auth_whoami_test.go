package web_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/ops"
	"weir/web"
)

func TestWhoami(t *testing.T) {
	t.Parallel()
	clock := &clock{now: start}
	b := newBearers(t, clock.Now)
	r := newRig(t, func(o *web.Options) { o.Gate, o.Now = b.gate, clock.Now })
	who := into[web.WhoView](t, r.as("GET", "/v1/whoami", "", b.text["router"]), 200)
	id, _ := ops.TokenID(b.text["router"])
	if d := cmp.Diff(web.WhoView{Token: id, Name: "router", Scopes: []ops.Scope{ops.ScopeRouter}}, who); d != "" {
		t.Error(d)
	}
	who = into[web.WhoView](t, r.as("GET", "/v1/whoami", "", b.text["configured"]), 200)
	if d := cmp.Diff(web.WhoView{Token: "configured-1", Scopes: ops.Scopes()}, who); d != "" {
		t.Error(d)
	}

	open := newRig(t, func(o *web.Options) { o.Gate = web.NewGate(web.GateOptions{}) })
	who = into[web.WhoView](t, open.as("GET", "/v1/whoami", "", ""), 200)
	if d := cmp.Diff(web.WhoView{Open: true, Scopes: ops.Scopes()}, who); d != "" {
		t.Errorf("without any token: %s", d)
	}
}
