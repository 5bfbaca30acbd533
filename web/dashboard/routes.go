package dashboard

import (
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"weir/api"
	"weir/operators"
	"weir/router/label"
	"weir/surveys"
	"weir/web/auth"

	"weir/web/dashboard/locale"
)

// New returns a dashboard. Templates and catalogs are read when they are first used; that all are
// valid is for the tests to say.
func New(o Options) (*Dashboard, error) {
	d := &Dashboard{
		Options: o, streams: auth.NewConcurrencyLimit(auth.MaxStreams, auth.MaxStreamsPerToken),
		fragmentCache: newCache[[]fragment](fragmentLife), recentCache: newCache[*recent](chartsLife),
		respondentCache: newCache[respondentHistory](chartsLife),
		uploads:         auth.NewConcurrencyLimit(maxUploads, maxUploads/2),
		chartCache:      newCache[*charts](chartsLife), skippedCache: newCache[[]skippedRow](chartsLife), surveyCache: newCache[[]surveyCard](chartsLife),
		courseCache: newCache[*courseData](chartsLife), hoursCache: newCache[*hoursData](hoursLife), planCache: newCache[*surveyPlan](chartsLife),
		origins: http.NewCrossOriginProtection(), routes: map[string]http.Handler{}, locales: locale.New(), templates: map[string]pageTemplates{},
	}
	d.names = &nameLogins{o.Names, o.Sessions, o.GroupsWithScopes, o.Record, o.Logger}
	d.documents, d.helpTargets = sync.OnceValues(d.renderHelp), helpTargets()
	var err error
	if d.files, err = readFiles(); err != nil {
		return nil, err
	}
	for _, l := range d.locales.List() {
		if d.templates[l.Code], err = newTemplates(l); err != nil {
			return nil, err
		}
	}
	return d, d.route()
}

// functions returns the functions that templates can call, beside those of [display.Functions].
func functions(l *locale.Locale) template.FuncMap {
	return template.FuncMap{
		"labels": func(l label.Set) []fact { return factsOf(l, labelText) }, "labelLine": labelLine, "selector": selectorText, "event": func(what string) string { return timelineText(l, what) }, "sentence": sentence, "reason": l.Reason, "waits": func(limit int, c api.ContactView) template.HTML { return whyContact(l, limit, &c) }, "cause": func(c surveys.Cause) string { return causeText(l, c) }, "logevent": func(event string) string { return logEventText(l, event) }, "shownstatus": shownStatus,
	}
}

// pages returns all pages, in the order of the navigation.
func pages() []*page {
	return slices.Concat(
		[]*page{{name: "overview", path: "/", nav: "Overview", load: loadOverview, live: []string{"summary", "recent", "channels", "surveys", "wallboard", "processes"}}, channelPage()},
		channelFormPages(),
		contactPages(), peoplePages(), personPages(), purposePages(), limitPages(), moneyPages(), surveyPages(), routerPages(), webhookPages(), tokenPages(),
		[]*page{{name: "audit", path: "/audit", nav: "Audit", scopes: []operators.Scope{operators.ScopeChannelsAdmin}, whole: true, load: loadAudit, live: []string{"entries"}, files: map[string]handler{"/audit/export.csv": exportAudit}}},
		filePages(importPath, []operators.Scope{operators.ScopeContactsWrite}, newContactFile),
		filePages("/surveys/{name}/import", []operators.Scope{operators.ScopeSurveysAdmin}, newRespondentFile),
		[]*page{{name: "search", path: searchPath, load: loadSearch, posted: search}, {name: "kept", path: keptPath, load: loadKept}},
		helpPages(),
	)
}

