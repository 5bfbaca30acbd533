package api

// PilotBody is the body of PUT: who is asked.
type PilotBody struct {
	Respondents []RespondentBody `json:"respondents" minItems:"1" maxItems:"20" doc:"who is asked; a number once"`
}

// PilotSummary is a pilot in a list.
type PilotSummary struct {
	Pilot   int  `json:"pilot" doc:"its number among the pilots of the survey" example:"1"`
	Current bool `json:"current" doc:"it asks as the survey would now; false: the survey has been changed since"`
	SurveySummary
}

// PilotList are the pilots of a survey.
type PilotList struct {
	Pilots []PilotSummary `json:"pilots" nullable:"false" doc:"the newest first"`
	Next   int            `json:"next" doc:"a number that no pilot has yet" example:"2"`
}

// PilotView is a pilot with its respondents.
type PilotView struct {
	PilotSummary
	Respondents []RespondentView `json:"respondents" nullable:"false" doc:"with their answers"`
	Warnings    []FieldError     `json:"warnings,omitempty" doc:"what may be meant otherwise; only in the response to the request that began it"`
}
