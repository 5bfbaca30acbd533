package api

import "time"

// AnswerView is the answer to a question of an interview, or why there is none.
type AnswerView struct {
	Question string       `json:"question" doc:"its name" example:"vaccinated"`
	Status   AnswerStatus `json:"status" enum:"answered,refused,dont_know,invalid,skipped,not_reached" doc:"invalid: no answer fitted; skipped: its condition was false; not_reached: the conversation ended before"`
	Value    string       `json:"value,omitempty" doc:"names of choices with spaces between, digits, a date as 2026-01-31, or text; absent: none" example:"yes"`
	Raw      string       `json:"raw,omitempty" doc:"the beginning of what the person wrote" example:"Sí, claro"`
}

// AnswersView counts the answers to the questions of a survey.
type AnswersView struct {
	Survey      string             `json:"survey" doc:"its name"`
	Respondents int                `json:"respondents" doc:"of the survey, also those who have not been asked yet"`
	By          string             `json:"by,omitempty" enum:"day,arm,language,attribute" doc:"how the answers are grouped; absent: they are not"`
	Attribute   string             `json:"attribute,omitempty" doc:"by whose values they are grouped; absent: by none" example:"region"`
	Questions   []AnswerCountsView `json:"questions" doc:"in the order in which they are asked"`
}

// AnswerCountsView counts the answers to one question.
type AnswerCountsView struct {
	Question string               `json:"question" doc:"its name" example:"vaccinated"`
	Kind     QuestionKind         `json:"kind" enum:"choice,choices,number,text,date,calculation" doc:"how it is answered"`
	Statuses map[AnswerStatus]int `json:"by_status" doc:"how many respondents, by what became of the question. Those in the middle of the interview, before this question, are in none"`
	Values   []ValueCountView     `json:"values" doc:"how many respondents, by answer: choices in their order, numbers and dates from the smallest, those of more than 24 values in ranges. Texts have none"`
	Summary  *AnswerSummaryView   `json:"summary,omitempty" doc:"of numbers and dates; absent without any"`
	Groups   []AnswerGroupView    `json:"groups,omitempty" nullable:"false" doc:"the same of each day, arm, language or value of the attribute, in order; only with by or attribute. Together they are the counts of the question"`
}

// AnswerGroupView counts the answers of a day, arm, language or value of an attribute to one question.
type AnswerGroupView struct {
	Group    string               `json:"group" doc:"a day as 2026-01-31, in the time zone of the survey; the number of an arm from 0; the language of the conversation; or a value of the attribute. Empty: not known, of answers from before they were counted so; or no value" example:"2026-01-31"`
	Other    bool                 `json:"other,omitempty" doc:"of all values that the survey does not list, together; group is empty"`
	Statuses map[AnswerStatus]int `json:"by_status" doc:"how many respondents, by what became of the question"`
	Values   []ValueCountView     `json:"values" doc:"how many respondents, by the answers and ranges of the question"`
	Summary  *AnswerSummaryView   `json:"summary,omitempty" doc:"of numbers and dates; absent without any"`
}

// AnswerTextList is a page of texts that respondents answered.
type AnswerTextList struct {
	Texts      []AnswerTextView `json:"texts" doc:"in the order of the respondents"`
	NextCursor string           `json:"next_cursor,omitempty" doc:"for the next page; absent: this is the last"`
}

// AnswerTextView is the answer of one respondent, as text.
type AnswerTextView struct {
	Respondent string    `json:"respondent" doc:"id" example:"r2s"`
	Text       string    `json:"text" doc:"the answer"`
	At         time.Time `json:"at" doc:"when it was recorded"`
}

// ValueCountView counts the respondents who gave an answer.
type ValueCountView struct {
	Value string `json:"value" doc:"as it is stored; of a choice its name; of a range the smallest" example:"yes"`
	Below string `json:"below,omitempty" doc:"of a range, the end, which is not part of it" example:"20"`
	Count int    `json:"count" doc:"how many respondents"`
}

// AnswerSummaryView summarizes numbers or dates. It is computed from the sums, in which numbers of
// more than four digits are rounded to four.
type AnswerSummaryView struct {
	Min    string `json:"min" doc:"the smallest, or earliest" example:"0"`
	Median string `json:"median" doc:"half of the answers are not above it; of dates one of them" example:"7.5"`
	Max    string `json:"max" doc:"the greatest, or latest" example:"31"`
	Mean   string `json:"mean,omitempty" doc:"of numbers" example:"9.25"`
}
