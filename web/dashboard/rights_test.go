package dashboard

import (
	"net/http/httptest"
	"strings"
	"testing"

	"weir/operators"
)

// A page about one channel or survey is for tokens whose scopes reach its name, whatever the parameter of its path is called.
func TestNeed_PagesAboutANameAskForItsReach(t *testing.T) {
	t.Parallel()
	scopes := operators.Scopes()
	var limited []operators.Scope
	for _, scope := range operators.LimitableScopes() {
		limited = append(limited, scope.Limit("north-"))
	}
	north := &caller{held: operators.RightsOf(limited)}
	mayOpen := func(p *page, name string) bool {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		for part := range strings.SplitSeq(p.path, "/") {
			if strings.HasPrefix(part, "{") {
				r.SetPathValue(strings.Trim(part, "{}"), name)
			}
		}
		return p.need(scopes).about(north, r)
	}
	checked := 0
	for _, p := range pages("") {
		kind, parameter := p.subject()
		if parameter == "" || kind != "channels" && kind != "prices" && kind != "surveys" {
			continue
		}
		checked++
		renamed := *p
		renamed.path = strings.Replace(p.path, "{"+parameter+"}", "{other}", 1)
		for _, one := range []*page{p, &renamed} {
			if mayOpen(one, "south-1") || !mayOpen(one, "north-1") {
				t.Errorf("%s: south %v, north %v", one.path, mayOpen(one, "south-1"), mayOpen(one, "north-1"))
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d pages were checked", checked)
	}
}
