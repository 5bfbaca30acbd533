package httpgateway

import (
	"encoding/json"
	"errors"
	"maps"
	"mime"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"weir"
	"weir/channels"
)

// everywhere has each placeholder of users' content in each place.
const everywhere = `{
	"send": {
		"url": "https://gw.example/v1/{label.who}/messages/{id}",
		"query": {"text": "{text}", "who": "<{label.who}>", "to": "{to}"},
		"headers": {"X-Who": "a {label.who}", "Authorization": "Bearer {secret.token}"},
		"json": {"to": "{to.plus}", "text": "{text}", "both": "{{{label.who}}} {text}", "left": {"$": "seconds_left", "as": "number", "max": 60},
			"none": {"$": "label.none", "optional": true}, "{text}": [1, true, null, "{label.who}"]}
	},
	"answer": [{"status": "2xx", "fate": "completed"}]
}`

func parsed(t testing.TB, raw string, secrets ...string) *template {
	t.Helper()
	names := map[string]any{"token": "s3cret"}
	for _, name := range secrets {
		names[name] = "s3cret"
	}
	out, _, errs := parse(weir.Settings{"template": raw, "secrets": names})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return out
}

// For any text and label the request parses back to exactly these, wherever they stand.
func TestRender_AnyContentParsesBack(t *testing.T) {
	t.Parallel()
	tpl := parsed(t, everywhere)
	form := parsed(t, strings.Replace(everywhere, `"json"`, `"form"`, 1))
	anything := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("{}/.%?#&=+\"\\<>\r\n\x00 ;,:@é\u2028😀"))),
		rapid.SampledFrom([]string{"", ".", "..", "%2e%2e", "a/b", "{text}", "{{", "\x7f", "secret.token", "{secret.token}"}))
	rapid.Check(t, func(r *rapid.T) {
		text, who := anything.Draw(r, "text"), anything.Draw(r, "who")
		if !utf8.ValidString(text) || !utf8.ValidString(who) {
			r.Skip()
		}
		c := &content{
			secrets: map[string]string{"token": "s3cret"}, now: time.Unix(0, 0),
			a: channels.Attempt{ID: weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: 71}, Number: 2}, To: "15550001", Labels: map[string]string{"who": who}, Messages: []string{text}},
		}
		got, err := tpl.send.render(c)
		if fits := who != "" && who != "." && who != ".." && !strings.ContainsFunc(who, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }); (err == nil) != fits {
			r.Fatalf("%q: %v", who, err)
		}
		if err != nil {
			return
		}
		u, err := url.Parse(got.URL.String())
		if err != nil || u.Host != "gw.example" || u.Scheme != "https" || u.User != nil || u.Fragment != "" || strings.Count(u.EscapedPath(), "/") != 4 || u.Path != "/v1/"+who+"/messages/7-1z-2.0" {
			r.Fatalf("%s, %v", got.URL, err)
		}
		if q := u.Query(); len(q) != 3 || q.Get("text") != text || q.Get("who") != "<"+who+">" || q.Get("to") != "15550001" {
			r.Fatalf("query %v", q)
		}
		if h := got.Header; h.Get("X-Who") != "a "+who || h.Get("Authorization") != "Bearer s3cret" {
			r.Fatalf("header %v", h)
		}
		var body map[string]any
		if err := json.Unmarshal(got.Body, &body); err != nil {
			r.Fatal(err)
		}
		list, _ := body["{text}"].([]any)
		if _, has := body["none"]; has || len(body) != 5 || body["to"] != "+15550001" || body["text"] != text || body["both"] != "{"+who+"} "+text ||
			body["left"] != 60.0 || len(list) != 4 || list[0] != 1.0 || list[1] != true || list[2] != nil || list[3] != who {
			r.Fatalf("body %s", got.Body)
		}
		got, err = form.send.render(c)
		if err != nil {
			r.Fatal(err)
		}
		if kind, _, _ := mime.ParseMediaType(got.Header.Get("Content-Type")); kind != "application/x-www-form-urlencoded" {
			r.Fatal(kind)
		}
		fields, err := url.ParseQuery(string(got.Body))
		if err != nil || len(fields) != 5 || fields.Get("text") != text || fields.Get("both") != "{"+who+"} "+text || fields.Get("left") != "60" || len(fields["{text}"]) != 4 {
			r.Fatalf("form %v, %v", fields, err)
		}
	})
}

