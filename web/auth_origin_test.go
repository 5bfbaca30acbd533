package web_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"weir/web"
	"weir/web/auth"
	"weir/web/webtest"
)

// While no token is needed, a cross-origin page that is open on this machine
// must not use everyone's rights: a form can send a POST without a body to any
// site.
func TestAuthOrigin_OtherSitesCannotActWhileNoTokenIsNeeded(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		header []string
		want   int
	}{
		{"a form of another site", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		{"a form of a site beside", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"an old browser", []string{"Origin", "https://evil.example"}, 403},
		{"a page without an origin", []string{"Origin", "null"}, 403},
		{"a page of ours", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://example.com"}, 200},
		{"a program", nil, 200},
	} {
		r := webtest.New(t, func(o *web.Options) { o.Gate = auth.NewGate(auth.GateOptions{}) })
		if g := r.Do("PUT", "/v1/surveys/s", webtest.Survey("")); g.Status != 201 {
			t.Fatal(g.Body)
		}
		send := func(method, path string) webtest.Got {
			req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(""))
			for i := 0; i < len(x.header); i += 2 {
				req.Header.Set(x.header[i], x.header[i+1])
			}
			return r.Serve(req)
		}
		if g := send("POST", "/v1/surveys/s:stop"); (g.Status == 403) != (x.want == 403) {
			t.Errorf("%s stops a survey: %d %s", x.name, g.Status, g.Body)
		}
		if g := send("GET", "/v1/surveys/s"); g.Status != 200 {
			t.Errorf("%s looks: %d %s", x.name, g.Status, g.Body)
		}
	}
}
