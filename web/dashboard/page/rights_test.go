package page_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"weir/operators"
	"weir/web/dashboard"
	"weir/web/dashboard/page"
)

// A page about one channel or survey is for tokens whose scopes reach its name, whatever the parameter of its path is called.
func TestNeed_PagesAboutANameAskForItsReach(t *testing.T) {
	t.Parallel()
	scopes := operators.Scopes()
	var limited []operators.Scope
	for _, scope := range operators.LimitableScopes() {
		limited = append(limited, scope.Limit("north-"))
	}
	north := operators.RightsOf(limited)
	mayOpen := func(p *page.Page, name string) bool {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		for part := range strings.SplitSeq(p.Path, "/") {
			if strings.HasPrefix(part, "{") {
				r.SetPathValue(strings.Trim(part, "{}"), name)
			}
		}
		return p.Admits(scopes, north, r)
	}
	checked := 0
	site, err := dashboard.New(dashboard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range site.Pages() {
		kind, parameter := p.Subject()
		if parameter == "" || kind != "channels" && kind != "prices" && kind != "surveys" {
			continue
		}
		checked++
		renamed := *p
		renamed.Path = strings.Replace(p.Path, "{"+parameter+"}", "{other}", 1)
		for _, one := range []*page.Page{p, &renamed} {
			if mayOpen(one, "south-1") || !mayOpen(one, "north-1") {
				t.Errorf("%s: south %v, north %v", one.Path, mayOpen(one, "south-1"), mayOpen(one, "north-1"))
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d pages were checked", checked)
	}
}