// Each mistake is reported at its place, all at once, and no channel has such a template.
func TestParse_ReportsEachMistakeAtItsPlace(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`[]`: "/template type",
		`{}`: "/template/send required, /template/answer required, /template/callback required, /template/states required",
		`{"sent": 1, "send": {"url": "https://x.example/"}, "answer": [{"status": "2xx", "fate": "completed"}]}`:                                                                                                                                             "/template/sent unknown",
		`{"send": {"url": "https://{to}.example/"}, "answer": [{"status": "2xx", "fate": "completed"}]}`:                                                                                                                                                     "/template/send/url placeholder",
		`{"send": {"url": "https://x.example:{value.port}/"}, "answer": [{"status": "2xx", "fate": "completed"}]}`:                                                                                                                                           "/template/send/url placeholder",
		`{"send": {"url": "{value.base}/x"}, "answer": [{"status": "2xx", "fate": "completed"}]}`:                                                                                                                                                            "/template/send/url format",
		`{"send": {"url": "https://u:p@x.example/"}, "answer": [{"status": "2xx", "fate": "completed"}]}`:                                                                                                                                                    "/template/send/url format",
		`{"send": {"url": "https://x.example/?a={text}"}, "answer": [{"status": "2xx", "fate": "completed"}]}`:                                                                                                                                               "/template/send/url format",
		`{"send": {"url": "https://x.example/", "method": "get", "json": {"a/b": "{txt}"}, "headers": {"Host": "x", "A": "{secret.no}"}}, "answer": [{"status": "2xx", "fate": "completed"}]}`:                                                               "/template/send/method value, /template/send/headers/A placeholder, /template/send/headers/Host value, /template/send/json/a~1b placeholder",
		`{"send": {"url": "https://x.example/", "json": {"a": "{text", "b": "}"}, "form": {}}, "answer": [{"status": "2xx", "fate": "completed"}]}`:                                                                                                          "/template/send conflict, /template/send/json/a format, /template/send/json/b format",
		`{"send": {"url": "https://x.example/"}, "answer": [{"status": "9", "fate": "perhaps", "match": {"a": 1, "/b": {}}}, {"status": "200", "fate": "refused"}, {"status": "2xx", "fate": "completed", "fault": "channel", "ref": "id"}]}`:                "/template/answer/0/status format, /template/answer/0/match/~1b type, /template/answer/0/match/a format, /template/answer/0/fate value, /template/answer/1/reason required, /template/answer/2/ref format, /template/answer/2/fault conflict",
		`{"send": {"url": "https://x.example/"}, "answer": [{"status": "2xx", "fate": "accepted", "reason": "because 5"}], "callback": {"verify": {"scheme": "hmac", "secret": "no"}}, "states": {"a": "done", "b": {"outcome": "failed", "reason": "x1"}}}`: "/template/states/a value, /template/states/b/reason value, /template/answer/0/reason value, /template/callback/state required, /template/callback/verify/secret placeholder, /template/callback/verify/header required",
		`{"send": {"url": "https://x.example/"}, "answer": [{"status": "2xx", "fate": "accepted"}], "callback": {"verify": {"scheme": "none"}, "state": "/s"}, "states": {"a": "accepted"}}`:                                                                 "/template/states required",
		`{"send": {"url": "https://x.example/", "json": [{"each": {"a": [{"each": "{text}"}, {"each": {"each": 1}}]}}, {"each": "{text}"}]}, "answer": [{"status": "2xx", "fate": "completed"}]}`:                                                            "/template/send/json/0/each/a/0 conflict, /template/send/json/0/each/a/1 conflict",
		`{"send": {"url": "https://x.example/", "query": {"q": {"each": [{"each": "{text}"}]}}}, "answer": [{"status": "2xx", "fate": "completed"}]}`:                                                                                                        "/template/send/query/q/each/0 conflict",
		`{"send": {"url": "https://x.example/"}, "answer": [{"status": "2xx", "fate": "completed", "match": {"/a": []}}]}`:                                                                                                                                   "/template/answer/0/match/~1a type",
	} {
		_, _, errs := parse(weir.Settings{"template": raw})
		var got []string
		for _, e := range errs {
			got = append(got, e.Pointer+" "+e.Code)
			if e.Detail == "" {
				t.Errorf("%s: no detail", e.Pointer)
			}
		}
		gotSet, wantSet := strings.Join(got, ", "), want
		if len(got) != len(strings.Split(want, ", ")) || !sameWords(got, strings.Split(want, ", ")) {
			t.Errorf("%s:\n got %s\nwant %s", raw, gotSet, wantSet)
		}
		if typ := Type(); len(typ.CheckSettings(weir.Settings{"template": raw}, 10)) == 0 {
			t.Errorf("%s is a template", raw)
		}
	}
}

