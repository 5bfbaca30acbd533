package dashboard

import (
	"slices"

	"weir/operators"
)

// allLimitPages returns the pages of limits, of prices and of what was spent.
func allLimitPages() []*page { return slices.Concat(limitPages(), moneyPages()) }

// limitPages returns the pages of shared limits. They are not in the navigation: the overview and
// the pages of channels link to them.
func limitPages() []*page {
	const one = limitsPath + "/{name}"
	admins := []operators.Scope{operators.ScopeChannelsAdmin}
	return []*page{
		{name: "limits", path: limitsPath, scopes: readers(), whole: true, load: loadLimits, live: []string{"list"}},
		{name: "document_form", path: newLimitPath, scopes: admins, whole: true, load: newLimit, posted: createLimit},
		{
			name: "limit", path: one, scopes: readers(), whole: true, load: loadLimit, live: []string{"use"},
			actions: []action{{path: one + "/delete", scopes: admins, ask: askDeleteLimit, run: deleteLimit}},
		},
		{name: "document_form", path: one + "/edit", scopes: admins, whole: true, load: editLimit, posted: changeLimit},
	}
}

// moneyPages returns the pages of what was spent and of prices. The page of shared limits links to
// them.
func moneyPages() []*page {
	const one = pricesPath + "/{channel}"
	admins := []operators.Scope{operators.ScopeChannelsAdmin}
	return []*page{
		{name: "spending", path: spendingPath, scopes: readers(), load: loadSpending},
		{
			name: "document_form", path: one + "/edit", scopes: admins, load: editPrice, posted: changePrice,
			actions: []action{{path: one + "/delete", scopes: admins, ask: askDeletePrice, run: deletePrice}},
		},
	}
}