func channelPage() *page {
	const one = "/channels/{name}"
	admins := []operators.Scope{operators.ScopeChannelsAdmin}
	return &page{
		name: "channel", path: one, scopes: readers(), load: loadChannel, live: []string{"state", "figures", "brake", "limits", "skipped", "charts", "hours", "contacts"},
		actions: []action{
			{path: one + "/pause", scopes: admins, run: pauseChannel(true), ask: askChannel(asking{
				title: "Pause channel %s", button: "Pause", text: "No new contacts are dispatched until the channel is resumed. Contacts in flight continue, and contacts can still be queued.",
			}, nil)},
			{path: one + "/resume", scopes: admins, run: pauseChannel(false), ask: askChannel(asking{
				title: "Resume channel %s", button: "Resume", text: "Queued contacts are dispatched at once, as many as there are free slots.",
			}, nil)},
			{path: one + "/capacity", scopes: admins, run: setCapacity, ask: askChannel(asking{
				title: "Change capacity of channel %s", button: "Change",
				text: "The maximum number of slots in flight. If it is lowered, no new contacts are dispatched until the slots in flight are below it.",
			}, addCapacity)},
			{path: one + "/delete", scopes: admins, run: deleteChannel, ask: askChannel(asking{
				title: "Delete channel %s", button: "Delete", danger: true, text: "This cannot be undone. Finished contacts stay readable until their retention ends.",
			}, addOpenContacts)},
		},
	}
}

// channelFormPages returns the pages that create and edit channels.
func channelFormPages() []*page {
	const one = "/channels/{name}"
	admins := []operators.Scope{operators.ScopeChannelsAdmin}
	return []*page{
		{name: "channel_form", path: newChannelPath, scopes: admins, load: newChannel, posted: createChannel},
		{name: "channel_form", path: one + "/edit", scopes: admins, load: editChannel, posted: changeChannel},
		{name: "channel_setup", path: one + "/setup", scopes: admins, load: loadChannelSetup},
	}
}

