package web_test

import (
	"net/http"
	"strings"
	"testing"

	"weir"
	"weir/web/webtest"
)

// A document that is to be created replaces none, and that there is one is told beside all else that is wrong.
func TestCreate_ReplacesNothing(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("texts", "texts")
	r.Channel("calls", "calls")
	for name, x := range dryDocuments() {
		if x.method != http.MethodPut || name == "price" { // a price is that of its channel
			continue
		}
		if got := r.Do("PUT", x.path+"?create=true&dry_run=true", x.right); got.Status != 204 {
			t.Errorf("%s, a dry run of a new one: %d %s", name, got.Status, got.Body)
		}
		if got := r.Do("PUT", x.path+"?create=true", x.right); got.Status != 201 {
			t.Fatalf("%s, a new one: %d %s", name, got.Status, got.Body)
		}
		before := r.Do("GET", x.path, "").Body
		for _, query := range []string{"?create=true", "?create=true&dry_run=true"} {
			if p := r.Do("PUT", x.path+query, x.other).Problem(t); p.Code != weir.CodeConflict || len(p.Errors) != 1 || p.Errors[0].Code != "conflict" {
				t.Errorf("%s%s, there is one: %+v", name, query, p)
			}
			wrong, both := r.Do("PUT", x.path, x.wrong), r.Do("PUT", x.path+query, x.wrong)
			if both.Status != 422 || strings.Count(both.Body, `"pointer"`) != strings.Count(wrong.Body, `"pointer"`)+1 || !strings.Contains(both.Body, "of this name already") {
				t.Errorf("%s%s, there is one, and it is wrong: %d %s", name, query, both.Status, both.Body)
			}
		}
		if after := r.Do("GET", x.path, "").Body; after != before {
			t.Errorf("%s: it was %s\nit is %s", name, before, after)
		}
		if got := r.Do("PUT", x.path, x.other); got.Status != 200 {
			t.Errorf("%s, without create: %d %s", name, got.Status, got.Body)
		}
	}
}
