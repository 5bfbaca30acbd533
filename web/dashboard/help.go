package dashboard

import (
	"net/http"
	"slices"

	"weir/docs"
	"weir/web/dashboard/help"
)

const helpPath = "/help"

// helpPages returns the pages of the documents, which are for everybody who is logged in.
func helpPages() []*page {
	return []*page{
		{name: "help", path: helpPath, load: loadHelp},
		{name: "help_document", path: helpPath + "/{document}", load: loadHelpDocument},
	}
}

// renderHelp renders the documents.
func (d *Dashboard) renderHelp() ([]*help.Document, error) {
	return help.Render(docs.Files(), docs.Order(), d.Prefix+helpPath)
}

func loadHelp(v *visit) (*content, error) {
	title := v.T("Help")
	all, err := v.d.documents()
	return &content{title: title, crumbs: []crumb{{Text: title}}, data: all}, err
}

func loadHelpDocument(v *visit) (*content, error) {
	all, err := v.d.documents()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(d *help.Document) bool { return d.Name == v.r.PathValue("document") })
	if i < 0 {
		return nil, &problem{Status: http.StatusNotFound, Detail: v.T("There is no such document.")}
	}
	return &content{title: all[i].Title, crumbs: []crumb{{v.T("Help"), helpPath}, {Text: all[i].Title}}, data: all[i]}, nil
}

// helpAddress returns the address of the section that explains a page; empty: there is none.
func (d *Dashboard) helpAddress(p *page) string {
	if to := d.helpTargets[p.path]; to != "" {
		return d.Prefix + helpPath + "/" + to
	}
	return ""
}

// helpTargets returns, for each page by its path, which section of which document explains it: NAME or NAME#ANCHOR. Pages that need no
// explanation are there without one, so that a new page is not forgotten.
func helpTargets() map[string]string {
	return map[string]string{
		"/": "operations#look-and-act", "/search": "operations#look-and-act", "/audit": "access#the-audit-log", keptPath: "", helpPath: "", helpPath + "/{document}": "",

		"/channels/{name}": "operations#why-something-waits", newChannelPath: "providers#in-the-browser", "/channels/{name}/edit": "providers#in-the-browser",
		"/channels/{name}/setup": "providers#callbacks-and-signatures",

		"/contacts": "contacts#in-the-browser", "/contacts/{id}": "contacts#states", newContactPath: "contacts#in-the-browser", importPath: "contacts#files", importPath + "/send": "contacts#files", importPath + "/progress": "contacts#files",
		deadLettersPath: "operations#dead-letters", deadLettersPath + "/list": "operations#dead-letters",

		peoplePath: "consent#in-the-dashboard", recordPath: "consent#in-the-dashboard", undecidedPath: "consent#what-may-be-a-refusal",
		cancelPath: "consent#everything-about-one-person", removePath: "consent#erase-a-person", erasePath: "consent#erase-a-person", exportPath: "consent#everything-about-one-person",

		purposesPath: "limits#rules", newPurposePath: "limits#in-the-dashboard", purposesPath + "/{name}": "limits#rules", purposesPath + "/{name}/edit": "limits#in-the-dashboard",
		limitsPath: "limits#limits-that-channels-share", newLimitPath: "limits#limits-that-channels-share", limitsPath + "/{name}": "limits#limits-that-channels-share", limitsPath + "/{name}/edit": "limits#limits-that-channels-share",
		spendingPath: "limits#money", pricesPath + "/{channel}/edit": "limits#money",

		"/surveys": "surveys#your-first-survey", surveyCalendarPath: "surveys#in-the-browser", newSurveyPath: "surveys#in-the-browser", newSurveyPath + "/json": "surveys#the-definition",
		"/surveys/{name}": "surveys#states", "/surveys/{name}/edit": "surveys#in-the-browser", "/surveys/{name}/edit/json": "surveys#the-definition", "/surveys/{name}/definition": "surveys#the-definition",
		"/surveys/{name}/import": "surveys#importing", "/surveys/{name}/import/send": "surveys#importing", "/surveys/{name}/import/progress": "surveys#importing", "/surveys/{name}/questions": "questions", "/surveys/{name}/pilot": "surveys#a-pilot", "/surveys/{name}/answers": "surveys#following", "/surveys/{name}/answers/{question}": "surveys#following",
		"/surveys/{name}/respondents": "surveys#a-respondents-life", "/surveys/{name}/respondents/{id}": "surveys#a-respondents-life",
		"/surveys/{name}/respondents/{id}/edit": "surveys#correcting-stopping-and-removing-respondents", "/surveys/{name}/log": "surveys#following",

		"/router": "workers", "/router/workers": "workers#what-a-worker-sees", "/router/workers/{id}": "workers#what-a-worker-sees", "/router/board": "workers#a-desk-in-the-browser",
		deskPath: "workers#a-desk-in-the-browser", deskPath + "/{worker}": "workers#a-desk-in-the-browser", "/router/jobs": "workers#what-the-states-mean", "/router/jobs/{id}": "workers#what-the-states-mean",
		"/router/queues": "acd-and-fifo#settings-beyond-azures", "/router/queues/{id}": "acd-and-fifo#settings-beyond-azures", "/router/policies": "acd-and-fifo#settings-beyond-azures",

		webhooksPath: "webhooks", webhooksPath + "/{id}": "webhooks#when-your-program-fails", tokensPath: "access#scopes",
	}
}
