package web_test

import (
	"net/http"
	"testing"

	"weir/web"
)

func TestContactSearch_ByNumberNeedsPII(t *testing.T) {
	t.Parallel()
	clock := &clock{now: start}
	tokens := newBearers(t, clock.Now)
	r := newRig(t, func(o *web.Options) { o.Gate, o.Now = tokens.gate, clock.Now })
	for _, tc := range []struct {
		token, body string
		status      int
	}{
		{tokens.text["contacts:read"], `{"to":"+15550001"}`, http.StatusForbidden},
		{tokens.text["pii:read"], `{"to":"+15550001"}`, http.StatusForbidden}, // both scopes are needed
		{apiCanary, `{"to":"+15550001"}`, http.StatusOK},
		{apiCanary, `{"to":"+ 1 (555) 00-01","channel":"none"}`, http.StatusNotFound},
		{apiCanary, `{"to":"+ 1"}`, http.StatusUnprocessableEntity},
		{apiCanary, `{"to":"ann"}`, http.StatusUnprocessableEntity},
		{apiCanary, `{}`, http.StatusUnprocessableEntity},
	} {
		if got := r.as("POST", "/v1/contacts:search", tc.body, tc.token); got.status != tc.status {
			t.Errorf("%s: %d %s, want %d", tc.body, got.status, got.body, tc.status)
		}
	}
	for query, status := range map[string]int{
		"order=newest": 200, "order=oldest": 200, "order=new": 422, "finished_since=2026-01-01T00:00:00Z": 200, "finished_since=soon": 422,
		"finished_until=2026-01-01T00:00:00Z&state=queued": 422, "finished_until=2026-01-01T00:00:00Z&state=queued,done": 200,
	} {
		if got := r.as("GET", "/v1/contacts?"+query, "", apiCanary); got.status != status {
			t.Errorf("%s: %d, want %d", query, got.status, status)
		}
	}
}
