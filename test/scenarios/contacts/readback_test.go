package contacts_test

import (
	"database/sql"
	"fmt"
	"html"
	"maps"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
	contactstore "weir/persistence/contacts"
	"weir/persistence/testmysql"
	"weir/test/scenarios/world"
)

// views returns the paths that can be read: the paths of the API description, with
// ids from its lists, and the lists of the router.
func views(w *world.World) []string {
	w.Helper()
	ids := map[string][]string{"channel": {"ch"}, "survey": {"s"}}
	for _, c := range world.List(w.Want(http.StatusOK, "GET", "/v1/contacts?limit=1000", nil).Body["contacts"]) {
		ids["contact"] = append(ids["contact"], c["id"].(string))
	}
	for _, r := range world.List(w.Want(http.StatusOK, "GET", "/v1/surveys/s/respondents", nil).Body["respondents"]) {
		ids["respondent"] = append(ids["respondent"], r["id"].(string))
	}
	var out []string
	for path, operations := range w.Want(http.StatusOK, "GET", "/openapi.json", nil).Body["paths"].(map[string]any) {
		if _, reads := operations.(map[string]any)["get"]; !reads || strings.HasPrefix(path, "/callbacks/") {
			continue
		}
		whose := "contact"
		if strings.Contains(path, "/respondents/") {
			whose = "respondent"
		}
		if path == "/v1/events" {
			path += "?limit=1000"
		}
		path = strings.NewReplacer("{channel}", "ch", "{survey}", "s").Replace(path)
		if !strings.Contains(path, "{id}") {
			out = append(out, path)
			continue
		}
		for _, id := range ids[whose] {
			out = append(out, strings.ReplaceAll(path, "{id}", id))
		}
	}
	slices.Sort(out)
	for _, kind := range []string{"jobs", "workers", "queues", "classificationPolicies", "distributionPolicies", "exceptionPolicies"} {
		out = append(out, "/routing/"+kind+"?api-version=2023-11-01")
	}
	return out
}

// readable requests every view and every linked page, and fails on a server error.
// It leaves out pages about a single contact, respondent or job that are in known,
// and adds the pages that it requested.
func readable(w *world.World, t rapid.TB, known map[string]bool) {
	t.Helper()
	link := regexp.MustCompile(`href="(/[^"#]*)"`)
	single := regexp.MustCompile(`/(contacts|respondents|jobs)/[^/?]+`)
	seen := map[string]bool{}
	next := append(views(w), "/", "/contacts", "/dead-letters", "/surveys", "/router", "/audit")
	for len(next) > 0 {
		path := next[0]
		next = next[1:]
		if seen[path] || known[path] || strings.HasPrefix(path, "/assets/") || strings.HasPrefix(path, "/live/") {
			continue
		}
		if seen[path] = true; len(seen) > 1000 {
			t.Fatalf("links lead to ever more views, such as %s", path)
		}
		if single.MatchString(path) && known != nil {
			known[path] = true
		}
		a := w.Call("GET", path, nil)
		if a.Status >= 500 || strings.HasPrefix(path, "/v1/") && strings.Contains(a.Header.Get("Content-Type"), "json") && a.Body == nil {
			t.Errorf("GET %s: %d %.300s", path, a.Status, a.Text)
		}
		if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			for _, m := range link.FindAllStringSubmatch(a.Text, -1) {
				next = append(next, html.UnescapeString(m[1]))
			}
		}
	}
	if len(seen) < 30 {
		t.Fatalf("only %d views were found", len(seen))
	}
}

// hostile generates texts that have broken views before: control characters, markup,
// formulas, text direction marks, broken UTF-8, zero bytes, sizes.
func hostile() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{
			"", " ", "\x00", "\x1b[2J", "\u202e\u2066", "\ufeff", "\u2028", "=1+1", "</script><b>", `"'&<>`, "\xff\xfe", "a\xffb", "\U0010ffff", "\ufffe",
			"{{survey}}", "%s%n", "..", "a/b?c#d", "\r\n", "\u200b=1", "NaN", "null",
		}),
		rapid.Map(rapid.IntRange(1, 3000), func(n int) string { return strings.Repeat("ä", n) }),
	)
}

func instants() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom(append(outside(), "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59+14:00")),
		rapid.Map(rapid.Int64Range(-62135596800, 253402300799), func(s int64) string { return time.Unix(s, 0).UTC().Format(time.RFC3339) }),
	)
}

