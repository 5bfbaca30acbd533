package web_test

import (
	"errors"
	"strings"
	"testing"

	"weir/web"
)

// Scenario 194: no cell of a download begins a formula, however its sign is
// disguised.
func TestScenario194_FormulasInDownloads(t *testing.T) {
	t.Parallel()
	for _, cell := range []string{"=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "＝1+1", "＋A1", "－A1", "＠x", "\u200b=1", "\ufeff=1", " =1", "\u00a0＝1", "\u2060\u200d+x", "﹦1", "⁼1", "−A1", "\u00ad@x", "\x00=1", "\n=1"} {
		if got := web.Guarded(cell); got != "'"+cell {
			t.Errorf("%q became %q", cell, got)
		}
	}
	for _, cell := range []string{"", "yes", "+15550001", "-3.5", "a=b", "\u200b", "é", "(=1)"} {
		if got := web.Guarded(cell); got != cell {
			t.Errorf("%q became %q", cell, got)
		}
	}
}

// Scenario 194: an application at a URL that Weir must not call is rejected
// when it is set, and the error names the field.
func TestScenario194_ApplicationThatMustNotBeCalled(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *web.Options) {
		o.MayCall = func(url string) error {
			if strings.Contains(url, "10.0.0.1") {
				return errors.New("the address is not public")
			}
			return nil
		}
	})
	for url, want := range map[string]bool{"https://10.0.0.1/x": false, "https://app.example/x": true} {
		g := r.do("PUT", "/v1/surveys/s", survey(`"application":{"url":"`+url+`"},`))
		if said := strings.Contains(g.body, `"/application/url"`); said == want {
			t.Errorf("%s: %d %s", url, g.status, g.body)
		}
	}
}
