package api_test

import (
	"strings"
	"testing"

	"weir"
	"weir/web/webtest"
)

func TestBadInput_ContactsAreRefusedByPointer(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("texts", "texts", func(c *weir.Channel) { c.Settings["reply_reserve"] = 3.0 })
	r.Channel("voice", "voice")
	for _, tc := range webtest.BadContacts() {
		t.Run(tc.Name, func(t *testing.T) {
			channel := tc.Channel
			if channel == "" {
				channel = "texts"
			}
			r.Refuses(t, "POST", "/v1/channels/"+channel+"/contacts", tc)
		})
	}
}

func TestBadInput_MistakesAreBounded(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("texts", "texts")
	contacts := make([]string, 1000)
	for i := range contacts {
		contacts[i] = `{"x":1}`
	}
	p := r.Do("POST", "/v1/channels/texts/contacts", webtest.Batch(contacts...)).Problem(t)
	if len(p.Errors) != 100 || !strings.Contains(p.Detail, "3000 mistakes; the first 100 are listed") {
		t.Errorf("%d errors, %s", len(p.Errors), p.Detail)
	}
}

func TestBadInput_ChannelsAreRefusedByPointer(t *testing.T) {
	t.Parallel()
	const good = `"type":"texts","settings":{"base_url":"http://p.test","token":"t"}`
	cases := []struct {
		name, path, body string
		mistakes         []webtest.Mistake
	}{
		{"no type", "a", `{}`, []webtest.Mistake{{Pointer: "/type", Code: "required"}}},
		{"unknown type", "a", `{"type":"fax"}`, []webtest.Mistake{{Pointer: "/type", Code: "enum"}}},
		{"no settings", "a", `{"type":"texts"}`, []webtest.Mistake{{Pointer: "/settings/base_url", Code: "required"}, {Pointer: "/settings/token", Code: "required"}}},
		{"settings are a list", "a", `{"type":"texts","settings":[]}`, []webtest.Mistake{{Pointer: "/settings", Code: "type"}, {Pointer: "/settings/base_url", Code: "required"}, {Pointer: "/settings/token", Code: "required"}}},
		{"wrong settings", "a", `{"type":"texts","settings":{"base_url":"p.test","token":7,"colour":"red","at_least_once":"yes","reply_reserve":1.5}}`, []webtest.Mistake{
			{Pointer: "/settings/at_least_once", Code: "type"}, {Pointer: "/settings/reply_reserve", Code: "type"}, {Pointer: "/settings/base_url", Code: "type"}, {Pointer: "/settings/token", Code: "type"}, {Pointer: "/settings/colour", Code: "unknown"},
		}},
		{"reserve of everything", "a", `{"type":"texts","capacity":3,"settings":{"base_url":"http://p.test","token":"t","reply_reserve":3}}`, []webtest.Mistake{{Pointer: "/settings/reply_reserve", Code: "range"}}},
		{"capacity 0", "a", `{"capacity":0,` + good + `}`, []webtest.Mistake{{Pointer: "/capacity", Code: "range"}}},
		{"capacity below", "a", `{"capacity":-1,` + good + `}`, []webtest.Mistake{{Pointer: "/capacity", Code: "range"}}},
		{"capacity above", "a", `{"capacity":1000001,` + good + `}`, []webtest.Mistake{{Pointer: "/capacity", Code: "range"}}},
		{"capacity 1.5", "a", `{"capacity":1.5,` + good + `}`, []webtest.Mistake{{Pointer: "/capacity", Code: "type"}}},
		{"paused null", "a", `{"paused":null,` + good + `}`, []webtest.Mistake{{Pointer: "/paused", Code: "type"}}},
		{"capacity text", "a", `{"capacity":"5",` + good + `}`, []webtest.Mistake{{Pointer: "/capacity", Code: "type"}}},
		{"paused text", "a", `{"paused":"no",` + good + `}`, []webtest.Mistake{{Pointer: "/paused", Code: "type"}}},
		{"long name", "a", `{"name":"` + strings.Repeat("x", 201) + `",` + good + `}`, []webtest.Mistake{{Pointer: "/name", Code: "length"}}},
		{"unknown field", "a", `{"secret":"x",` + good + `}`, []webtest.Mistake{{Pointer: "/secret", Code: "unknown"}}},
		{"upper case", "A", `{` + good + `}`, []webtest.Mistake{{Pointer: "/channel", Code: "format"}}},
		{"leading dot", ".a", `{` + good + `}`, []webtest.Mistake{{Pointer: "/channel", Code: "format"}}},
		{"64 characters", strings.Repeat("a", 64), `{"capacity":0,` + good + `}`, []webtest.Mistake{{Pointer: "/capacity", Code: "range"}, {Pointer: "/channel", Code: "format"}}},
	}
	r := webtest.New(t)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			r.Refuses(t, "PUT", "/v1/channels/"+tc.path, webtest.Refused{Body: tc.body, Mistakes: tc.mistakes})
		})
	}
	r.Channel("have", "texts")
	patches := []webtest.Refused{
		{Name: "capacity", Body: `{"capacity":0}`, Mistakes: []webtest.Mistake{{Pointer: "/capacity", Code: "range"}}},
		{Name: "capacity text", Body: `{"capacity":"5"}`, Mistakes: []webtest.Mistake{{Pointer: "/capacity", Code: "type"}}},
		{Name: "type taken away", Body: `{"type":null}`, Mistakes: []webtest.Mistake{{Pointer: "/type", Code: "type"}}},
		{Name: "required setting taken away", Body: `{"settings":{"token":null}}`, Mistakes: []webtest.Mistake{{Pointer: "/settings/token", Code: "required"}}},
		{Name: "several", Body: `{"paused":1,"settings":{"x":1},"y":2}`, Mistakes: []webtest.Mistake{{Pointer: "/paused", Code: "type"}, {Pointer: "/y", Code: "unknown"}, {Pointer: "/settings/x", Code: "unknown"}}},
		{Name: "type", Body: `{"type":"voice"}`, Status: 409, Code: weir.CodeConflict, Mistakes: []webtest.Mistake{{Pointer: "/type", Code: "conflict"}}},
		{Name: "content type", Body: `{}`, Header: []string{"Content-Type", "text/plain"}, Status: 415, Code: "unsupported_content_type"},
		{Name: "too large", Body: `{"name":"` + strings.Repeat("x", 1<<20) + `"}`, Status: 413, Code: "too_large"},
	}
	for _, tc := range patches {
		t.Run("patch "+tc.Name, func(t *testing.T) { r.Refuses(t, "PATCH", "/v1/channels/have", tc) })
	}
	t.Run("other type", func(t *testing.T) {
		body := strings.Replace(`{`+good+`}`, "texts", "voice", 1)
		r.Refuses(t, "PUT", "/v1/channels/have", webtest.Refused{Body: body, Status: 409, Code: weir.CodeConflict, Mistakes: []webtest.Mistake{{Pointer: "/type", Code: "conflict"}}})
	})
}

