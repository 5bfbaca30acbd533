package web

import (
	"math"
	"net/http"
	"strings"

	"weir"
	"weir/surveys"
	"weir/surveys/respondents"
)

func (s *service) surveyRoutes() []*route {
	view := typeOf[SurveyView]()
	put := &route{
		method: "PUT", path: surveyPath, id: "put-survey", tag: "surveys",
		summary: "Create a survey, or replace one that is a draft",
		description: "The name in the path is 1 to 63 characters of a-z, 0-9, dot, underscore and hyphen, and begins with a letter or digit. " +
			"A replacement carries the whole survey, the application's secret included; its respondents stay.",
		body: typeOf[SurveyBody](), bodyTypes: []string{jsonType}, bodyLimit: mostBody, example: surveyExample(), handle: s.putSurvey,
		answers: []answer{{http.StatusOK, "replaced", view}, {http.StatusCreated, "created", view}},
		codes:   []weir.Code{weir.CodeConflict},
	}
	routes := []*route{
		{
			method: "GET", path: "/v1/surveys", id: "list-surveys", tag: "surveys",
			summary: "List surveys by name",
			query: append([]parameter{{name: "state", kind: "string", enum: surveyStateWords(), description: "one or more states, joined by commas"}},
				paging(50, 100)...),
			handle:  s.listSurveys,
			answers: []answer{{http.StatusOK, "one page", typeOf[SurveyList]()}},
		},
		put,
		{
			method: "GET", path: surveyPath, id: "get-survey", tag: "surveys",
			summary: "A survey with its definition", handle: s.getSurvey,
			answers: []answer{{http.StatusOK, "the survey", view}},
			codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			method: "PATCH", path: surveyPath, id: "patch-survey", tag: "surveys",
			summary: "Change some of a survey",
			description: "A JSON merge patch (RFC 7396). A draft may change wholly. While a survey is running or paused, the arms, the questionnaires, the region, the channels of modes and what the quotas speak of stay; " +
				"409 names what cannot change. Of a survey that is stopping or done, the title and the application may change.",
			query: []parameter{{name: "version", kind: "integer", minimum: 1, maximum: math.MaxInt64, description: "change it only if this is still its version"}},
			body:  typeOf[SurveyPatch](), bodyTypes: []string{jsonType, mergePatchType}, bodyLimit: mostBody, lenient: true,
			example: map[string]any{"cutoff": 500, "modes": map[string]any{"ivr": map[string]any{"retries": "30m 4h"}}},
			handle:  func(c *call) (reply, error) { return s.patchSurvey(c, put.check) },
			answers: []answer{{http.StatusOK, "changed", view}},
			codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
		{
			method: "DELETE", path: surveyPath, id: "delete-survey", tag: "surveys",
			summary:     "Delete a survey with its respondents and its log",
			description: "Only of a survey that is a draft or done: stop it first. Its name is free at once.",
			handle:      s.deleteSurvey,
			answers:     []answer{{http.StatusNoContent, "deleted", nil}},
			codes:       []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
		{
			method: "GET", path: surveyPath + "/stats", id: "get-survey-stats", tag: "surveys",
			summary: "How far a survey has come", handle: s.surveyStats,
			answers: []answer{{http.StatusOK, "its figures", typeOf[StatsView]()}},
			codes:   []weir.Code{weir.CodeNotFound},
		},
		s.logRoute(),
	}
	routes = append(routes, s.stepRoutes()...)
	return append(append(routes, s.respondentRoutes()...), s.exportRoutes()...)
}

func (s *service) stepRoutes() []*route {
	var routes []*route
	for _, x := range []struct {
		step          surveys.Step
		summary, more string
	}{
		{surveys.Launch, "Begin with a draft", "Refused, with what is wrong, if its windows have all passed, if the content speaks of an attribute that a respondent lacks, and (409) if one of its channels cannot be prepared. Quotas on an attribute that no respondent has yet are counted once an answer sets it; without an application the answer warns of them."},
		{surveys.Pause, "Start nobody and retry nobody", "What is out goes on, and answers are taken."},
		{surveys.Resume, "Go on with a paused survey", ""},
		{surveys.Stop, "End a survey", "Its respondents are canceled and what is queued is withdrawn; then it is done."},
	} {
		routes = append(routes, &route{
			method: "POST", path: surveyPath + ":" + string(x.step), id: string(x.step) + "-survey", tag: "surveys",
			summary: x.summary, description: strings.TrimSpace(x.more + " Asking twice changes nothing."), handle: s.takeStep(x.step), repeatable: true,
			answers: []answer{{http.StatusOK, "the survey", typeOf[SurveyView]()}},
			codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		})
	}
	return routes
}

func (s *service) respondentRoutes() []*route {
	const all, one = surveyPath + "/respondents", surveyPath + "/respondents/{id}"
	post := &route{
		method: "POST", path: all, id: "post-respondents", tag: "respondents",
		summary: "Add respondents",
		description: "As JSON: 1 to 1000, all or none. As text/csv (the first line names the columns, one of them phone) or application/x-ndjson (one flat object a line): a file of any length, read row by row. " +
			"Numbers are normalised to E.164; one that the survey has is a duplicate. Respondents of a survey that was launched must have what its content speaks of. Numbers that another import has, which is not over or being taken back, are a conflict. Of a file every bad row is reported with its line. " +
			"A file that breaks off leaves nothing with on_error=none, and with skip the rows up to last_line of the answer. " +
			"The connection is closed when no row has come for 30 seconds. Bounds: 64 kB a line, 100 attributes of 500 characters a row, a million bad rows.",
		query: []parameter{
			{name: "on_error", kind: "string", enum: []string{"none", "skip"}, single: true, fallback: "none", description: "of a file: load nothing if a row is bad, or skip bad rows"},
			{name: "duplicates", kind: "string", enum: []string{"skip", "error"}, single: true, fallback: "skip", description: "pass over rows whose number the survey has, or take them for bad ones"},
			{name: "encoding", kind: "string", enum: respondents.Encodings(), single: true, description: "of a file; absent: the charset of the content type, else UTF-16 if the file begins with its mark, else UTF-8"},
		},
		body: typeOf[RespondentsBody](), bodyTypes: []string{jsonType}, bodyLimit: mostContactsBody, uploads: []string{csvType, ndjsonType},
		example: map[string]any{"respondents": []any{map[string]any{"phone": "+525512345678", "attributes": map[string]any{"first_name": "Ana", "age": 34}}}},
		answers: []answer{{http.StatusOK, "what came of them", typeOf[ImportView]()}},
		refusal: typeOf[ImportProblem](),
		codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
	}
	post.serve = func(c *call, w http.ResponseWriter) error { return s.postRespondents(c, w, post) }
	view := typeOf[RespondentView]()
	return []*route{
		post,
		{
			method: "GET", path: all, id: "list-respondents", tag: "respondents",
			summary:     "List respondents by id",
			description: "A page may be short, or empty, and yet not be the last: that one has no next_cursor.",
			query: append([]parameter{
				{name: "status", kind: "string", enum: statusWords(), description: "one or more, joined by commas"},
				{name: "disposition", kind: "string", enum: dispositionWords(), description: "one or more, joined by commas"},
				{name: "phone", kind: "string", description: "a number, as in an import"},
			}, paging(100, 1000)...),
			handle:  s.listRespondents,
			answers: []answer{{http.StatusOK, "one page", typeOf[RespondentList]()}},
			codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			method: "GET", path: one, id: "get-respondent", tag: "respondents",
			summary: "A respondent", handle: s.getRespondent,
			answers: []answer{{http.StatusOK, "the respondent", view}},
			codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			method: "POST", path: one + "/disposition", id: "post-disposition", tag: "respondents",
			summary: "Report how the conversation with a respondent goes",
			description: "By the application that holds it. All of it is durable when the answer comes. A disposition that is reported twice, or late, changes nothing; " +
				"one that cannot follow, or that comes after the end, is a conflict. If the answers put the respondent into a quota that is full, the answer says `rejected` and `messages_withheld`: only the survey's `quota_message` is sent.",
			body: typeOf[HearingBody](), bodyTypes: []string{jsonType}, bodyLimit: mostBody,
			example: map[string]any{"disposition": "completed", "answers": map[string]any{"q1": "yes"}, "messages": []any{"Thank you!"}, "key": "r2s-thanks"},
			handle:  s.postDisposition,
			answers: []answer{{http.StatusOK, "the respondent as it is now", typeOf[HeardView]()}},
			codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

func (s *service) exportRoutes() []*route {
	const help = "A connection that breaks off before the end means that the file is not whole. " +
		"A text that a spreadsheet would take for a formula has an apostrophe in front; numbers with a sign, like those of phones, have none."
	return []*route{
		{
			method: "GET", path: surveyPath + "/results.csv", id: "get-results", tag: "surveys",
			summary: "A row for each respondent",
			description: "Columns that every survey has, then the attributes in order (up to 100; one with the name of another column is attributes.name), " +
				"then other_attributes with the rest as JSON. " + help,
			query:    []parameter{{name: "status", kind: "string", enum: statusWords(), description: "one or more, joined by commas"}},
			download: csvType, serve: s.results,
			answers: []answer{{http.StatusOK, "the file", nil}},
			codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			method: "GET", path: surveyPath + "/log.csv", id: "get-survey-log", tag: "surveys",
			summary: "What happened in a survey, oldest first", description: help,
			query:    []parameter{{name: "after", kind: "integer", maximum: math.MaxInt64, fallback: int64(0), description: "only entries with a greater id"}},
			download: csvType, serve: s.surveyLog,
			answers: []answer{{http.StatusOK, "the file", nil}},
			codes:   []weir.Code{weir.CodeNotFound},
		},
	}
}

func surveyExample() any {
	return map[string]any{
		"title":          "Vaccination, spring",
		"schedule":       map[string]any{"time_zone": "America/Mexico_City", "weekdays": []any{"mon", "tue", "wed"}, "windows": []any{map[string]any{"from": "09:00", "to": "18:00"}}},
		"modes":          map[string]any{"ivr": map[string]any{"channel": "calls", "retries": "10m 2h 1d"}, "sms": map[string]any{"channel": "texts"}},
		"arms":           []any{map[string]any{"modes": []any{"ivr", "sms"}}},
		"questionnaires": map[string]any{"main": map[string]any{"ivr": []any{map[string]any{"call": map[string]any{"callback_url": "https://interviews.example.org/ivr/{{token}}"}}}, "sms": []any{map[string]any{"messages": []any{"Hello {{first_name}}, may we ask you something?"}}}}},
		"quotas":         []any{map[string]any{"where": map[string]any{"region": map[string]any{"in": []any{"north"}}}, "quota": 200}},
		"application":    map[string]any{"url": "https://interviews.example.org/weir", "secret": "…"},
	}
}
