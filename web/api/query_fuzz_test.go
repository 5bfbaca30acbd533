package api_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"weir/web"
	"weir/web/webtest"
)

// FuzzQuery: every list answers every query with a page, or with errors that
// name its parameters; the cursor of a page is accepted.
func FuzzQuery(f *testing.F) {
	lists := []string{"/v1/channels", "/v1/surveys", "/v1/contacts", "/v1/events", "/v1/channels/texts/incoming", "/v1/surveys/s/respondents", "/v1/surveys/s/log"}
	for i, q := range []string{"", "cursor=zzz", "cursor=Y2hhbm5lbHMvYQ&limit=1", "limit=0", "state=queued,done&cursor=%ff", "since=9999-12-31T23:59:59-23:59", "channel=a&channel=b", "a;b", "limit=1&outcome=lost", "cursor=9223372036854775808"} {
		f.Add(uint8(i), q)
	}
	r := webtest.New(f, func(o *web.Options) { o.Logger = slog.New(slog.DiscardHandler); o.Events = &noEvents{} })
	r.Channel("texts", "texts")
	f.Fuzz(func(t *testing.T, list uint8, query string) {
		path := lists[int(list)%len(lists)]
		r.T = t
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		req.URL = &url.URL{Path: path, RawQuery: query}
		req.Header.Set("Authorization", "Bearer "+webtest.APICanary)
		g := r.Serve(req)
		switch g.Status {
		case http.StatusOK, http.StatusNotFound:
		case http.StatusUnprocessableEntity:
			if len(g.Problem(t).Errors) == 0 {
				t.Errorf("%s?%s: refused without a reason: %s", path, query, g.Body)
			}
		default:
			t.Errorf("%s?%s: %d %s", path, query, g.Status, g.Body)
		}
	})
}