// What is to be a number and is none, or none that JSON has, stays the text that it is.
func TestRender_WhatIsNoNumberStaysText(t *testing.T) {
	t.Parallel()
	tpl := parsed(t, `{"send": {"url": "https://gw.example/", "json": {"n": {"$": "label.n", "as": "number"}}}, "answer": [{"status": "2xx", "fate": "completed"}]}`)
	for text, want := range map[string]string{
		"12": `12`, "-1.5": `-1.5`, "9007199254740993": `9007199254740993`, "12345678901234567890": `12345678901234567890`, "1.10": `1.10`, "1e3": `1e3`, "-0": `-0`, "007": `7`, "+12": `12`, "1e400": `"1e400"`, "NaN": `"NaN"`, "-Inf": `"-Inf"`, "infinity": `"infinity"`, "many": `"many"`,
	} {
		got, err := tpl.send.render(&content{a: channels.Attempt{Labels: map[string]string{"n": text}}})
		if err != nil || string(got.Body) != `{"n":`+want+`}` {
			t.Errorf("%s: %s (%v)", text, got.Body, err)
		}
	}
}

// Scenario 388: numbers of a template keep their digits, whether it is an object or a text.
func TestRender_NumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	const ids = `[9007199254740993,12345678901234567890,1.10,1e3,-0]`
	tpl := parsed(t, `{"send": {"url": "https://gw.example/", "json": {"ids": `+ids+`}}, "answer": [{"status": "2xx", "fate": "completed"}]}`)
	if got, err := tpl.send.render(&content{}); err != nil || string(got.Body) != `{"ids":`+ids+`}` {
		t.Errorf("%s (%v)", got.Body, err)
	}
}

