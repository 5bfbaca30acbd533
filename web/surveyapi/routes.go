package surveyapi

import (
	"math"
	"net/http"
	"slices"
	"strings"

	"weir"
	"weir/surveys"
	"weir/surveys/respondents"
	"weir/web/route"
	"weir/web/wire"
)

// Routes returns the route table.
func (s *Service) Routes() []*route.Route {
	view := route.TypeOf[SurveyView]()
	put := &route.Route{
		Method: "PUT", Path: Path, ID: "put-survey", Tag: "surveys",
		Summary: "Create a survey, or replace one that is a draft",
		Description: "The name in the path is 1 to 63 characters of a-z, 0-9, dot, underscore and hyphen, and begins with a letter or digit. " +
			"A replacement carries the whole survey, the application's secret included; its respondents stay. " +
			"The read-only fields of a survey in a response (" + strings.Join(readOnlyFields(), ", ") + ") are ignored, so that a survey can be written as it was read.",
		Body: route.TypeOf[SurveyBody](), BodyTypes: []string{wire.JSONType}, BodyLimit: wire.MaxBody, Lenient: true,
		Answers: []route.Answer{{Status: http.StatusOK, Description: "replaced", Body: view}, {Status: http.StatusCreated, Description: "created", Body: view}},
		Codes:   []weir.Code{weir.CodeConflict},
	}
	put.Handle = func(c *route.Call) (route.Reply, error) {
		dropReadOnly(c.Body)
		put.Check.Check(c.Body, "", &c.Errors)
		return s.putSurvey(c)
	}
	routes := []*route.Route{
		{
			Method: "GET", Path: "/v1/surveys", ID: "list-surveys", Tag: "surveys",
			Summary: "List surveys by name",
			Query: append([]wire.Parameter{{Name: "state", Kind: "string", Enum: wire.Words(surveys.States()), Description: "one or more states, joined by commas"}},
				route.Paging(50, 100)...),
			Handle:  s.listSurveys,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[SurveyList]()}},
		},
		put,
		{
			Method: "GET", Path: Path, ID: "get-survey", Tag: "surveys",
			Summary: "A survey with its definition", Handle: s.onSurvey(s.getSurvey),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the survey", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "PATCH", Path: Path, ID: "patch-survey", Tag: "surveys",
			Summary: "Change fields of a survey",
			Description: "A JSON merge patch (RFC 7396). A draft may change wholly. While a survey is running or paused, the arms, the questionnaires, the region, the channels of modes and what the quotas speak of stay; " +
				"409 names what cannot change. Of a survey that is stopping or done, the title and the application may change. A locked survey cannot change.",
			Query: []wire.Parameter{{Name: "version", Kind: "integer", Minimum: 1, Maximum: math.MaxInt64, Description: "change it only if this is still its version"}},
			Body:  route.TypeOf[SurveyPatch](), BodyTypes: []string{wire.JSONType, wire.MergePatchType}, BodyLimit: wire.MaxBody, Lenient: true,
			Handle: s.onSurvey(func(c *route.Call, v surveys.Survey) (route.Reply, error) {
				return s.patchSurvey(c, v, put.Check)
			}),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "changed", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict, weir.CodeLocked},
		},
		{
			Method: "DELETE", Path: Path, ID: "delete-survey", Tag: "surveys",
			Summary:     "Delete a survey with its respondents and its log",
			Description: "Only of a survey that is a draft or done: stop it first. Its name is free at once.",
			Handle:      s.onSurvey(s.deleteSurvey),
			Answers:     []route.Answer{{Status: http.StatusNoContent, Description: "deleted"}},
			Codes:       []weir.Code{weir.CodeNotFound, weir.CodeConflict, weir.CodeLocked},
		},
		{
			Method: "GET", Path: Path + "/stats", ID: "get-survey-stats", Tag: "surveys",
			Summary: "Figures of a survey", Handle: s.onSurvey(s.surveyStats),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "its figures", Body: route.TypeOf[StatsView]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		s.logRoute(),
	}
	routes = append(routes, s.stepRoutes()...)
	return slices.Concat(routes, s.respondentRoutes(), s.correctionRoutes(), s.exportRoutes())
}