func TestBadInput_QueriesAreRefusedByName(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("texts", "texts")
	for query, want := range map[string][]webtest.Mistake{
		"/v1/contacts?limit=0":                      {{Pointer: "/limit", Code: "range"}},
		"/v1/contacts?limit=1001":                   {{Pointer: "/limit", Code: "range"}},
		"/v1/contacts?limit=x":                      {{Pointer: "/limit", Code: "type"}},
		"/v1/contacts?limit=1&limit=2":              {{Pointer: "/limit", Code: "duplicate"}},
		"/v1/contacts?state=queued,gone":            {{Pointer: "/state", Code: "enum"}},
		"/v1/contacts?since=now&until=2026-01-01":   {{Pointer: "/since", Code: "format"}, {Pointer: "/until", Code: "format"}},
		"/v1/contacts?colour=red&limit=0":           {{Pointer: "/limit", Code: "range"}, {Pointer: "/colour", Code: "unknown"}},
		"/v1/contacts?a=%zz":                        {{Pointer: "", Code: "format"}},
		"/v1/contacts?key=%ff":                      {{Pointer: "/key", Code: "length"}},
		"/v1/channels?limit=501":                    {{Pointer: "/limit", Code: "range"}},
		"/v1/channels?cursor=%40":                   {{Pointer: "/cursor", Code: "format"}},
		"/v1/channels/texts/incoming?after=-1":      {{Pointer: "/after", Code: "range"}},
		"/v1/channels/texts/incoming?after=1e3":     {{Pointer: "/after", Code: "type"}},
		"/v1/channels/texts/incoming?limit=1000000": {{Pointer: "/limit", Code: "range"}},
	} {
		r.Refuses(t, "GET", query, webtest.Refused{Mistakes: want})
	}
	r.Refuses(t, "DELETE", "/v1/channels/texts?cancel=maybe", webtest.Refused{Mistakes: []webtest.Mistake{{Pointer: "/cancel", Code: "type"}}})
	r.Refuses(t, "DELETE", "/v1/channels/texts?cancel=true&force=1", webtest.Refused{Mistakes: []webtest.Mistake{{Pointer: "/force", Code: "unknown"}}})
}

// A client that trusts the header Idempotency-Key would send twice if it were ignored.
func TestBadInput_IdempotencyKeyHeaderIsRefused(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("sms", "nuntium")
	body := `{"contacts":[{"to":"+15550001","messages":["x"]}]}`
	for path, body := range map[string]string{"/v1/channels/sms/contacts": body, "/v1/webhooks": `{"url":"https://example.org"}`} {
		g := r.Do("POST", path, body, "Idempotency-Key", "k1")
		if g.Status != 422 || !strings.Contains(g.Body, "the field key of each contact") {
			t.Errorf("%s: %d %s", path, g.Status, g.Body)
		}
	}
	if g := r.Do("GET", "/v1/channels/sms", "", "Idempotency-Key", "k1"); g.Status != 200 {
		t.Errorf("GET: %d %s", g.Status, g.Body)
	}
}
