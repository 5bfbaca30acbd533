package web_test

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"weir/web"
	"weir/web/auth"
	"weir/web/webtest"
)

const otherCanary = "CANARY-other-token"

func twoTokens(o *web.Options) {
	o.Gate = auth.NewGate(auth.GateOptions{Configured: []string{webtest.APICanary, otherCanary}})
}

// Scenario 189: imports of one token leave capacity to others.
func TestConcurrency_ImportsOfOneTokenLeaveCapacity(t *testing.T) {
	t.Parallel()
	behind(t, func(t *testing.T, _ *webtest.Rig, dial func() net.Conn) {
		begin := func(token string) net.Conn {
			c := dial()
			t.Cleanup(func() { _ = c.Close() })
			say(t, c, "%s%s", strings.ReplaceAll(importHead(""), webtest.APICanary, token), chunk("phone\n"))
			synctest.Wait()
			return c
		}
		for range 4 {
			begin(webtest.APICanary)
		}
		fifth, other := begin(webtest.APICanary), begin(otherCanary)
		say(t, other, "%s0\r\n\r\n", chunk(webtest.PhoneNumber(1)+"\n"))
		if status, body := answerOf(t, other); status != 200 {
			t.Errorf("the other token: %d %s", status, body)
		}
		if status, body := answerOf(t, fifth); status != 503 || !strings.Contains(body, "4 with one token") {
			t.Errorf("the fifth of one token: %d %s", status, body)
		}
	}, twoTokens)
}

// Scenario 189: streams of one token leave capacity to others.
func TestConcurrency_StreamsOfOneTokenLeaveCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := webtest.EventRig(t, twoTokens)
		f := webtest.NewFollowed(t, r.Handler)
		status := func(token string) int {
			response, _ := f.Open(t.Context(), "?after=0", "Authorization", "Bearer "+token) //nolint:bodyclose // f closes them
			return response.StatusCode
		}
		for range 64 {
			if got := status(webtest.APICanary); got != http.StatusOK {
				t.Fatal(got)
			}
		}
		if one, other := status(webtest.APICanary), status(otherCanary); one != 503 || other != 200 {
			t.Errorf("the same token: %d, another: %d", one, other)
		}
	})
}
