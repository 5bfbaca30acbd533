package people

import (
	"slices"

	"weir/operators"
	"weir/web/dashboard/page"
)

// Pages returns the pages of people, their consents and purposes.
func Pages() []*page.Page {
	return slices.Concat(peoplePages(), personPages(), purposePages())
}

// peoplePages returns the page of people under two paths, because recording needs another scope than
// searching. The API also requires pii:read for a search.
func peoplePages() []*page.Page {
	readers, admins := []operators.Scope{operators.ScopePeopleAdmin, operators.ScopeContactsRead}, []operators.Scope{operators.ScopePeopleAdmin}
	return []*page.Page{
		{Name: "people", Path: Path, Nav: "People", Scopes: readers, Load: loadPeople, Posted: searchPerson},
		{Name: "people", Path: recordPath, Scopes: admins, Load: loadPeople, Posted: recordConsent},
		{Name: "undecided", Path: undecidedPath, Scopes: admins, Load: loadUndecided, Posted: decideUndecided},
	}
}

// purposePages returns the pages of purposes. Whoever queues contacts or runs surveys chooses
// among purposes, and can read their rules.
func purposePages() []*page.Page {
	const one = purposesPath + "/{name}"
	readers := []operators.Scope{operators.ScopePeopleAdmin, operators.ScopeContactsRead, operators.ScopeContactsWrite, operators.ScopeSurveysAdmin}
	admins := []operators.Scope{operators.ScopePeopleAdmin}
	return []*page.Page{
		{Name: "purposes", Path: purposesPath, Nav: "Purposes", Scopes: readers, Load: loadPurposes},
		{Name: "document_form", Path: newPurposePath, Scopes: admins, Load: newPurpose, Posted: createPurpose},
		{
			Name: "purpose", Path: one, Scopes: readers, Load: loadPurpose,
			Actions: []page.Action{{Path: one + "/delete", Scopes: admins, Ask: askDeletePurpose, Run: deletePurpose}},
		},
		{Name: "document_form", Path: one + "/edit", Scopes: admins, Load: editPurpose, Posted: changePurpose},
	}
}