func contactPages() []*page {
	const one = "/contacts/{id}"
	reader, writer := []operators.Scope{operators.ScopeContactsRead}, []operators.Scope{operators.ScopeContactsWrite}
	return []*page{
		{
			name: "contacts", path: "/contacts", nav: "Contacts", scopes: reader, load: loadContacts, live: []string{"list"}, posted: searchNumber,
			actions: []action{{path: cancelContactsPath, scopes: writer, ask: askCancelContacts, run: cancelContacts}},
			files:   map[string]handler{"/contacts/_export.csv": exportContacts},
		},
		{
			name: "contact_new", path: newContactPath, scopes: writer, load: loadNewContact, posted: sendContact,
			files: map[string]handler{"/channels/{name}/contact": tryChannel},
		},
		{
			name: "contact", path: one, scopes: reader, load: loadContact, live: []string{"contact"},
			actions: []action{{path: one + "/cancel", scopes: writer, ask: askCancel, run: cancelContact}},
		},
		{
			name: "dead", path: deadLettersPath, nav: "Dead letters", scopes: reader, load: loadDeadGroups, live: []string{"groups"},
			files: map[string]handler{deadLettersPath + "/export.csv": exportDeadLetters},
			actions: []action{
				{path: deadLettersPath + "/requeue", scopes: writer, ask: askRequeue, run: bulkDeadLetters("requeue", "%d dead letters are requeued.")},
				{path: deadLettersPath + "/discard", scopes: writer, ask: askDiscard, run: bulkDeadLetters("discard", "%d dead letters are discarded.")},
			},
		},
		{name: "dead_list", path: deadLettersPath + "/list", scopes: reader, load: loadDeadList},
	}
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

func surveyPages() []*page {
	const one = "/surveys/{name}"
	reader, admin := surveyReaders(), []operators.Scope{operators.ScopeSurveysAdmin}
	return []*page{
		{name: "surveys", path: "/surveys", nav: "Surveys", scopes: reader, load: loadSurveys, live: []string{"list"}},
		{name: "survey_calendar", path: surveyCalendarPath, scopes: reader, load: loadSurveyCalendar, live: []string{"plan"}},
		{name: "survey_form", path: newSurveyPath, scopes: admin, load: newSurvey, posted: createSurvey, room: maxDefinition},
		{name: "survey_json", path: newSurveyPath + "/json", scopes: admin, load: newDocument, posted: createDocument, room: maxDefinition},
		{name: "survey_form", path: one + "/edit", scopes: admin, load: editSurvey, posted: changeSurvey, room: maxDefinition},
		{name: "survey_json", path: one + "/edit/json", scopes: admin, load: editDocument, posted: changeDocument, room: maxDefinition},
		{name: "survey_questions", path: one + "/questions", scopes: admin, load: loadQuestions, posted: changeQuestions, room: maxQuestionnaireForm},
		{name: "survey_pilot", path: one + "/pilot", scopes: reader, load: loadPilot, posted: beginPilot, live: []string{"pilot"}},
		{name: "survey_answers", path: one + "/answers", scopes: reader, load: loadAnswers, live: []string{"answers"}},
		{name: "survey_texts", path: one + "/answers/{question}", scopes: reader, load: loadTexts},
		{
			name: "survey_definition", path: one + "/definition", scopes: reader, load: loadDefinition, files: map[string]handler{one + "/definition.json": definitionFile},
			actions: []action{{path: one + "/clone", scopes: admin, ask: askClone, run: cloneSurvey}},
		},
		{
			name: "survey", path: one, scopes: reader, load: loadSurvey, live: []string{"state", "figures", "brake", "skipped", "people", "course", "calendar", "recent"},
			actions: []action{
				{path: one + "/launch", scopes: admin, ask: askLaunch, run: surveyStep(surveys.Launch, "Survey %s is launched.")},
				{path: one + "/pause", scopes: admin, run: surveyStep(surveys.Pause, "Survey %s is paused."), ask: askSurvey(asking{
					title: "Pause survey %s", button: "Pause", text: "No respondents are started or retried until the survey is resumed. Queued contacts are canceled; contacts in flight continue, and answers are recorded.",
				}, statusCount{"Active now", []surveys.Status{surveys.Active}})},
				{path: one + "/resume", scopes: admin, run: surveyStep(surveys.Resume, "Survey %s is resumed."), ask: askSurvey(asking{
					title: "Resume survey %s", button: "Resume", text: "The survey continues where it stopped, as soon as a window is open.",
				}, statusCount{"Not started yet", []surveys.Status{surveys.Pending}}, statusCount{"Active", []surveys.Status{surveys.Active}})},
				{path: one + "/lock", scopes: admin, run: surveyStep(surveys.Lock, "Survey %s is locked."), ask: askSurvey(asking{
					title: "Lock survey %s", button: "Lock", text: "The survey cannot be paused, stopped, changed or deleted until it is unlocked. It ends by itself all the same.",
				})},
				{path: one + "/unlock", scopes: admin, run: surveyStep(surveys.Unlock, "Survey %s is unlocked."), ask: askSurvey(asking{
					title: "Unlock survey %s", button: "Unlock", text: "The survey can be paused, stopped, changed and deleted again.",
				})},
				{path: one + "/stop", scopes: admin, run: surveyStep(surveys.Stop, "Survey %s is stopping."), ask: askSurvey(asking{
					title: "Stop survey %s", button: "Stop", danger: true,
					text: "This cannot be undone. Queued contacts are canceled, providers are asked to cancel contacts in flight, and respondents who are not done end as canceled. Results are kept.",
				}, statusCount{"Will be canceled", []surveys.Status{surveys.Active, surveys.Pending}}, statusCount{"Being contacted now", []surveys.Status{surveys.Active}})},
				{path: one + "/delete", scopes: admin, run: deleteSurvey, ask: askSurvey(asking{
					title: "Delete survey %s", button: "Delete", danger: true, text: "This cannot be undone. Its respondents, their answers, its log and its pilots are deleted. Its name is free at once.",
				}, statusCount{"Completed", []surveys.Status{surveys.Completed}})},
			},
			files: surveyFiles(one, "results.csv", "results.xlsx", "codebook.csv", "log.csv", "dispositions.csv", "incentives.csv"),
		},
		{name: "survey_respondents", path: one + "/respondents", scopes: reader, load: loadRespondents, posted: searchRespondent},
		{
			name: "survey_respondent", path: one + "/respondents/{id}", scopes: reader, load: loadRespondent, live: []string{"respondent"},
			actions: []action{
				{path: one + "/respondents/{id}/stop", scopes: admin, run: stopRespondent, ask: askRespondent(asking{
					title: "Stop respondent %[1]s of %[2]s", button: "Stop", danger: true, text: "This cannot be undone. A queued contact is canceled, the provider is asked to cancel one in flight, and the respondent ends as canceled.",
				})},
				{path: one + "/respondents/{id}/remove", scopes: admin, run: removeRespondent, ask: askRespondent(asking{
					title: "Remove respondent %[1]s of %[2]s", button: "Remove", danger: true, text: "This cannot be undone. The number and the attributes are deleted; attempts stay in the figures and, under the id, in the log.",
				})},
			},
		},
		{name: "respondent_form", path: one + "/respondents/{id}/edit", scopes: admin, load: editRespondent, posted: changeRespondent, room: maxRespondentForm},
		{name: "survey_log", path: one + "/log", scopes: reader, load: loadSurveyLog},
	}
}

// routerPages returns the pages of the router, whose API also requires pii:read.
func routerPages() []*page {
	const worker, job = "/router/workers/{id}", "/router/jobs/{id}"
	const held = job + "/assignments/{assignment}"
	users := []operators.Scope{operators.ScopeRouter}
	return append([]*page{
		{name: "router", path: "/router", nav: "Router", scopes: users, load: loadRouter, live: []string{"board", "queues"}},
		{name: "router_workers", path: "/router/workers", scopes: users, load: loadWorkers, live: []string{"workers"}},
		{name: "router_queues", path: "/router/queues", scopes: users, load: loadQueues, live: []string{"queues"}},
		{name: "router_jobs", path: "/router/jobs", scopes: users, load: loadJobs, live: []string{"jobs"}},
		{name: "router_policies", path: "/router/policies", scopes: users, load: loadPolicies},
		{
			name: "router_worker", path: worker, scopes: users, load: loadWorker, live: []string{"worker"},
			actions: []action{
				{path: worker + "/on", scopes: users, ask: askAvailable(true), run: setAvailable(true)},
				{path: worker + "/off", scopes: users, ask: askAvailable(false), run: setAvailable(false)},
			},
		},
		{name: "router_queue", path: "/router/queues/{id}", scopes: users, load: loadQueue, live: []string{"queue"}},
		{
			name: "router_job", path: job, scopes: users, load: loadJob, live: []string{"job"},
			actions: []action{
				{path: job + "/cancel", scopes: users, ask: askCancelJob, run: cancelJob},
				{path: held + "/complete", scopes: users, ask: askAssignment(1, "Complete", "Complete job %s", "The worker has done the job. Close the job to release the worker's capacity."), run: endAssignment("complete", "Job %s is completed.")},
				{path: held + "/close", scopes: users, ask: askAssignment(2, "Close", "Close job %s", "The job ends, and the worker's capacity is released."), run: endAssignment("close", "Job %s is closed.")},
				{path: held + "/unassign", scopes: users, ask: askAssignment(0, "Unassign", "Unassign job %s", "The job returns to its queue and is offered again. The worker's capacity is released at once."), run: endAssignment("unassign", "Job %s is back in its queue.")},
			},
		},
	}, deskPages()...)
}

// deskPages returns the pages for workers themselves, and the board of all of them.
func deskPages() []*page {
	const one = deskPath + "/{worker}"
	const me, offer, held = deskPath + "/{id}", one + "/offers/{offer}", one + "/jobs/{id}/assignments/{assignment}"
	users := []operators.Scope{operators.ScopeRouter}
	return []*page{
		{name: "router_board", path: "/router/board", scopes: users, load: loadStaffBoard, live: []string{"staff", "queues"}},
		{name: "router_desks", path: deskPath, scopes: users, load: loadDesks, posted: chooseDesk},
		{
			name: "router_desk", path: one, scopes: users, load: loadDesk, live: []string{"desk"},
			actions: []action{
				{path: me + "/on", scopes: users, ask: atDesk("id", askAvailable(true)), run: setAvailableAtDesk(true)},
				{path: me + "/off", scopes: users, ask: atDesk("id", askAvailable(false)), run: setAvailableAtDesk(false)},
				{path: offer + "/accept", scopes: users, ask: atDesk("worker", askOffer("Accept", "Accept job %s", "The job is yours until you close it.")), run: answerOffer("accept", "Job %s is yours.")},
				{path: offer + "/decline", scopes: users, ask: atDesk("worker", askOffer("Decline", "Decline job %s", "The job is offered to others.")), run: answerOffer("decline", "Job %s is declined.")},
				{path: held + "/complete", scopes: users, ask: atDesk("worker", askAssignment(1, "Complete", "Complete job %s", "The work is done. The job stays on your desk until you close it.")), run: completeAtDesk},
				{path: held + "/close", scopes: users, ask: atDesk("worker", askClose), run: closeAtDesk},
			},
		},
	}
}

func webhookPages() []*page {
	const one = webhooksPath + "/{id}"
	admins := []operators.Scope{operators.ScopeWebhooksAdmin}
	return []*page{
		{name: "webhooks", path: webhooksPath, nav: "Webhooks", scopes: admins, load: loadWebhooks, live: []string{"list"}},
		{
			name: "webhook", path: one, scopes: admins, load: loadWebhook, live: []string{"state", "deliveries"},
			actions: []action{
				{path: one + "/pause", scopes: admins, ask: askWebhook("Pause", "Pause webhook %s", "No events are sent until it is resumed. They wait in the log, as long as that keeps them."), run: enableWebhook(false)},
				{path: one + "/resume", scopes: admins, ask: askWebhook("Resume", "Resume webhook %s", "It goes on where it stopped."), run: enableWebhook(true)},
				{path: one + "/test", scopes: admins, ask: askWebhook("Test", "Test webhook %s", "A test event is sent at once, and once."), run: testWebhook},
				{path: one + "/replay", scopes: admins, ask: askReplay, run: replayWebhook},
				{path: one + "/delete", scopes: admins, ask: askDeleteWebhook, run: deleteWebhook},
			},
		},
	}
}

func tokenPages() []*page {
	admins := []operators.Scope{operators.ScopeTokensAdmin}
	return []*page{{
		name: "tokens", path: tokensPath, nav: "Tokens", scopes: admins, load: loadTokens, posted: createToken,
		actions: []action{{path: tokensPath + "/{id}/revoke", scopes: admins, ask: askRevoke, run: revokeToken}},
	}}
}

// route fills the table of patterns.
func (d *Dashboard) route() error {
	for _, p := range pages() {
		if d.templates["en"][p.name] == nil {
			return fmt.Errorf("dashboard: page %s has no template", p.name)
		}
		if p.nav != "" {
			d.nav = append(d.nav, navItem{text: p.nav, path: p.path, scopes: p.scopes, whole: p.whole})
		}
		d.routes["GET "+exact(p.path)] = d.withSession(p.need(p.scopes), d.page(p))
		if len(p.live) > 0 {
			d.routes["GET /live"+exact(p.path)] = d.withSession(p.need(p.scopes), d.stream(p))
		}
		if p.posted != nil || p.uploaded != nil {
			d.routes["POST "+exact(p.path)] = d.withSession(p.need(p.scopes), d.serveForm(p))
		}
		if p.sent != nil {
			d.routes["POST "+exact(p.path)] = d.withSession(p.need(p.scopes), p.sent)
		}
		for i := range p.actions {
			a := &p.actions[i]
			d.routes["GET "+a.path] = d.withSession(p.need(a.scopes), d.ask(a))
			d.routes["POST "+a.path] = d.withSession(p.need(a.scopes), d.act(a))
		}
		for path, serve := range p.files {
			d.routes["GET "+path] = d.withSession(p.need(p.scopes), serve)
		}
	}
	d.routes["GET /login"] = d.withoutSession(d.loginPage)
	d.routes["POST /login"] = d.withoutSession(d.login)
	d.routes["GET "+namePath] = d.withoutSession(d.names.start)
	d.routes["GET "+namePath+"/callback"] = d.withoutSession(d.names.finish)
	d.routes["POST /logout"] = d.withoutSession(d.logout)
	d.routes["POST /theme"] = d.withoutSession(d.changeTheme)
	d.routes["POST /language"] = d.withoutSession(d.changeLanguage)
	d.routes["GET /assets/{file}"] = http.HandlerFunc(d.files.serve)
	return nil
}

// exact keeps the pattern of a path that ends in a slash from matching everything
// below it.
func exact(path string) string {
	if strings.HasSuffix(path, "/") {
		return path + "{$}"
	}
	return path
}

// Routes returns the patterns and handlers of everything that the dashboard serves.
func (d *Dashboard) Routes() map[string]http.Handler { return d.routes }

// withoutSession serves requests that need no session.
func (d *Dashboard) withoutSession(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecurityHeaders(w.Header())
		v := &visit{&caller{Locale: d.localeOf(r), api: d.API, browser: r, id: w.Header().Get(requestID)}, d, r}
		err := d.origins.Check(r)
		if err == nil {
			err = h(v, w)
		} else { // a page of another site made the browser send it
			err = &problem{Status: http.StatusForbidden, words: "requests from pages of other sites are rejected"}
		}
		if err != nil {
			d.writeError(v, w, err)
		}
	})
}

