package web_test

import (
	"errors"
	"strings"
	"testing"

	"weir/web"
	"weir/web/webtest"
)

// Scenario 194: an application at a URL that Weir must not call is rejected
// when it is set, and the error names the field.
func TestOutbound_ForbiddenApplicationIsRefusedWhenSet(t *testing.T) {
	t.Parallel()
	r := webtest.New(t, func(o *web.Options) {
		o.MayCall = func(url string) error {
			if strings.Contains(url, "10.0.0.1") {
				return errors.New("the address is not public")
			}
			return nil
		}
	})
	for url, want := range map[string]bool{"https://10.0.0.1/x": false, "https://app.example/x": true} {
		g := r.Do("PUT", "/v1/surveys/s", webtest.Survey(`"application":{"url":"`+url+`"},`))
		if said := strings.Contains(g.Body, `"/application/url"`); said == want {
			t.Errorf("%s: %d %s", url, g.Status, g.Body)
		}
	}
}
