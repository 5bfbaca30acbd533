package surveys

import (
	"net/http"

	"weir"
	"weir/operators"
	"weir/surveys"
	"weir/web/httpjson"
	"weir/web/route"
)

// incentivesRoute returns the route of the list of those who are to be rewarded.
func (s exportRoutes) incentivesRoute() *route.Route {
	return &route.Route{
		Method: "GET", Path: Path + "/incentives.csv", ID: "get-incentives", Tag: "surveys",
		Summary: "Phone numbers of those who completed, for a reward",
		Description: "One row for each respondent with the disposition completed, in the order in which they were added. Numbers are never masked: without " + string(operators.ScopePIIRead) + " the file is refused. " +
			"mode is that of the interview, and completed_at is in the time zone of the survey. " + route.CSVHelp,
		Query:    []httpjson.Parameter{formatParameter(), route.SpreadsheetParameter()},
		Also:     []operators.Scope{operators.ScopePIIRead},
		Download: route.CSVType, Serve: s.download("incentives", (*csvDownload).incentives),
		Answers: []route.Answer{{Status: http.StatusOK, Description: "the file"}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}
}

func (d *csvDownload) incentives(v surveys.Survey) error {
	f := surveys.Filter{Survey: v.ID, Dispositions: []surveys.Disposition{surveys.Complete}}
	how, zone, header := progressOf(v), zoneOf(v), []string{"phone", "questionnaire", "mode", "completed_at"}
	if d.ncd() {
		header = []string{"Telephone number", "Questionnaire-Mode", "Completion date"}
	}
	return d.Pages(header, func(string) (next string, err error) {
		more, err := d.page(&f, false, func(r *surveys.Respondent) {
			shown := how.view(r)
			if d.ncd() {
				d.Row([]string{shown.Phone, ncdQuestionnaire(v, shown.Questionnaire) + " - " + ncdMode(shown.Mode), ncdInstant(r.Finished, zone)})
				return
			}
			d.Row([]string{shown.Phone, shown.Questionnaire, string(shown.Mode), zoned(r.Finished, zone)})
		})
		if more {
			next = f.After.String()
		}
		return next, err
	})
}