// need is what a page, or an action of it, requires of a token.
type need struct {
	oneOf []operators.Scope // nil: any token
	about func(*caller, *http.Request) bool
}

// need returns what the page requires of a token, with the scopes of the page or of an action: that the token has one of them for
// the channel or the survey of the path.
func (p *page) need(oneOf []operators.Scope) need {
	n := need{oneOf, func(c *caller, _ *http.Request) bool { return c.May(oneOf...) }}
	may := map[string]func(c *caller, name string) bool{
		"channels": func(c *caller, name string) bool { return c.MayChannel(name, oneOf...) },
		"prices":   func(c *caller, name string) bool { return c.MayChannel(name, oneOf...) },
		"surveys":  func(c *caller, name string) bool { return c.MaySurvey(name, oneOf...) },
	}
	kind, parameter := p.subject()
	switch {
	case p.whole:
		n.about = func(c *caller, _ *http.Request) bool { return c.MayAll(oneOf...) }
	case parameter != "" && may[kind] != nil:
		n.about = func(c *caller, r *http.Request) bool { return may[kind](c, r.PathValue(parameter)) }
	}
	return n
}

// subject returns the kind of what the page is about, and the parameter of its path that names it; empty: it is about nothing of a
// name. What the parameter is called says nothing, so that no page loses its check by another word.
func (p *page) subject() (kind, parameter string) {
	parts := strings.Split(p.path, "/")
	if len(parts) < 3 || !strings.HasPrefix(parts[2], "{") {
		return parts[1], ""
	}
	return parts[1], strings.Trim(parts[2], "{}")
}

