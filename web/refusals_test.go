package web_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/web"
	"weir/web/auth"
	"weir/web/webtest"
)

// Scenario 188: for a flood of refused requests, the log shows one line per
// second for each kind, with the number of requests that it stands for.
func TestRefusals_OneLogLineASecondForEachKindOfRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := webtest.New(t, func(o *web.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		for i := range 500 {
			r.From("10.0.0.1:1", fmt.Sprintf("guess-%d", i))
		}
		time.Sleep(time.Second)
		r.From("10.0.0.2:1", "guess")
		for kind, want := range map[string]int{"kind=unauthorised": 2, "kind=too_many_requests": 1, "count=20": 1} {
			if got := strings.Count(log.String(), kind); got != want {
				t.Errorf("%d lines with %s, want %d", got, kind, want)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 3 {
			t.Errorf("%d lines:\n%.2000s", n, &log)
		}
	})
}

// A browser without a session is sent to the log-in page; a client without a token is
// warned of.
func TestRefusals_VisitsWithoutSession(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	tokens := webtest.NewBearers(t, time.Now)
	r := webtest.New(t, func(o *web.Options) { o.Gate, o.Logger = tokens.Gate, slog.New(slog.NewTextHandler(&log, nil)) })
	for _, c := range []struct {
		ctx  context.Context
		want int
	}{{auth.WithVisitor(t.Context()), 0}, {t.Context(), 1}} {
		if g := r.Serve(httptest.NewRequestWithContext(c.ctx, "GET", "/v1/channels", nil)); g.Status != 401 {
			t.Errorf("%d %s", g.Status, g.Body)
		}
		if n := strings.Count(log.String(), "refused"); n != c.want {
			t.Errorf("%d lines, want %d:\n%s", n, c.want, &log)
		}
	}
}
