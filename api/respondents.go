package api

// RespondentsBody is the JSON body of POST.
type RespondentsBody struct {
	Respondents []RespondentBody `json:"respondents" minItems:"1" maxItems:"1000"`
}

// RespondentBody is one respondent to add.
type RespondentBody struct {
	Phone      string         `json:"phone" minLength:"1" maxLength:"50" doc:"with its country code, or as it is dialled in the survey's region" example:"+525512345678"`
	Attributes map[string]any `json:"attributes,omitempty" maxProperties:"100" doc:"texts of up to 500 characters, numbers, true and false; names of a-z, 0-9 and _ that begin with a letter"`
}
