package surveys

import (
	"net/http"
	"strconv"
	"strings"

	"weir"
	"weir/surveys"
	"weir/surveys/questions"
	"weir/web/httpjson"
	"weir/web/route"
)

// codebookRoute returns the route of the file that explains the columns of questions in the results.
func (s exportRoutes) codebookRoute() *route.Route {
	return &route.Route{
		Method: "GET", Path: Path + "/codebook.csv", ID: "get-codebook", Tag: "surveys",
		Summary: "What the columns of questions in the results mean",
		Description: "One row for each question that Weir asks, in order, with its text in each language, and below it one for each of its choices, with the code that stands in results.csv and its text. " +
			"asked_if is the condition on which the question is asked, or the choice offered; empty: always. " + route.CSVHelp,
		Query:    []httpjson.Parameter{route.SpreadsheetParameter()},
		Download: route.CSVType, Serve: s.download("codebook", (*csvDownload).codebook),
		Answers: []route.Answer{{Status: http.StatusOK, Description: "the file"}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}
}

func (d *csvDownload) codebook(v surveys.Survey) error {
	if err := d.CheckContinue(); err != nil {
		return err
	}
	for _, row := range codebookRows(v) {
		d.Row(row)
	}
	return d.Flush()
}

// codebookRows returns the codebook of a survey, with its header.
func codebookRows(v surveys.Survey) [][]string {
	asked := asked(v)
	header := []string{"column", "question", "kind", "code"}
	var languages []questions.Language
	if v.Definition.Questions != nil {
		languages = v.Definition.Questions.Languages
	}
	for _, l := range languages {
		header = append(header, "label_"+l.Code)
	}
	rows := [][]string{append(header, "asked_if", "allowed")}
	columns := resultHeader(resultColumns(), asked, nil)[len(resultColumns()):]
	row := func(q askedQuestion, column, code string, text questions.Text, relevant, allowed string) {
		cells := []string{column, q.name, string(q.kind), code}
		for _, l := range languages {
			cells = append(cells, text[l.Code])
		}
		rows = append(rows, append(cells, relevant, allowed))
	}
	for i, q := range asked {
		row(q, columns[i], "", q.Text, q.Relevant, allowedAnswers(q.Question))
		for j := range q.Choices {
			o := &q.Choices[j]
			row(q, columns[i], o.Name, o.Text, o.Relevant, "")
		}
	}
	return rows
}

// allowedAnswers returns the bounds of the answers to a question, as a condition on the answer.
func allowedAnswers(q *questions.Question) string {
	var parts []string
	for _, bound := range []struct {
		sign string
		at   *float64
	}{{">=", q.Min}, {"<=", q.Max}} {
		if bound.at != nil {
			parts = append(parts, ". "+bound.sign+" "+strconv.FormatFloat(*bound.at, 'f', -1, 64))
		}
	}
	for _, bound := range [][2]string{{">=", q.Earliest}, {"<=", q.Latest}} {
		if bound[1] != "" {
			parts = append(parts, ". "+bound[0]+" date('"+bound[1]+"')")
		}
	}
	if q.Constraint != "" {
		parts = append(parts, q.Constraint)
	}
	return strings.Join(parts, " and ")
}
