package api_test

import (
	"net/http"
	"testing"

	"weir/web"
	"weir/web/webtest"
)

func TestContactSearch_ByNumberNeedsPII(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	tokens := webtest.NewBearers(t, clock.Now)
	r := webtest.New(t, func(o *web.Options) { o.Gate, o.Now = tokens.Gate, clock.Now })
	for _, tc := range []struct {
		token, body string
		status      int
	}{
		{tokens.Text["contacts:read"], `{"to":"+15550001"}`, http.StatusForbidden},
		{tokens.Text["pii:read"], `{"to":"+15550001"}`, http.StatusForbidden}, // both scopes are needed
		{webtest.APICanary, `{"to":"+15550001"}`, http.StatusOK},
		{webtest.APICanary, `{"to":"+ 1 (555) 00-01","channel":"none"}`, http.StatusNotFound},
		{webtest.APICanary, `{"to":"+ 1"}`, http.StatusUnprocessableEntity},
		{webtest.APICanary, `{"to":"ann"}`, http.StatusUnprocessableEntity},
		{webtest.APICanary, `{}`, http.StatusUnprocessableEntity},
	} {
		if got := r.As("POST", "/v1/contacts:search", tc.body, tc.token); got.Status != tc.status {
			t.Errorf("%s: %d %s, want %d", tc.body, got.Status, got.Body, tc.status)
		}
	}
	for query, status := range map[string]int{
		"order=newest": 200, "order=oldest": 200, "order=new": 422, "finished_since=2026-01-01T00:00:00Z": 200, "finished_since=soon": 422,
		"finished_until=2026-01-01T00:00:00Z&state=queued": 422, "finished_until=2026-01-01T00:00:00Z&state=queued,done": 200,
	} {
		if got := r.As("GET", "/v1/contacts?"+query, "", webtest.APICanary); got.Status != status {
			t.Errorf("%s: %d, want %d", query, got.Status, status)
		}
	}
}
