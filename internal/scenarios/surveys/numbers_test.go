package surveys_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/scenarios/world"
)

// upload sends a file of respondents.
func upload(w *world.World, survey, contentType, text string) {
	w.Helper()
	r := httptest.NewRequestWithContext(w.Context(), "POST", "/v1/surveys/"+survey+"/respondents", strings.NewReader(text))
	r.Host = "localhost"
	r.Header.Set("Content-Type", contentType)
	rec := httptest.NewRecorder()
	if w.Handler.ServeHTTP(rec, r); rec.Code != http.StatusOK {
		w.Fatalf("%d %s", rec.Code, rec.Body.String())
	}
}

// Scenario 388: a number has the digits with which it came, whichever way it came and is read.
func TestNumbers_KeepTheirDigits(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 10)
		numbers := []string{"9007199254740993", "-9007199254740993", "12345678901234567890", "1.10", "1e3", "-0", "0.1234567890123456789", "1E400"}
		first := w.CreateSurvey("s", world.BySMS(""), 0, 2)
		object := func(number string) world.Fields { return world.Fields{"n": json.Number(number)} }
		for i, number := range numbers {
			upload(w, "s", "text/csv", "phone,n\n"+world.Number(100+i)+","+number+"\n")
			upload(w, "s", "application/x-ndjson", `{"phone":"`+world.Number(200+i)+`","n":`+number+"}\n")
			w.AddRespondents("s", world.Fields{"phone": world.Number(300 + i), "attributes": object(number)})
			patched := w.AddRespondents("s", world.Fields{"phone": world.Number(400 + i), "attributes": world.Fields{"n": "x"}})
			w.Want(http.StatusOK, "PATCH", "/v1/surveys/s/respondents/"+patched[0], world.Fields{"attributes": object(number)})
		}
		w.SurveyCommand("s", "launch")
		for i, number := range numbers {
			id := w.AddRespondents("s", world.Fields{"phone": world.Number(500 + i)})[0]
			w.ReportDisposition("s", id, world.Fields{"disposition": "started", "answers": object(number)})
		}
		w.Restart()
		rows, err := csv.NewReader(strings.NewReader(w.Want(http.StatusOK, "GET", "/v1/surveys/s/results.csv", nil).Text)).ReadAll()
		if err != nil || len(rows) != 1+len(first)+5*len(numbers) {
			w.Fatalf("%d rows, %v", len(rows), err)
		}
		column := map[string]int{}
		for i, name := range rows[0] {
			column[name] = i
		}
		file, read := map[string]string{}, map[string]string{}
		for _, row := range rows[1:] {
			phone := row[column["phone"]]
			file[phone] = row[column["n"]]
			read[phone], _ = w.Respondent("s", row[column["id"]])["attributes"].(map[string]any)["n"].(string)
		}
		for way, base := range map[string]int{"CSV": 100, "NDJSON": 200, "JSON": 300, "PATCH": 400, "an answer": 500} {
			for i, number := range numbers {
				if phone := world.Number(base + i); file[phone] != number || read[phone] != number {
					w.Errorf("%s by %s is %s in the results, and %s in the API", number, way, file[phone], read[phone])
				}
			}
		}
	})
}
