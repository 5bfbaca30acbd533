package surveys

import (
	"html/template"

	"weir/operators"
	"weir/surveys"
	"weir/web/dashboard/files"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
	"weir/web/dashboard/why"
)

// Pages returns the pages of surveys and their respondents.
func Pages(cards *page.Cache[[]Card], sender *files.Sender) []*page.Page {
	const one = "/surveys/{name}"
	reader, admin := page.SurveyReaders(), []operators.Scope{operators.ScopeSurveysAdmin}
	known := &knownOfSurveys{cards, page.NewCache[*courseData](page.ChartsLife), page.NewCache[*surveyPlan](page.ChartsLife), page.NewCache[respondentHistory](page.ChartsLife), page.NewCache[[]why.SkippedRow](page.ChartsLife)}
	return append([]*page.Page{
		{Name: "surveys", Path: "/surveys", Nav: "Surveys", Scopes: reader, Load: known.loadSurveys, Live: []string{"list"}},
		{Name: "survey_calendar", Path: surveyCalendarPath, Scopes: reader, Load: known.loadSurveyCalendar, Live: []string{"plan"}},
		{Name: "survey_form", Path: newSurveyPath, Scopes: admin, Load: newSurvey, Posted: createSurvey, Room: maxDefinition},
		{Name: "survey_json", Path: newSurveyPath + "/json", Scopes: admin, Load: newDocument, Posted: createDocument, Room: maxDefinition},
		{Name: "survey_form", Path: one + "/edit", Scopes: admin, Load: editSurvey, Posted: changeSurvey, Room: maxDefinition},
		{Name: "survey_json", Path: one + "/edit/json", Scopes: admin, Load: editDocument, Posted: changeDocument, Room: maxDefinition},
		{Name: "survey_questions", Path: one + "/questions", Scopes: admin, Load: loadQuestions, Posted: changeQuestions, Room: maxQuestionnaireForm},
		{Name: "survey_pilot", Path: one + "/pilot", Scopes: reader, Load: loadPilot, Posted: beginPilot, Live: []string{"pilot"}},
		{Name: "survey_answers", Path: one + "/answers", Scopes: reader, Load: loadAnswers, Live: []string{"answers"}},
		{Name: "survey_texts", Path: one + "/answers/{question}", Scopes: reader, Load: loadTexts},
		{
			Name: "survey_definition", Path: one + "/definition", Scopes: reader, Load: loadDefinition, Files: map[string]page.Handler{one + "/definition.json": definitionFile},
			Actions: []page.Action{{Path: one + "/clone", Scopes: admin, Ask: askClone, Run: cloneSurvey}},
		},
		{
			Name: "survey", Path: one, Scopes: reader, Load: known.loadSurvey, Live: []string{"state", "figures", "brake", "skipped", "people", "course", "calendar", "recent"},
			Actions: []page.Action{
				{Path: one + "/launch", Scopes: admin, Ask: askLaunch, Run: surveyStep(surveys.Launch, "Survey %s is launched.")},
				{Path: one + "/pause", Scopes: admin, Run: surveyStep(surveys.Pause, "Survey %s is paused."), Ask: askSurvey(page.Asking{
					Title: "Pause survey %s", Button: "Pause", Text: "No respondents are started or retried until the survey is resumed. Queued contacts are canceled; contacts in flight continue, and answers are recorded.",
				}, statusCount{"Active now", []surveys.Status{surveys.Active}})},
				{Path: one + "/resume", Scopes: admin, Run: surveyStep(surveys.Resume, "Survey %s is resumed."), Ask: askSurvey(page.Asking{
					Title: "Resume survey %s", Button: "Resume", Text: "The survey continues where it stopped, as soon as a window is open.",
				}, statusCount{"Not started yet", []surveys.Status{surveys.Pending}}, statusCount{"Active", []surveys.Status{surveys.Active}})},
				{Path: one + "/lock", Scopes: admin, Run: surveyStep(surveys.Lock, "Survey %s is locked."), Ask: askSurvey(page.Asking{
					Title: "Lock survey %s", Button: "Lock", Text: "The survey cannot be paused, stopped, changed or deleted until it is unlocked. It ends by itself all the same.",
				})},
				{Path: one + "/unlock", Scopes: admin, Run: surveyStep(surveys.Unlock, "Survey %s is unlocked."), Ask: askSurvey(page.Asking{
					Title: "Unlock survey %s", Button: "Unlock", Text: "The survey can be paused, stopped, changed and deleted again.",
				})},
				{Path: one + "/stop", Scopes: admin, Run: surveyStep(surveys.Stop, "Survey %s is stopping."), Ask: askSurvey(page.Asking{
					Title: "Stop survey %s", Button: "Stop", Danger: true,
					Text: "This cannot be undone. Queued contacts are canceled, providers are asked to cancel contacts in flight, and respondents who are not done end as canceled. Results are kept.",
				}, statusCount{"Will be canceled", []surveys.Status{surveys.Active, surveys.Pending}}, statusCount{"Being contacted now", []surveys.Status{surveys.Active}})},
				{Path: one + "/delete", Scopes: admin, Run: deleteSurvey, Ask: askSurvey(page.Asking{
					Title: "Delete survey %s", Button: "Delete", Danger: true, Text: "This cannot be undone. Its respondents, their answers, its log and its pilots are deleted. Its name is free at once.",
				}, statusCount{"Completed", []surveys.Status{surveys.Completed}})},
			},
			Files: surveyFiles(one, "results.csv", "results.xlsx", "codebook.csv", "log.csv", "dispositions.csv", "incentives.csv"),
		},
		{Name: "survey_respondents", Path: one + "/respondents", Scopes: reader, Load: loadRespondents, Posted: searchRespondent},
		{
			Name: "survey_respondent", Path: one + "/respondents/{id}", Scopes: reader, Load: known.loadRespondent, Live: []string{"respondent"},
			Actions: []page.Action{
				{Path: one + "/respondents/{id}/stop", Scopes: admin, Run: stopRespondent, Ask: askRespondent(page.Asking{
					Title: "Stop respondent %[1]s of %[2]s", Button: "Stop", Danger: true, Text: "This cannot be undone. A queued contact is canceled, the provider is asked to cancel one in flight, and the respondent ends as canceled.",
				})},
				{Path: one + "/respondents/{id}/remove", Scopes: admin, Run: removeRespondent, Ask: askRespondent(page.Asking{
					Title: "Remove respondent %[1]s of %[2]s", Button: "Remove", Danger: true, Text: "This cannot be undone. The number and the attributes are deleted; attempts stay in the figures and, under the id, in the log.",
				})},
			},
		},
		{Name: "document_form", Path: one + "/respondents/{id}/edit", Scopes: admin, Load: editRespondent, Posted: changeRespondent, Room: maxRespondentForm},
		{Name: "survey_log", Path: one + "/log", Scopes: reader, Load: loadSurveyLog},
	}, sender.Pages(one+"/import", admin, newRespondentFile)...)
}

// knownOfSurveys is what was read for a page of a survey a moment ago.
type knownOfSurveys struct {
	cards     *page.Cache[[]Card] // with the overview
	courses   *page.Cache[*courseData]
	plans     *page.Cache[*surveyPlan]
	histories *page.Cache[respondentHistory]
	skipped   *page.Cache[[]why.SkippedRow]
}

// NewCards returns what the overview and the list of surveys share.
func NewCards() *page.Cache[[]Card] { return page.NewCache[[]Card](page.ChartsLife) }

// Functions are what templates call to show surveys.
func Functions(l *locale.Locale) template.FuncMap {
	return template.FuncMap{
		"cause": func(c surveys.Cause) string { return causeText(l, c) }, "logevent": func(event string) string { return logEventText(l, event) }, "shownstatus": shownStatus,
	}
}