// readOnlyFields are the fields that only responses have.
func readOnlyFields() []string {
	return []string{"survey", "state", "cause", "locked", "version", "created_at", "updated_at", "launched_at", "ended_at", "why", "why_code", "warnings"}
}

// dropReadOnly removes the read-only fields of a survey that is written as it was read.
func dropReadOnly(body map[string]any) {
	for _, name := range readOnlyFields() {
		delete(body, name)
	}
	if application, ok := body["application"].(map[string]any); ok {
		delete(application, "has_secret")
	}
}

func (s *Service) stepRoutes() []*route.Route {
	var routes []*route.Route
	for _, x := range []struct {
		step          surveys.Step
		summary, more string
	}{
		{surveys.Launch, "Launch a draft", "Refused, with the reasons, if its windows have all passed, if a respondent is missing a value used in the texts (see `missing`), and (409) if one of its channels cannot be prepared. Quotas on an attribute that no respondent has yet are counted once an answer sets it; without an application the answer warns of them."},
		{surveys.Pause, "Pause a survey", "What is out goes on, and answers are taken."},
		{surveys.Resume, "Resume a paused survey", ""},
		{surveys.Stop, "Stop a survey", "Its respondents are canceled and what is queued is withdrawn; then it is done."},
		{surveys.Lock, "Lock a running survey", "Until it is unlocked, it cannot be paused, stopped, changed or deleted (409, `locked`). It ends by itself all the same, and its respondents can be added, corrected, stopped and removed."},
		{surveys.Unlock, "Unlock a survey", ""},
	} {
		codes := []weir.Code{weir.CodeNotFound, weir.CodeConflict}
		if x.step == surveys.Pause || x.step == surveys.Stop {
			codes = append(codes, weir.CodeLocked)
		}
		routes = append(routes, &route.Route{
			Method: "POST", Path: Path + ":" + string(x.step), ID: string(x.step) + "-survey", Tag: "surveys",
			Summary: x.summary, Description: strings.TrimSpace(x.more + " Asking twice changes nothing."), Handle: s.applyStep(x.step), Repeatable: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the survey", Body: route.TypeOf[SurveyView]()}},
			Codes:   codes,
		})
	}
	routes[0].Query = []wire.Parameter{{
		Name: "missing", Kind: "string", Enum: []string{"refuse", "skip"}, Single: true, Default: "refuse",
		Description: "if respondents are missing a value used in the texts: refuse the launch, or skip them; the warnings of the answer name them, and they fail when it is their turn unless they are corrected before",
	}}
	return routes
}