// Scenario 131: every view can show everything that was accepted.
func TestReadBack_WhatIsAcceptedCanBeRead(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func() string{
		"sqlite":  func() string { return "sqlite://" + filepath.Join(t.TempDir(), "weir.db") },
		"mariadb": func() string { return testmysql.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acceptedCanBeRead(t, world.ProgramOn(t, store()))
		})
	}
}

func acceptedCanBeRead(t *testing.T, w *world.World) {
	populated(w)
	known, unread, contacts := map[string]bool{}, 0, 0
	defer func() {
		readable(w, t, known)
		if contacts == 0 {
			t.Error("no contact was accepted")
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		c := world.Fields{"to": "+15550100", "messages": rapid.SliceOfN(hostile(), 1, 2).Draw(t, "messages")}
		for name, g := range map[string]*rapid.Generator[string]{"key": hostile(), "survey": hostile(), "not_before": instants(), "not_after": instants()} {
			if rapid.Bool().Draw(t, "with "+name) {
				c[name] = g.Draw(t, name)
			}
		}
		if rapid.Bool().Draw(t, "with labels") {
			c["labels"] = rapid.MapOfN(hostile(), hostile(), 0, 3).Draw(t, "labels")
		}
		taken := takes(w, "POST", "/v1/channels/ch/contacts", world.Fields{"contacts": []world.Fields{c}})
		if taken {
			contacts++
		}
		taken = takes(w, "PATCH", "/v1/channels/ch", world.Fields{"name": hostile().Draw(t, "name"), "settings": world.Fields{"note": hostile().Draw(t, "note")}}) || taken
		attributes := world.Fields{}
		for k, v := range rapid.MapOfN(hostile(), hostile(), 0, 3).Draw(t, "attributes") {
			attributes[k] = v
		}
		attributes["n"] = rapid.Float64().Draw(t, "n")
		person := world.Fields{"phone": world.Number(rapid.IntRange(1, 500).Draw(t, "phone")), "attributes": attributes}
		taken = takes(w, "POST", "/v1/surveys/s/respondents", world.Fields{"respondents": []world.Fields{person}}) || taken
		taken = takes(w, "PATCH", "/v1/surveys/s", world.Fields{"title": hostile().Draw(t, "title")}) || taken
		q := url.Values{"from": {hostile().Draw(t, "from")}, "body": {hostile().Draw(t, "body")}, "guid": {hostile().Draw(t, "guid")}}
		taken = takes(w, "POST", w.Lab.Address["ch"]+"/incoming?"+q.Encode(), nil) || taken
		job := world.Fields{"channelId": hostile().Draw(t, "channelId"), "queueId": "q", "priority": rapid.Int32().Draw(t, "priority"), "labels": attributes}
		taken = takes(w, "PATCH", "/routing/jobs/j"+fmt.Sprint(rapid.IntRange(1, 20).Draw(t, "job"))+"?api-version=2023-11-01", job) || taken
		if taken {
			unread++
		}
		if unread == 25 {
			readable(w, t, known)
			unread = 0
		}
	})
}

// takes makes a request that may be rejected and reports whether it was accepted.
func takes(w *world.World, method, path string, body any) bool {
	w.Helper()
	a := w.Call(method, path, body)
	if a.Status >= 500 {
		w.Errorf("%s %s: %d %.300s", method, path, a.Status, a.Text)
	}
	return a.Status < 300
}

// populated gives a world a channel with a dead letter and contacts in several
// states, a survey with a respondent, and a queue.
func populated(w *world.World) {
	w.Helper()
	w.Channel("ch", 2)
	w.Accept("ch", world.SMS("out"), world.SMS("over"), world.SMS("waits"), world.SMS("later", world.Fields{"not_before": "2126-01-01T00:00:00Z"}))
	w.Until("two are out", func() bool { return len(w.Lab.SentKeys()) == 2 })
	w.Report("over", "all", "failed")
	w.Until("there is a dead letter", func() bool {
		return len(world.List(w.Want(http.StatusOK, "GET", "/v1/dead-letters", nil).Body["dead_letters"])) == 1
	})
	w.Want(http.StatusCreated, "PUT", "/v1/surveys/s", world.SurveyBody([]string{"sms"}, world.Fields{"modes": world.Fields{"sms": world.Fields{"channel": "ch"}}}))
	w.AddRespondents("s", world.Fields{"phone": world.Number(1)})
	const version = "?api-version=2023-11-01"
	w.Want(http.StatusCreated, "PATCH", "/routing/distributionPolicies/p"+version, world.Fields{"offerExpiresAfterSeconds": 60, "mode": world.Fields{"kind": "longestIdle"}})
	w.Want(http.StatusCreated, "PATCH", "/routing/queues/q"+version, world.Fields{"distributionPolicyId": "p"})
	w.Want(http.StatusCreated, "PATCH", "/routing/workers/w"+version, world.Fields{"capacity": 1, "queues": []string{"q"}, "channels": []world.Fields{{"channelId": "voice", "capacityCostPerJob": 1}}, "availableForOffers": true})
}

