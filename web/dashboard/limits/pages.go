package limits

import (
	"slices"

	"weir/operators"
	"weir/web/dashboard/page"
)

// Pages returns the pages of limits, of prices and of what was spent.
func Pages() []*page.Page { return slices.Concat(limitPages(), moneyPages()) }

// limitPages returns the pages of shared limits. They are not in the navigation: the overview and
// the pages of channels link to them.
func limitPages() []*page.Page {
	const one = limitsPath + "/{name}"
	admins := []operators.Scope{operators.ScopeChannelsAdmin}
	return []*page.Page{
		{Name: "limits", Path: limitsPath, Scopes: page.Readers(), Whole: true, Load: loadLimits, Live: []string{"list"}},
		{Name: "document_form", Path: newLimitPath, Scopes: admins, Whole: true, Load: newLimit, Posted: createLimit},
		{
			Name: "limit", Path: one, Scopes: page.Readers(), Whole: true, Load: loadLimit, Live: []string{"use"},
			Actions: []page.Action{{Path: one + "/delete", Scopes: admins, Ask: askDeleteLimit, Run: deleteLimit}},
		},
		{Name: "document_form", Path: one + "/edit", Scopes: admins, Whole: true, Load: editLimit, Posted: changeLimit},
	}
}

// moneyPages returns the pages of what was spent and of prices. The page of shared limits links to
// them.
func moneyPages() []*page.Page {
	const one = pricesPath + "/{channel}"
	admins := []operators.Scope{operators.ScopeChannelsAdmin}
	return []*page.Page{
		{Name: "spending", Path: spendingPath, Scopes: page.Readers(), Load: loadSpending},
		{
			Name: "document_form", Path: one + "/edit", Scopes: admins, Load: editPrice, Posted: changePrice,
			Actions: []page.Action{{Path: one + "/delete", Scopes: admins, Ask: askDeletePrice, Run: deletePrice}},
		},
	}
}
