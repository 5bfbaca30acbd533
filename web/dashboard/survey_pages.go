package dashboard

import (
	"html/template"

	"weir/operators"
	"weir/surveys"
	"weir/web/dashboard/locale"
)

// surveyPages returns the pages of surveys and their respondents.
func surveyPages(cards *cache[[]surveyCard], sender *fileSender) []*page {
	const one = "/surveys/{name}"
	reader, admin := surveyReaders(), []operators.Scope{operators.ScopeSurveysAdmin}
	known := &knownOfSurveys{cards, newCache[*courseData](chartsLife), newCache[*surveyPlan](chartsLife), newCache[respondentHistory](chartsLife), newCache[[]skippedRow](chartsLife)}
	return append([]*page{
		{name: "surveys", path: "/surveys", nav: "Surveys", scopes: reader, load: known.loadSurveys, live: []string{"list"}},
		{name: "survey_calendar", path: surveyCalendarPath, scopes: reader, load: known.loadSurveyCalendar, live: []string{"plan"}},
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
			name: "survey", path: one, scopes: reader, load: known.loadSurvey, live: []string{"state", "figures", "brake", "skipped", "people", "course", "calendar", "recent"},
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
			name: "survey_respondent", path: one + "/respondents/{id}", scopes: reader, load: known.loadRespondent, live: []string{"respondent"},
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
	}, sender.pages(one+"/import", admin, newRespondentFile)...)
}

// knownOfSurveys is what was read for a page of a survey a moment ago.
type knownOfSurveys struct {
	cards     *cache[[]surveyCard] // with the overview
	courses   *cache[*courseData]
	plans     *cache[*surveyPlan]
	histories *cache[respondentHistory]
	skipped   *cache[[]skippedRow]
}

func newSurveyCards() *cache[[]surveyCard] { return newCache[[]surveyCard](chartsLife) }

// surveyFunctions are what templates call to show surveys.
func surveyFunctions(l *locale.Locale) template.FuncMap {
	return template.FuncMap{
		"cause": func(c surveys.Cause) string { return causeText(l, c) }, "logevent": func(event string) string { return logEventText(l, event) }, "shownstatus": shownStatus,
	}
}
