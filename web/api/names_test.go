package api_test

import (
	"strings"
	"testing"

	"weir/web/webtest"
)

// Texts for people appear in tables, logs and terminals: names, titles and descriptions are
// one line, and nothing in them acts on what surrounds them.
func TestNames_TextsForPeopleAreOneVisibleLine(t *testing.T) {
	t.Parallel()
	r, _, _ := hookRig(t)
	r.Channel("texts", "texts")
	const settings = `"type":"texts","settings":{"base_url":"http://p.test","token":"t"}`
	fields := []struct{ method, path, before, field string }{
		{"PUT", "/v1/channels/named", settings + `,`, "name"},
		{"PATCH", "/v1/channels/texts", ``, "name"},
		{"PUT", "/v1/surveys/s", strings.TrimSuffix(strings.TrimPrefix(webtest.Survey(""), "{"), "}") + `,`, "title"},
		{"PATCH", "/v1/surveys/s", ``, "title"},
		{"POST", "/v1/webhooks", `"url":"https://app.example/","types":["weir.survey.state"],`, "description"},
	}
	for _, f := range fields {
		for _, bad := range []string{`\u0000`, `a\nb`, `\u001b[2J`, `\u007f`, `\u009b2J`, `\u2028`, `a\u202egpj.exe`, `\u2066x`} {
			g := r.Do(f.method, f.path, `{`+f.before+`"`+f.field+`":"`+bad+`"}`)
			if list := webtest.MistakesOf(t, g); g.Status != 422 || len(list) != 1 || list[0] != (webtest.Mistake{Pointer: "/" + f.field, Code: "format"}) {
				t.Errorf("%s %s with %s: %d %s", f.method, f.path, bad, g.Status, g.Body)
			}
		}
		// Persian and Arabic need joiners and marks of direction.
		if g := r.Do(f.method, f.path, `{`+f.before+`"`+f.field+`":"می\u200cخواهم \u200f(1)\u00a0– ä 😀"}`); g.Status > 299 {
			t.Errorf("%s %s: %d %s", f.method, f.path, g.Status, g.Body)
		}
	}
}
