package dashboard

import (
	"net/http"
	"slices"
	"sync"

	"weir/docs"
	"weir/web/dashboard/help"
	"weir/web/dashboard/page"
)

const helpPath = "/help"

// helpDocuments are the documents that explain pages, rendered when the first is asked for.
type helpDocuments func() ([]*help.Document, error)

// helpPages returns the pages of the documents, which are for everybody who is logged in.
func helpPages(prefix string) []*page.Page {
	all := helpDocuments(sync.OnceValues(func() ([]*help.Document, error) { return renderHelp(prefix) }))
	return []*page.Page{
		{Name: "help", Path: helpPath, Load: all.loadList},
		{Name: "help_document", Path: helpPath + "/{document}", Load: all.load},
	}
}

func renderHelp(prefix string) ([]*help.Document, error) {
	return help.Render(docs.Files(), docs.Order(), prefix+helpPath)
}

func (d helpDocuments) loadList(v *page.Visit) (*page.Content, error) {
	title := v.T("Help")
	all, err := d()
	return &page.Content{Title: title, Crumbs: []page.Crumb{{Text: title}}, Data: all}, err
}

func (d helpDocuments) load(v *page.Visit) (*page.Content, error) {
	all, err := d()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(d *help.Document) bool { return d.Name == v.Request.PathValue("document") })
	if i < 0 {
		return nil, &page.Problem{Status: http.StatusNotFound, Detail: v.T("There is no such document.")}
	}
	return &page.Content{Title: all[i].Title, Crumbs: []page.Crumb{{Text: v.T("Help"), Link: helpPath}, {Text: all[i].Title}}, Data: all[i]}, nil
}

// helpOf returns the path of the section that explains the page of a path; empty: there is none.
func helpOf(path string) string {
	if to := helpTargets()[path]; to != "" {
		return helpPath + "/" + to
	}
	return ""
}

// helpTargets returns, for each page by its path, which section of which document explains it: NAME or NAME#ANCHOR. Pages that need no
// explanation are there without one, so that a new page is not forgotten.
func helpTargets() map[string]string {
	return map[string]string{
		"/": "operations#look-and-act", "/search": "operations#look-and-act", "/audit": "access#the-audit-log", "/kept": "", "/help": "", "/help/{document}": "",

		"/channels/{name}": "operations#why-something-waits", "/channels/_new": "providers#in-the-browser", "/channels/{name}/edit": "providers#in-the-browser",
		"/channels/{name}/setup": "providers#callbacks-and-signatures",

		"/contacts": "contacts#in-the-browser", "/contacts/{id}": "contacts#states", "/contacts/_new": "contacts#in-the-browser", "/contacts/_import": "contacts#files", "/contacts/_import/send": "contacts#files", "/contacts/_import/progress": "contacts#files",
		"/dead-letters": "operations#dead-letters", "/dead-letters/list": "operations#dead-letters",

		"/people": "consent#in-the-dashboard", "/people/record": "consent#in-the-dashboard", "/people/undecided": "consent#what-may-be-a-refusal",
		"/people/cancel": "consent#everything-about-one-person", "/people/remove": "consent#erase-a-person", "/people/erase": "consent#erase-a-person", "/people/export": "consent#everything-about-one-person",

		"/purposes": "limits#rules", "/purposes/_new": "limits#in-the-dashboard", "/purposes/{name}": "limits#rules", "/purposes/{name}/edit": "limits#in-the-dashboard",
		"/limits": "limits#limits-that-channels-share", "/limits/_new": "limits#limits-that-channels-share", "/limits/{name}": "limits#limits-that-channels-share", "/limits/{name}/edit": "limits#limits-that-channels-share",
		"/spending": "limits#money", "/prices/{channel}/edit": "limits#money",

		"/surveys": "surveys#your-first-survey", "/surveys/_calendar": "surveys#in-the-browser", "/surveys/_new": "surveys#in-the-browser", "/surveys/_new/json": "surveys#the-definition",
		"/surveys/{name}": "surveys#states", "/surveys/{name}/edit": "surveys#in-the-browser", "/surveys/{name}/edit/json": "surveys#the-definition", "/surveys/{name}/definition": "surveys#the-definition",
		"/surveys/{name}/import": "surveys#importing", "/surveys/{name}/import/send": "surveys#importing", "/surveys/{name}/import/progress": "surveys#importing", "/surveys/{name}/questions": "questions", "/surveys/{name}/pilot": "surveys#a-pilot", "/surveys/{name}/answers": "surveys#following", "/surveys/{name}/answers/{question}": "surveys#following",
		"/surveys/{name}/respondents": "surveys#a-respondents-life", "/surveys/{name}/respondents/{id}": "surveys#a-respondents-life",
		"/surveys/{name}/respondents/{id}/edit": "surveys#correcting-stopping-and-removing-respondents", "/surveys/{name}/log": "surveys#following",

		"/router": "workers", "/router/workers": "workers#what-a-worker-sees", "/router/workers/{id}": "workers#what-a-worker-sees", "/router/board": "workers#a-desk-in-the-browser",
		"/router/desk": "workers#a-desk-in-the-browser", "/router/desk/{worker}": "workers#a-desk-in-the-browser", "/router/jobs": "workers#what-the-states-mean", "/router/jobs/{id}": "workers#what-the-states-mean",
		"/router/queues": "acd-and-fifo#settings-beyond-azures", "/router/queues/{id}": "acd-and-fifo#settings-beyond-azures", "/router/policies": "acd-and-fifo#settings-beyond-azures",

		"/webhooks": "webhooks", "/webhooks/{id}": "webhooks#when-your-program-fails", "/tokens": "access#scopes",
	}
}
