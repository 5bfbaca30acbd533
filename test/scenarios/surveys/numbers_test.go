package surveys_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/test/scenarios/world"
)

// upload sends a file of respondents.
func upload(w *world.World, survey, contentType, text string) {
	w.Helper()
	r := httptest.NewRequestWithContext(w.Context(), "POST", "/v1/surveys/"+survey+"/respondents?on_error=none", strings.NewReader(text))
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

// Scenario 389: the results of a survey, for programs and for spreadsheets, are the list of the next.
func TestResults_AreTheListOfTheNextSurvey(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 10)
		values := []string{"=1+1", "'=1+1", "''+5", "+254712345678", "-2", "-3.5", "@SUM(A1)", "12345678901234567890", "007", "say \"hi\"", "a\nb", "a;b,c\td", "Íñigo", "＝1", "'", "1.10"}
		w.CreateSurvey("first", world.BySMS(""), 0, 0)
		for i, value := range values {
			w.AddRespondents("first", world.Fields{"phone": world.Number(i), "attributes": world.Fields{"value": value, "status": value, "other_attributes": value, "weir": "x"}})
		}
		for form, query := range map[string]string{"plain": "", "commas": "?spreadsheet=comma", "semicolons": "?spreadsheet=semicolon"} {
			w.CreateSurvey(form, world.BySMS(""), 0, 0)
			text := w.Want(http.StatusOK, "GET", "/v1/surveys/first/results.csv"+query, nil).Text
			if strings.HasPrefix(text, "\ufeffid") != (query != "") {
				w.Errorf("%s begins with %q", form, text[:8])
			}
			upload(w, form, "text/csv", text)
			list := w.Want(http.StatusOK, "GET", "/v1/surveys/"+form+"/respondents?limit=100", nil).Body["respondents"].([]any)
			if len(list) != len(values) {
				w.Errorf("%s: %d respondents, want %d", form, len(list), len(values))
			}
			for _, r := range list {
				r := r.(map[string]any)
				attributes, want := r["attributes"].(map[string]any), ""
				for i := range values {
					if world.Number(i) == r["phone"] {
						want = values[i]
					}
				}
				if len(attributes) != 4 || attributes["value"] != want || attributes["status"] != want || attributes["other_attributes"] != want {
					w.Errorf("%s: %q became %q", form, want, attributes)
				}
			}
		}
	})
}