func (s *Service) respondentRoutes() []*route.Route {
	const all, one = Path + "/respondents", Path + "/respondents/{id}"
	post := &route.Route{
		Method: "POST", Path: all, ID: "post-respondents", Tag: "respondents",
		Summary: "Add respondents",
		Description: "As JSON: 1 to 1000, all or none. As text/csv (the first line names the columns, one of them phone) or application/x-ndjson (one flat object a line): a file of any length, read row by row. " +
			"Numbers are normalised to E.164; one that the survey has is a duplicate. Respondents of a survey that was launched must have every value that its texts use. Numbers of another import that is in progress or being rolled back are a conflict. Of a file the first 1000 bad rows are reported with their lines; the columns weir_line, weir_column and weir_reason, with which weir survey import --errors notes why it writes a row, are ignored. " +
			"A file that breaks off leaves nothing with on_error=none, and with skip the rows up to last_line of the answer. " +
			"The connection is closed when no row has come for 30 seconds. Bounds: 64 kB a line, 100 attributes of 500 characters a row, a million bad rows.",
		Query: []wire.Parameter{
			{Name: "on_error", Kind: "string", Enum: []string{"none", "skip"}, Single: true, Default: "none", Description: "of a file: load nothing if a row is bad, or skip bad rows"},
			{Name: "duplicates", Kind: "string", Enum: []string{"skip", "error", "update"}, Single: true, Default: "skip", Description: "skip rows whose number the survey has, reject them, or update the attributes of the respondent if it was not contacted yet; of a file, update requires on_error=skip"},
			{Name: "encoding", Kind: "string", Enum: respondents.Encodings(), Single: true, Description: "of a file; absent: the charset of the content type, else UTF-16 if the file begins with its mark, else UTF-8"},
		},
		Body: route.TypeOf[RespondentsBody](), BodyTypes: []string{wire.JSONType}, BodyLimit: wire.MaxBatchBody, Uploads: []string{CSVType, NDJSONType},
		Answers: []route.Answer{{Status: http.StatusOK, Description: "what came of them", Body: route.TypeOf[ImportView]()}},
		Refusal: route.TypeOf[ImportProblem](),
		Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
	}
	post.Serve = func(c *route.Call, w http.ResponseWriter) error { return s.postRespondents(c, w, post) }
	view := route.TypeOf[RespondentView]()
	return []*route.Route{
		post,
		{
			Method: "GET", Path: all, ID: "list-respondents", Tag: "respondents",
			Summary:     "List respondents by id",
			Description: "A page may be short, or empty, and yet not be the last: that one has no next_cursor.",
			Query:       slices.Concat(respondentFilters(), []wire.Parameter{{Name: "phone", Kind: "string", Description: "a number, as in an import"}}, route.Paging(100, 1000)),
			Handle:      s.onSurvey(s.listRespondents),
			Answers:     []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[RespondentList]()}},
			Codes:       []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: one, ID: "get-respondent", Tag: "respondents",
			Summary: "A respondent", Handle: s.getRespondent,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the respondent", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "POST", Path: one + "/disposition", ID: "post-disposition", Tag: "respondents",
			Summary: "Report the disposition of a respondent",
			Description: "By the application that holds it. All of it is durable when the answer comes. A disposition that is reported twice, or late, changes nothing; " +
				"one that cannot follow, or that comes after the end, is a conflict. If the answers put the respondent into a quota that is full, the answer says `rejected` and `messages_withheld`: only the survey's `quota_message` is sent.",
			Body: route.TypeOf[HearingBody](), BodyTypes: []string{wire.JSONType}, BodyLimit: wire.MaxBody,
			Handle:  s.postDisposition,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the respondent as it is now", Body: route.TypeOf[HeardView]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

// respondentFilters are the parameters that select respondents in lists and results.
func respondentFilters() []wire.Parameter {
	return []wire.Parameter{
		{Name: "status", Kind: "string", Enum: wire.Words(surveys.Statuses()), Description: "one or more, joined by commas"},
		{Name: "disposition", Kind: "string", Enum: wire.Words(surveys.Dispositions()), Description: "one or more, joined by commas"},
		{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): respondents last changed then or later"},
		{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): respondents last changed before"},
	}
}

func (s *Service) exportRoutes() []*route.Route {
	const help = "A connection that breaks off before the end means that the file is not whole. " +
		"A text that a spreadsheet would take for a formula has an apostrophe in front; numbers with a sign, like those of phones, have none."
	return []*route.Route{
		{
			Method: "GET", Path: Path + "/results.csv", ID: "get-results", Tag: "surveys",
			Summary: "Results, one row per respondent",
			Description: "Columns that every survey has, then the attributes in order (up to 100; one with the name of another column is attributes.name), " +
				"then other_attributes with the rest as JSON. " + help,
			Query:    respondentFilters(),
			Download: CSVType, Serve: s.download("results", (*csvDownload).results),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the file"}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: Path + "/log.csv", ID: "get-survey-log", Tag: "surveys",
			Summary: "What happened in a survey, oldest first", Description: help,
			Query:    []wire.Parameter{{Name: "after", Kind: "integer", Maximum: math.MaxInt64, Default: int64(0), Description: "only entries with a greater id"}},
			Download: CSVType, Serve: s.download("log", (*csvDownload).log),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the file"}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
	}
}