func sameWords(a, b []string) bool {
	count := map[string]int{}
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		count[s]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// The shipped templates need no more than the settings that docs/providers.md names.
func TestTemplates_NeedOnlyTheDocumentedSettings(t *testing.T) {
	t.Parallel()
	secrets := map[string]any{"password": "x", "api_key": "x", "api_secret": "x", "token": "x", "webhook": "x"}
	values := map[string]any{"username": "x", "from": "x", "api_key": "x"}
	if len(Templates()) != 5 {
		t.Errorf("templates %v", Templates())
	}
	for _, name := range Templates() {
		s := weir.Settings{"template": string(Template(name)), "secrets": secrets, "values": values}
		if typ := Type(); len(typ.CheckSettings(s, 10)) > 0 {
			t.Errorf("%s: %+v", name, typ.CheckSettings(s, 10))
		}
	}
	if Template("none") != nil {
		t.Error("there is a template of no provider")
	}
}

// FuzzParse: every template is refused with a pointer, or renders.
func FuzzParse(f *testing.F) {
	f.Add(everywhere)
	for _, name := range Templates() {
		f.Add(string(Template(name)))
	}
	f.Fuzz(func(t *testing.T, raw string) {
		tpl, c, errs := parse(weir.Settings{"template": raw, "secrets": `{"token": "x"}`})
		if (tpl == nil) == (len(errs) == 0) {
			t.Fatalf("%v %v", tpl, errs)
		}
		if tpl == nil {
			return
		}
		c.a = channels.Attempt{To: "15550001", Messages: []string{"hello"}}
		if got, err := tpl.send.render(&c); err == nil && (got.URL == nil || got.URL.Host == "") {
			t.Errorf("%+v", got)
		}
	})
}

// FuzzCallback: any callback is read or refused.
func FuzzCallback(f *testing.F) {
	f.Add("report/7-1z-2/0", []byte(`{"status": "done"}`), false)
	f.Add("report", []byte(`[{"id": "7-1z-2.0", "status": "done"}]`), false)
	f.Add("incoming", []byte("from=1&text=x"), true)
	d := &driver{t: parsed(f, `{"send": {"url": "https://x.example/"}, "answer": [{"status": "2xx", "fate": "accepted"}],
		"callback": {"verify": {"scheme": "none"}, "state": "/status"}, "states": {"done": "completed"}, "incoming": {"from": "/from", "text": "/text"}}`)}
	f.Fuzz(func(t *testing.T, path string, body []byte, isForm bool) {
		c := channels.Callback{Method: "POST", Path: path, Body: body, At: time.Unix(1, 0)}
		if isForm {
			c.Form, _ = url.ParseQuery(string(body))
		}
		got, err := d.ParseCallback(c)
		if err != nil && (len(got.Reports) > 0 || len(got.Incoming) > 0) {
			t.Errorf("%+v beside %v", got, err)
		}
		for _, r := range got.Reports {
			if r.Outcome != weir.Completed || r.Attempt.Number < 1 {
				t.Errorf("%+v", r)
			}
		}
	})
}

// However often a template repeats what a client gives, a request has at most 1 MiB, and
// not much more is filled in before it is refused.
func TestRender_BoundsARequestToOneMegabyte(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	places := map[string]string{
		"json":  `"json": {"a": "{TEXTS}", "each": {"each": {"b": "{TEXTS}"}}}`,
		"form":  `"form": {"a": "{TEXTS}", "each": {"each": "{TEXTS}"}}`,
		"query": `"query": {"a": "{TEXTS}", "each": {"each": "{TEXTS}"}}`,
		"body":  `"body": "text"`,
		"basic": `"basic": {"username": "{TEXTS}", "password": "{TEXTS}"}`,
	}
	rapid.Check(t, func(r *rapid.T) {
		place := rapid.SampledFrom(slices.Sorted(maps.Keys(places))).Draw(r, "place")
		times := rapid.IntRange(1, 10_500).Draw(r, "times")
		length := rapid.IntRange(0, 1600).Draw(r, "length")
		messages := slices.Repeat([]string{strings.Repeat(rapid.SampledFrom([]string{"x", "\x01", "é"}).Draw(r, "letter"), length)}, rapid.IntRange(1, 50).Draw(r, "messages"))
		tpl := parsed(t, `{"send": {"url": "https://gw.example/", `+strings.ReplaceAll(places[place], "{TEXTS}", strings.Repeat("{text}", times))+`}, "answer": [{"status": "2xx", "fate": "completed"}]}`)
		c := content{a: channels.Attempt{Messages: messages}, part: whole}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := tpl.send.render(&c)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 256<<20 { // several copies of what is escaped
			r.Fatalf("%d bytes were allocated", n)
		}
		total := times * len(strings.Join(messages, "\n"))
		switch {
		case err != nil && !errors.Is(err, errSize):
			r.Fatal(err)
		case err == nil && (len(got.Body) > maxRequest || len(got.URL.RawQuery) > maxRequest):
			r.Fatalf("%d bytes of body, %d of query", len(got.Body), len(got.URL.RawQuery))
		case err == nil && total > maxRequest && place != "body":
			r.Fatalf("%d bytes were filled into %d of body", total, len(got.Body))
		case err != nil && total*8 < maxRequest/60:
			r.Fatalf("%d bytes are too many: %v", total, err)
		}
	})
}
