package dashboard

import (
	"slices"

	"weir/operators"
)

// allPeoplePages returns the pages of people, their consents and purposes.
func allPeoplePages() []*page {
	return slices.Concat(peoplePages(), personPages(), purposePages())
}

// peoplePages returns the page of people under two paths, because recording needs another scope than
// searching. The API also requires pii:read for a search.
func peoplePages() []*page {
	readers, admins := []operators.Scope{operators.ScopePeopleAdmin, operators.ScopeContactsRead}, []operators.Scope{operators.ScopePeopleAdmin}
	return []*page{
		{name: "people", path: peoplePath, nav: "People", scopes: readers, load: loadPeople, posted: searchPerson},
		{name: "people", path: recordPath, scopes: admins, load: loadPeople, posted: recordConsent},
		{name: "undecided", path: undecidedPath, scopes: admins, load: loadUndecided, posted: decideUndecided},
	}
}

// purposePages returns the pages of purposes. Whoever queues contacts or runs surveys chooses
// among purposes, and can read their rules.
func purposePages() []*page {
	const one = purposesPath + "/{name}"
	readers := []operators.Scope{operators.ScopePeopleAdmin, operators.ScopeContactsRead, operators.ScopeContactsWrite, operators.ScopeSurveysAdmin}
	admins := []operators.Scope{operators.ScopePeopleAdmin}
	return []*page{
		{name: "purposes", path: purposesPath, nav: "Purposes", scopes: readers, load: loadPurposes},
		{name: "purpose_form", path: newPurposePath, scopes: admins, load: newPurpose, posted: createPurpose},
		{
			name: "purpose", path: one, scopes: readers, load: loadPurpose,
			actions: []action{{path: one + "/delete", scopes: admins, ask: askDeletePurpose, run: deletePurpose}},
		},
		{name: "purpose_form", path: one + "/edit", scopes: admins, load: editPurpose, posted: changePurpose},
	}
}
