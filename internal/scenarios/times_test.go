package scenarios_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"weir/channels"
	"weir/cmd/weir/daemon"
	"weir/config"
)

// program returns the whole daemon on a SQLite file, with the lab as its provider.
func program(t *testing.T, environment ...string) *world {
	t.Helper()
	return programOn(t, "sqlite://"+filepath.Join(t.TempDir(), "weir.db"), environment...)
}

func programOn(t *testing.T, store string, environment ...string) *world {
	t.Helper()
	cfg, _, err := config.Load(append([]string{"LISTEN_ADDR=127.0.0.1:0", "PUBLIC_URL=http://weir.test", "DATABASE_URL=" + store}, environment...))
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t)
	d, err := daemon.New(t.Context(), daemon.Options{
		Config: cfg, Types: []channels.Type{l.Type("lab", channels.Text), l.Type("labcall", channels.Voice)},
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close(context.Background()) })
	w := &world{T: t, lab: l, url: store, handler: d.Handler()}
	// The router refuses requests until it has read its state.
	w.until("the router is ready", func() bool { return w.call("GET", "/readyz", nil).Body["router"] == "serving" })
	return w
}

// outside returns instants that are well-formed and outside of 1970 to 9999 in UTC.
func outside() []string {
	return []string{
		"9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59.9999999-00:01", "0000-01-01T00:00:00Z", "0000-01-01T00:00:00+23:59",
		"0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+00:01",
	}
}

// refusedAt requires a 422 that names a field.
func (w *world) refusedAt(pointer, method, path string, body any) {
	w.Helper()
	a := w.call(method, path, body)
	for _, e := range list(a.Body["errors"]) {
		if a.Status == http.StatusUnprocessableEntity && e["pointer"] == pointer {
			return
		}
	}
	w.Errorf("%s %s %v: %d, want 422 with %s: %s", method, path, body, a.Status, pointer, a.Text)
}

func list(v any) []map[string]any {
	var out []map[string]any
	entries, _ := v.([]any)
	for _, e := range entries {
		out = append(out, e.(map[string]any))
	}
	return out
}

// Scenario 130: every instant in a request must be in the range that every view
// can show. The parameters are read from the API description.
func TestTimes_InstantsOutsideOfTheRangeAreRefused(t *testing.T) {
	t.Parallel()
	w := program(t)
	w.channel("ch", 5)
	w.channel("texts", 5)
	w.want(http.StatusCreated, "PUT", "/v1/surveys/s", bySMS(""))
	for _, at := range outside() {
		for _, name := range []string{"not_before", "not_after"} {
			w.refusedAt("/contacts/0/"+name, "POST", "/v1/channels/ch/contacts", fields{"contacts": []fields{sms("a", fields{name: at})}})
		}
		for _, name := range []string{"since", "until"} {
			w.refusedAt("/"+name, "POST", "/v1/dead-letters:requeue", fields{"all": true, name: at})
			w.refusedAt("/"+name, "POST", "/v1/dead-letters:discard", fields{"all": true, name: at})
		}
		for _, p := range w.instantParameters() {
			w.refusedAt("/"+p[1], "GET", p[0]+"?"+url.Values{p[1]: {at}}.Encode(), nil)
		}
	}
	if n := len(w.want(http.StatusOK, "GET", "/v1/contacts", nil).Body["contacts"].([]any)); n != 0 {
		t.Errorf("%d contacts were queued", n)
	}
	for _, at := range []string{"1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"} {
		w.accept("ch", sms(at, fields{"not_before": at}))
		for _, p := range w.instantParameters() {
			a := w.call("GET", p[0]+"?"+url.Values{p[1]: {at}}.Encode(), nil)
			if tooLong := strings.Contains(a.Text, "before until"); a.Status != http.StatusOK && !tooLong {
				w.Errorf("%s with %s=%s: %d %s", p[0], p[1], at, a.Status, a.Text)
			}
		}
	}
}

// instantParameters returns the API's query parameters that are instants, with
// the paths of their operations.
func (w *world) instantParameters() [][2]string {
	w.Helper()
	var out [][2]string
	for path, operations := range w.want(http.StatusOK, "GET", "/openapi.json", nil).Body["paths"].(map[string]any) {
		for method, o := range operations.(map[string]any) {
			o, _ := o.(map[string]any)
			for _, p := range list(o["parameters"]) {
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
	w := program(t)
	w.channel("texts", 5)
	for _, day := range []string{"9999-12-31", "9999-01-01", "0001-01-01", "0000-01-01", "1969-12-31"} {
		for pointer, extra := range map[string]fields{
			"/schedule/start_date": {"start_date": day}, "/schedule/end_date": {"end_date": day}, "/schedule/blocked_days/0": {"blocked_days": []string{day}},
		} {
			schedule := always()
			for k, v := range extra {
				schedule[k] = v
			}
			w.refusedAt(pointer, "PUT", "/v1/surveys/s", bySMS("", fields{"schedule": schedule}))
		}
	}
	schedule := daily("Etc/GMT+12", "00:00", "24:00")
	schedule["start_date"], schedule["end_date"] = "9998-12-01", "9998-12-31"
	w.want(http.StatusCreated, "PUT", "/v1/surveys/s", bySMS("10m 2d", fields{"schedule": schedule}))
	w.addRespondents("s", fields{"phone": number(1)})
	w.surveyCommand("s", "launch")
	for _, path := range []string{"", "/stats", "/respondents", "/log"} {
		w.want(http.StatusOK, "GET", "/v1/surveys/s"+path, nil)
	}
}

// Scenario 130, the router, which has its own error format.
func TestTimes_RouterRefusesInstantsOutsideOfTheRange(t *testing.T) {
	t.Parallel()
	w := program(t)
	const version = "?api-version=2023-11-01"
	for _, at := range outside() {
		for name, body := range map[string]fields{
			"/notes/0/addedAt":         {"notes": []fields{{"message": "m", "addedAt": at}}},
			"/matchingMode/scheduleAt": {"matchingMode": fields{"kind": "scheduleAndSuspend", "scheduleAt": at}},
		} {
			body["channelId"], body["queueId"] = "c", "q"
			a := w.call("PATCH", "/routing/jobs/j"+version, body)
			if a.Status != http.StatusBadRequest || !strings.Contains(a.Text, name) {
				t.Errorf("%s %s: %d %s", name, at, a.Status, a.Text)
			}
		}
		for _, name := range []string{"scheduledBefore", "scheduledAfter"} {
			if a := w.call("GET", "/routing/jobs"+version+"&"+url.Values{name: {at}}.Encode(), nil); a.Status != http.StatusBadRequest || !strings.Contains(a.Text, name) {
				t.Errorf("%s %s: %d %s", name, at, a.Status, a.Text)
			}
		}
	}
}
