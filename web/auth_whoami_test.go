package web_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/api"
	"weir/operators"
	"weir/web"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/webtest"
)

func TestWhoami_ShowsTheTokenAndItsScopes(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	b := webtest.NewBearers(t, clock.Now)
	r := webtest.New(t, func(o *web.Options) { o.Gate, o.Now = b.Gate, clock.Now })
	who := webtest.Into[api.WhoView](t, r.As("GET", "/v1/whoami", "", b.Text["router"]), 200)
	id, _ := operators.TokenID(b.Text["router"])
	if d := cmp.Diff(api.WhoView{Token: id, Name: "router", Scopes: []string{string(operators.ScopeRouter)}}, who); d != "" {
		t.Error(d)
	}
	who = webtest.Into[api.WhoView](t, r.As("GET", "/v1/whoami", "", b.Text["configured"]), 200)
	if d := cmp.Diff(api.WhoView{Token: "configured-1", Scopes: httpjson.Texts(operators.Scopes())}, who); d != "" {
		t.Error(d)
	}

	open := webtest.New(t, func(o *web.Options) { o.Gate = auth.NewGate(auth.GateOptions{}) })
	who = webtest.Into[api.WhoView](t, open.As("GET", "/v1/whoami", "", ""), 200)
	if d := cmp.Diff(api.WhoView{Open: true, Scopes: httpjson.Texts(operators.Scopes())}, who); d != "" {
		t.Errorf("without any token: %s", d)
	}
}
