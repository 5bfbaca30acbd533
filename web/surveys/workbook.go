package surveys

import (
	"net/http"
	"slices"
	"strings"

	"weir"
	"weir/api"
	"weir/surveys"
	"weir/surveys/questions"
	"weir/web/httpjson"
	"weir/web/route"
)

// valuesParameter says what stands in the columns of questions with choices.
func valuesParameter() httpjson.Parameter {
	return httpjson.Parameter{Name: "values", Kind: "string", Enum: []string{"codes", "labels"}, Single: true, Default: "codes", Description: "of questions with choices: the codes of the codebook, or their texts in the first language of the questionnaire, where several are separated by semicolons"}
}

// workbookRoute returns the route of the results as an Excel workbook.
func (s exportRoutes) workbookRoute() *route.Route {
	return &route.Route{
		Method: "GET", Path: Path + "/results.xlsx", ID: "get-results-workbook", Tag: "surveys",
		Summary: "Results as an Excel workbook",
		Description: "The rows and columns of results.csv in the sheet results, and those of codebook.csv in the sheet codebook. Counts and answers to questions of the kind number are numbers. " +
			"A sheet has at most 1048576 rows; more are in results 2, and so on. " + route.WorkbookHelp,
		Query:    append(respondentFilters(), valuesParameter()),
		Download: route.XLSXType, Serve: s.serveWorkbook,
		Answers: []route.Answer{{Status: http.StatusOK, Description: "the file"}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}
}

func (s exportRoutes) serveWorkbook(c *route.Call, w http.ResponseWriter) error {
	ctx, cancel := route.StepTimeout(c)
	defer cancel()
	v, err := s.survey(ctx, c.Request.PathValue("survey"))
	if err != nil {
		return err
	}
	write := func(rows func(*csvDownload, surveys.Survey) error) func(*route.CSV) error {
		return func(f *route.CSV) error { return rows(&csvDownload{f, s.from}, v) }
	}
	return s.downloads.WriteWorkbook(c, w, v.Name+"-results",
		route.Sheet{Name: "results", Number: numberColumns(v), Write: write((*csvDownload).results)},
		route.Sheet{Name: "codebook", Write: write((*csvDownload).codebook)})
}

// numberColumns returns which columns of the results are numbers. Attributes are texts: they may be codes.
func numberColumns(v surveys.Survey) func(column int) bool {
	var numbers []bool
	for _, name := range resultColumns() {
		numbers = append(numbers, strings.HasPrefix(name, "attempts_") || slices.Contains([]string{"arm", "bucket", "messages_sent", "messages_received", "call_seconds"}, name))
	}
	for _, q := range asked(v) {
		numbers = append(numbers, q.kind == questions.Number)
	}
	return func(column int) bool { return column < len(numbers) && numbers[column] }
}

// label replaces the codes of answers by their texts. A value that is no code, such as one that is masked, stays.
func label(v surveys.Survey, asked []askedQuestion, answers []api.AnswerView) {
	language := v.Definition.Questions.Languages[0].Code
	for i, q := range asked {
		if len(q.Choices) == 0 {
			continue
		}
		codes := []string{answers[i].Value}
		if q.kind == questions.ChooseMany {
			codes = strings.Fields(answers[i].Value)
		}
		for n, code := range codes {
			if at := slices.IndexFunc(q.Choices, func(o questions.Choice) bool { return o.Name == code }); at >= 0 {
				codes[n] = q.Choices[at].Text[language]
			}
		}
		answers[i].Value = strings.Join(codes, "; ")
	}
}
