package api

import (
	"fmt"
	"time"
)

// ImportColumn is a column of a file in an answer.
type ImportColumn struct {
	Header string   `json:"header" doc:"as in the file"`
	Field  string   `json:"field,omitempty" doc:"the field that it is; absent: it is left out"`
	Wrong  string   `json:"wrong,omitempty" doc:"why it is refused"`
	Values []string `json:"values,omitempty" doc:"the first ones"`
}

// ImportColumns are the columns of a file in an answer.
type ImportColumns struct {
	Header  string         `json:"header,omitempty" doc:"of a dry run of CSV, and if the columns are refused: identifies the names of the columns in their order, for the parameter header"`
	Columns []ImportColumn `json:"columns,omitempty" doc:"of a dry run, and if the columns are refused: what they are"`
}

// ImportRejects are the rows of a file that were refused, and how far it was read.
type ImportRejects struct {
	Rejected int `json:"rejected" doc:"rows with mistakes, whether listed in errors or not"`
	Kept     int `json:"kept,omitempty" doc:"rejected rows that the file in the answer has, if not all"`
	LastLine int `json:"last_line,omitempty" doc:"the rows up to this line were dealt with: how far a file came that broke off"`
}

// RowError is a row that cannot be loaded. Reading can continue with the rows after
// it. It must not contain any content of the row.
type RowError struct {
	Line   int    `json:"line"`
	Column string `json:"column,omitempty"`
	Reason string `json:"reason"`
}

// Error implements error.
func (b *RowError) Error() string {
	if b.Column == "" {
		return fmt.Sprintf("line %d: %s", b.Line, b.Reason)
	}
	return fmt.Sprintf("line %d, %s: %s", b.Line, b.Column, b.Reason)
}

// ContactImport is the result of a file of contacts.
type ContactImport struct {
	ImportFigures
	Errors []RowError `json:"errors" nullable:"false" doc:"the first 1000 rejected rows, in their order"`
	ImportColumns
	First []ImportRow `json:"first,omitempty" doc:"of a dry run: the first 10 rows that are not rejected"`
}

// ImportFigures are how many rows became what.
type ImportFigures struct {
	Rows       int `json:"rows" doc:"that were read"`
	Queued     int `json:"queued" doc:"contacts queued; in a dry run, contacts that would be queued unless the channel knows their keys"`
	Duplicates int `json:"duplicates" doc:"whose key the channel knew with the same content, or that the file has twice: nothing was queued"`
	ImportRejects
}

// ImportRow is a row of a file as a contact. Without pii:read numbers are masked.
type ImportRow struct {
	Line    int            `json:"line" doc:"of the file, from 1"`
	Contact map[string]any `json:"contact" doc:"the contact, in the form of POST …/contacts"`
}

// ContactImportProblem is a problem that includes how far an import came.
type ContactImportProblem struct {
	Problem
	Import *ContactImport `json:"import,omitempty" doc:"absent if no row was read"`
}

// ConsentFile is the result of a file of consents.
type ConsentFile struct {
	ConsentFigures
	Errors []RowError `json:"errors" nullable:"false" doc:"the first 1000 rows with mistakes"`
	ImportColumns
	First []ConsentRow `json:"first,omitempty" doc:"of a dry run: what the first rows without mistakes say"`
}

// ConsentFigures are how many rows said what.
type ConsentFigures struct {
	Rows       int `json:"rows" doc:"that were read"`
	Refused    int `json:"refused" doc:"refusals recorded; in a dry run, refusals that would be recorded"`
	Given      int `json:"given" doc:"consents recorded; in a dry run, consents that would be recorded"`
	Superseded int `json:"superseded" doc:"refusals and consents that change nothing, because something else counts for the person; 0 without pii:read"`
	Silent     int `json:"not_opted_out,omitempty" doc:"rows of people who have not opted out: they say nothing"`
	NoNumbers  int `json:"other_addresses,omitempty" doc:"refusals and consents of addresses that no country could have as a phone number, such as ids of chats: they count for contacts to exactly these addresses"`
	ImportRejects
}

// ConsentRow is what a row says. Without pii:read numbers are masked.
type ConsentRow struct {
	Line    int       `json:"line" doc:"of the file, from 1"`
	To      string    `json:"to" doc:"phone number as Weir knows it, or another address"`
	Status  string    `json:"status" enum:"refused,given" doc:"what was said"`
	Purpose string    `json:"purpose" doc:"all: of every purpose"`
	At      time.Time `json:"at,omitzero" doc:"when it was said; absent: now"`
	Words   string    `json:"words,omitempty" doc:"what was said, as a proof"`
}

// ConsentProblem is a problem, of a file with how far it came.
type ConsentProblem struct {
	Problem
	File *ConsentFile `json:"file,omitempty" doc:"of a file that broke off, or whose columns are refused; absent if no row was read"`
}

// ImportView is the result of adding respondents.
type ImportView struct {
	Rows       int `json:"rows,omitempty" doc:"of a file, that were read"`
	Added      int `json:"added"`
	Duplicates int `json:"duplicates" doc:"rows whose number the survey has, or had in a row before"`
	Updated    int `json:"updated,omitempty" doc:"duplicates that changed the respondent, with duplicates=update"`
	ImportRejects
	Respondents []AddedView `json:"respondents,omitempty" doc:"in the order of a request that was JSON"`
	Errors      []RowError  `json:"errors" doc:"the first 1000 rows that were rejected; rejected counts all"`
	ImportColumns
	First   []RespondentRow `json:"first,omitempty" doc:"of a dry run: the first 10 rows that are not rejected"`
	Missing map[string]int  `json:"missing,omitempty" doc:"of a dry run for a draft: how many rows have no value for an attribute that the texts use; it could not be launched with them"`
}

// RespondentRow is a row of a file as a respondent.
type RespondentRow struct {
	Line       int               `json:"line" doc:"of the file, from 1"`
	Phone      string            `json:"phone" doc:"as E.164" example:"+525512345678"`
	Attributes map[string]string `json:"attributes" nullable:"false" doc:"those that are not empty"`
}

// AddedView is one respondent of a JSON request.
type AddedView struct {
	ID        string `json:"id" example:"r2s"`
	Duplicate bool   `json:"duplicate" doc:"the survey had the number; this is who has it"`
	Updated   bool   `json:"updated,omitempty" doc:"with duplicates=update: the respondent was changed"`
	Reason    string `json:"reason,omitempty" doc:"with duplicates=update: why the respondent cannot be changed"`
}

// ImportProblem is a problem that includes the progress of an import.
type ImportProblem struct {
	Problem
	Import *ImportView `json:"import,omitempty" doc:"absent if no row was read"`
	File   string      `json:"file,omitempty" doc:"if nothing is loaded because of bad rows, and the request accepts them: the rejected rows, each with its reason, in the format of the file, at most 4 MiB"`
}