// check returns the error of a token that does not suffice.
func (n need) check(v *visit) error {
	if n.about(v.caller, v.r) {
		return nil
	}
	detail := v.T("this page requires a token with the scope %s", v.scopeWords(n.oneOf))
	if limit := v.Limit(n.oneOf...); limit != "" {
		detail = v.T("this page requires a token with the scope %[1]s; yours is limited to names that begin with %[2]s", v.scopeWords(n.oneOf), limit)
	}
	return &problem{Status: http.StatusForbidden, Detail: detail}
}

// withSession requires a session whose token suffices. The API checks again.
func (d *Dashboard) withSession(needed need, h handler) http.Handler {
	return d.withoutSession(func(v *visit, w http.ResponseWriter) error {
		v.readSession()
		if err := v.readIdentity(); err != nil {
			return err
		}
		if err := needed.check(v); err != nil {
			return err
		}
		return h(v, w)
	})
}

// writeError writes an error response.
func (d *Dashboard) writeError(v *visit, w http.ResponseWriter, err error) {
	status, p := statusOf(err)
	if status == http.StatusUnauthorized {
		d.toLogin(v, w)
		return
	}
	if status == http.StatusInternalServerError {
		d.Logger.LogAttrs(v.r.Context(), slog.LevelError, "dashboard page failed", slog.String("request", v.id), slog.Any("error", err))
	}
	if p.wait != "" {
		w.Header().Set("Retry-After", p.wait)
	}
	title := v.T(titleOf(status))
	c := &content{title: title, crumbs: []crumb{{Text: title}}, data: failure{p.in(v.Locale), v.id}}
	if err := d.render(v, w, status, "error", c); err != nil {
		http.Error(w, title, status)
	}
}

// failure is the data of the error page.
type failure struct {
	Problem *problem
	Request string
}
