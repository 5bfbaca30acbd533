package contacts_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"weir/test/scenarios/world"
)

// outside returns instants that are well-formed and outside of 1970 to 9999 in UTC.
func outside() []string {
	return []string{
		"9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59.9999999-00:01", "0000-01-01T00:00:00Z", "0000-01-01T00:00:00+23:59",
		"0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+00:01",
	}
}

// Scenario 130: every instant in a request must be in the range that every view
// can show. The parameters are read from the API description.
func TestTimes_InstantsOutsideOfTheRangeAreRefused(t *testing.T) {
	t.Parallel()
	w := world.Program(t)
	w.Channel("ch", 5)
	w.Channel("texts", 5)
	w.Want(http.StatusCreated, "PUT", "/v1/surveys/s", world.BySMS(""))
	for _, at := range outside() {
		for _, name := range []string{"not_before", "not_after"} {
			w.RefusedAt("/contacts/0/"+name, "POST", "/v1/channels/ch/contacts", world.Fields{"contacts": []world.Fields{world.SMS("a", world.Fields{name: at})}})
		}
		for _, name := range []string{"since", "until"} {
			w.RefusedAt("/"+name, "POST", "/v1/dead-letters:requeue", world.Fields{"all": true, name: at})
			w.RefusedAt("/"+name, "POST", "/v1/dead-letters:discard", world.Fields{"all": true, name: at})
		}
		for _, p := range instantParameters(w) {
			w.RefusedAt("/"+p[1], "GET", p[0]+"?"+url.Values{p[1]: {at}}.Encode(), nil)
		}
	}
	if n := len(w.Want(http.StatusOK, "GET", "/v1/contacts", nil).Body["contacts"].([]any)); n != 0 {
		t.Errorf("%d contacts were queued", n)
	}
	for _, at := range []string{"1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"} {
		w.Accept("ch", world.SMS(at, world.Fields{"not_before": at}))
		for _, p := range instantParameters(w) {
			a := w.Call("GET", p[0]+"?"+url.Values{p[1]: {at}}.Encode(), nil)
			if tooLong := strings.Contains(a.Text, "before until"); a.Status != http.StatusOK && !tooLong {
				w.Errorf("%s with %s=%s: %d %s", p[0], p[1], at, a.Status, a.Text)
			}
		}
	}
}

// instantParameters returns the API's query parameters that are instants, with
// the paths of their operations.
func instantParameters(w *world.World) [][2]string {
	w.Helper()
	var out [][2]string
	for path, operations := range w.Want(http.StatusOK, "GET", "/openapi.json", nil).Body["paths"].(map[string]any) {
		for method, o := range operations.(map[string]any) {
			o, _ := o.(map[string]any)
			for _, p := range world.List(o["parameters"]) {
				if schema, _ := p["schema"].(map[string]any); method == "get" && schema["format"] == "date-time" {
					out = append(out, [2]string{strings.NewReplacer("{channel}", "ch", "{survey}", "s").Replace(path), fmt.Sprint(p["name"])})
				}
			}
		}
	}
	if len(out) < 8 {
		w.Fatalf("the description has %d parameters that are instants", len(out))
	}
	return out
}

// Scenario 130, dates: every instant derived from a survey's first, last and
// blocked days can be shown.
func TestTimes_DatesOutsideOfTheRangeAreRefused(t *testing.T) {
	t.Parallel()
	w := world.Program(t)
	w.Channel("texts", 5)
	for _, day := range []string{"9999-12-31", "9999-01-01", "0001-01-01", "0000-01-01", "1969-12-31"} {
		for pointer, extra := range map[string]world.Fields{
			"/schedule/start_date": {"start_date": day}, "/schedule/end_date": {"end_date": day}, "/schedule/blocked_days/0": {"blocked_days": []string{day}},
		} {
			schedule := world.Always()
			for k, v := range extra {
				schedule[k] = v
			}
			w.RefusedAt(pointer, "PUT", "/v1/surveys/s", world.BySMS("", world.Fields{"schedule": schedule}))
		}
	}
	schedule := world.Daily("Etc/GMT+12", "00:00", "24:00")
	schedule["start_date"], schedule["end_date"] = "9998-12-01", "9998-12-31"
	w.Want(http.StatusCreated, "PUT", "/v1/surveys/s", world.BySMS("10m 2d", world.Fields{"schedule": schedule}))
	w.AddRespondents("s", world.Fields{"phone": world.Number(1)})
	w.SurveyCommand("s", "launch")
	for _, path := range []string{"", "/stats", "/respondents", "/log"} {
		w.Want(http.StatusOK, "GET", "/v1/surveys/s"+path, nil)
	}
}

// Scenario 130, the router, which has its own error format.
func TestTimes_RouterRefusesInstantsOutsideOfTheRange(t *testing.T) {
	t.Parallel()
	w := world.Program(t)
	const version = "?api-version=2023-11-01"
	for _, at := range outside() {
		for name, body := range map[string]world.Fields{
			"/notes/0/addedAt":         {"notes": []world.Fields{{"message": "m", "addedAt": at}}},
			"/matchingMode/scheduleAt": {"matchingMode": world.Fields{"kind": "scheduleAndSuspend", "scheduleAt": at}},
		} {
			body["channelId"], body["queueId"] = "c", "q"
			a := w.Call("PATCH", "/routing/jobs/j"+version, body)
			if a.Status != http.StatusBadRequest || !strings.Contains(a.Text, name) {
				t.Errorf("%s %s: %d %s", name, at, a.Status, a.Text)
			}
		}
		for _, name := range []string{"scheduledBefore", "scheduledAfter"} {
			if a := w.Call("GET", "/routing/jobs"+version+"&"+url.Values{name: {at}}.Encode(), nil); a.Status != http.StatusBadRequest || !strings.Contains(a.Text, name) {
				t.Errorf("%s %s: %d %s", name, at, a.Status, a.Text)
			}
		}
	}
}