// Scenario 131, the store: no view fails on unknown instants, words and numbers that
// a newer version may have stored.
func TestReadBack_WhatANewerVersionStoredCanBeRead(t *testing.T) {
	t.Parallel()
	w := world.Program(t)
	populated(w)
	db, err := sql.Open("sqlite", strings.TrimPrefix(w.URL, "sqlite://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w.WaitIdle()
	for _, x := range []struct {
		table, column string
		values        []any
	}{
		{"contacts", "not_before", []any{int64(math.MaxInt64), int64(math.MinInt64), int64(-1)}},
		{"contacts", "not_after", []any{int64(math.MaxInt64), int64(math.MinInt64)}},
		{"contacts", "queued_at", []any{int64(math.MaxInt64), int64(math.MinInt64)}},
		{"contacts_done", "finished_at", []any{int64(math.MaxInt64), int64(math.MinInt64)}},
		{"contacts_delayed", "due_at", []any{int64(math.MaxInt64)}},
		{"contacts_done", "outcome", []any{"vaporised", "\xff"}},
		{"contacts_done", "reason", []any{"\x00\xff\u202e"}},
		{"contacts_delayed", "progress", []any{[]byte{9}, []byte{}}},
		{"contacts", "priority", []any{int64(9), int64(-3)}},
		{"contacts", "labels", []any{`{"a":1,"b":["x"]}`, `{"a":`}},
		{"contacts", "content", []any{`{"fax":"x"}`, `{"messages":7}`}},
		{"contacts_done", "progress", []any{[]byte{9}, []byte{}, unknown("vaporised", math.MaxInt64), unknown("\xff", math.MinInt64)}},
		{"channels", "created_at", []any{int64(math.MaxInt64), int64(math.MinInt64)}},
		{"surveys", "launched_at", []any{int64(math.MaxInt64)}},
		{"surveys", "state", []any{int64(99)}},
		{"respondents", "added_at", []any{int64(math.MaxInt64)}},
		{"respondents", "disposition", []any{int64(99)}},
		{"respondents", "attributes", []any{`{"a":1}`}},
	} {
		for _, value := range x.values {
			saved := overwrite(w, db, x.table, x.column, value)
			if saved == nil {
				continue
			}
			t.Run(fmt.Sprintf("%s.%s=%v", x.table, x.column, value), func(t *testing.T) {
				readable((&world.World{T: t, Lab: w.Lab, Handler: w.Handler}), t, nil)
			})
			restore(w, db, x.table, x.column, saved)
		}
	}
}

// unknown returns the progress of a contact that is done, with words and instants that this
// version does not know.
func unknown(word string, at int64) []byte {
	return contactstore.EncodeProgress(weir.Progress{
		State: weir.Done, Rev: 9, FinishedAt: time.UnixMicro(at), SentAt: time.UnixMicro(at), Outcome: weir.Outcome(word), Parts: "x?", Reason: "\x00\xff\u202e",
	})
}

// overwrite sets a column in every row and returns its previous values, by row.
func overwrite(w *world.World, db *sql.DB, table, column string, value any) map[int64]any {
	w.Helper()
	rows, err := db.QueryContext(w.Context(), "SELECT id, "+column+" FROM "+table)
	if err != nil {
		w.Errorf("%s.%s: %v", table, column, err)
		return nil
	}
	defer func() { _ = rows.Close() }()
	was := map[int64]any{}
	for rows.Next() {
		var id int64
		var v any
		if err := rows.Scan(&id, &v); err != nil {
			w.Fatal(err)
		}
		was[id] = v
	}
	if err := rows.Err(); err != nil {
		w.Fatal(err)
	}
	if _, err := db.ExecContext(w.Context(), "UPDATE "+table+" SET "+column+" = ?", value); err != nil || len(was) == 0 {
		w.Errorf("%s.%s of %d rows: %v", table, column, len(was), err)
		return nil
	}
	return was
}

func restore(w *world.World, db *sql.DB, table, column string, was map[int64]any) {
	w.Helper()
	for _, id := range slices.Sorted(maps.Keys(was)) {
		if _, err := db.ExecContext(w.Context(), "UPDATE "+table+" SET "+column+" = ? WHERE id = ?", was[id], id); err != nil {
			w.Fatal(err)
		}
	}
}
