package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir"
)

// mistake is an expected entry of a problem's list of errors.
type mistake struct{ Pointer, Code string }

func mistakesOf(t *testing.T, g got) []mistake {
	t.Helper()
	var list []mistake
	for _, e := range g.problem(t).Errors {
		list = append(list, mistake{e.Pointer, e.Code})
		if e.Detail == "" {
			t.Errorf("%s has no detail", e.Pointer)
		}
	}
	return list
}

// refused is a request that must change nothing.
type refused struct {
	name     string
	channel  string // texts when empty
	body     string
	header   []string
	status   int // 422 when 0
	code     weir.Code
	mistakes []mistake
}

func text(more string) string   { return `{"to":"+15550001","messages":["hi"]` + more + `}` }
func call(fields string) string { return `{"to":"+15550001","call":` + fields + `}` }
func batch(contacts ...string) string {
	return `{"contacts":[` + strings.Join(contacts, ",") + `]}`
}

func badContacts() []refused {
	at := func(pointer, code string) []mistake { return []mistake{{"/contacts/0" + pointer, code}} }
	long := func(n int) string { return strings.Repeat("x", n) }
	labels := map[string]string{}
	for i := range 33 {
		labels[fmt.Sprint(i)] = ""
	}
	manyLabels, _ := json.Marshal(labels)
	return []refused{
		{name: "no body", body: " ", status: 400},
		{name: "not JSON", body: `{"contacts":`, status: 400},
		{name: "two documents", body: batch(text("")) + batch(text("")), status: 400},
		{name: "not UTF-8", body: "{\"contacts\":\"\xff\"}", status: 400},
		{name: "half a character", body: batch(text(`,"key":"a\ud800"`)), status: 400},
		{name: "the other half", body: batch(text(`,"key":"a\udc00\ud800"`)), status: 400},
		{name: "half a character and another escape", body: batch(text(`,"key":"\ud83d\\de00"`)), status: 400},
		{name: "number out of range", body: `{"contacts":1e999}`, status: 400},
		{name: "content type", body: batch(text("")), header: []string{"Content-Type", "text/plain"}, status: 415, code: "unsupported_content_type"},
		{name: "no content type", body: batch(text("")), header: []string{"Content-Type", ""}, status: 415, code: "unsupported_content_type"},
		{name: "charset", body: batch(text("")), header: []string{"Content-Type", "application/json; charset=latin1"}, status: 415, code: "unsupported_content_type"},
		{name: "compressed", body: batch(text("")), header: []string{"Content-Encoding", "gzip"}, status: 415, code: "unsupported_content_type"},
		{name: "too large", body: batch(text(`,"survey":"` + long(4<<20) + `"`)), status: 413, code: "too_large"},
		{name: "no object", body: `[]`, mistakes: []mistake{{"", "type"}}},
		{name: "null", body: `null`, mistakes: []mistake{{"", "type"}}},
		{name: "no contacts", body: `{}`, mistakes: []mistake{{"/contacts", "required"}}},
		{name: "none", body: batch(), mistakes: []mistake{{"/contacts", "length"}}},
		{name: "1001", body: batch(strings.Split(strings.Repeat(text("")+";", 1001), ";")[:1001]...), mistakes: []mistake{{"/contacts", "length"}}},
		{name: "contact is no object", body: batch(`7`), mistakes: at("", "type")},
		{name: "unknown field", body: `{"contacts":[` + text(`,"colour":1`) + `],"a/b~c":1}`, mistakes: []mistake{{"/contacts/0/colour", "unknown"}, {"/a~1b~0c", "unknown"}}},
		{name: "other case", body: batch(text(`,"To":"+1555000"`)), mistakes: at("/To", "unknown")},
		{name: "no address", body: batch(`{"messages":["hi"]}`), mistakes: at("/to", "required")},
		{name: "address is a number", body: batch(`{"to":15550001,"messages":["hi"]}`), mistakes: at("/to", "type")},
		{name: "address with letters", body: batch(`{"to":"+1555CALL","messages":["hi"]}`), mistakes: at("/to", "format")},
		{name: "address with spaces", body: batch(`{"to":"+1 555 CALL","messages":["hi"]}`), mistakes: at("/to", "format")},
		{name: "address too short", body: batch(`{"to":"11","messages":["hi"]}`), mistakes: at("/to", "format")},
		{name: "address too long", body: batch(`{"to":"+1234567890123456","messages":["hi"]}`), mistakes: at("/to", "format")},
		{name: "address null", body: batch(`{"to":null,"messages":["hi"]}`), mistakes: at("/to", "type")},
		{name: "priority", body: batch(text(`,"priority":"urgent"`)), mistakes: at("/priority", "enum")},
		{name: "priority type", body: batch(text(`,"priority":1`)), mistakes: at("/priority", "type")},
		{name: "empty key", body: batch(text(`,"key":""`)), mistakes: at("/key", "length")},
		{name: "long key", body: batch(text(`,"key":"` + long(201) + `"`)), mistakes: at("/key", "length")},
		{name: "key with a control character", body: batch(text(`,"key":"a\u0007"`)), mistakes: at("/key", "format")},
		{name: "key with a line break", body: batch(text(`,"key":"a\n"`)), mistakes: at("/key", "format")},
		{name: "a key of Weir's own", body: batch(text(`,"key":"requeue:1-2"`), text(`,"key":"requeue:1-2"`), text(`,"key":"requeue"`)), mistakes: []mistake{{"/contacts/0/key", "reserved"}, {"/contacts/1/key", "reserved"}}},
		{name: "duplicate key", body: batch(text(`,"key":"a"`), text(`,"key":"b"`), text(`,"key":"a"`)), mistakes: []mistake{{"/contacts/2/key", "duplicate"}}},
		{name: "long survey", body: batch(text(`,"survey":"` + long(65) + `"`)), mistakes: at("/survey", "length")},
		{name: "not_before is no instant", body: batch(text(`,"not_before":"tomorrow"`)), mistakes: at("/not_before", "format")},
		{name: "not_after without a zone", body: batch(text(`,"not_after":"2027-01-01T00:00:00"`)), mistakes: at("/not_after", "format")},
		{name: "window over", body: batch(text(`,"not_after":"2026-03-01T12:00:00Z"`)), mistakes: at("/not_after", "window")},
		{name: "window reversed", body: batch(text(`,"not_before":"2027-01-02T00:00:00Z","not_after":"2027-01-01T00:00:00Z"`)), mistakes: at("/not_after", "window")},
		{name: "window empty", body: batch(text(`,"not_before":"2027-01-01T00:00:00Z","not_after":"2027-01-01T01:00:00+01:00"`)), mistakes: at("/not_after", "window")},
		{name: "33 labels", body: batch(text(`,"labels":` + string(manyLabels))), mistakes: at("/labels", "length")},
		{name: "label of a number", body: batch(text(`,"labels":{"a":1}`)), mistakes: at("/labels/a", "type")},
		{name: "label name too long", body: batch(text(`,"labels":{"` + long(65) + `":""}`)), mistakes: at("/labels/"+long(65), "format")},
		{name: "label without a name", body: batch(text(`,"labels":{"":""}`)), mistakes: at("/labels/", "format")},
		{name: "label too long", body: batch(text(`,"labels":{"a":"` + long(257) + `"}`)), mistakes: at("/labels/a", "length")},
		{name: "no content", body: batch(`{"to":"+15550001"}`), mistakes: at("/messages", "required")},
		{name: "a call on a text channel", body: batch(call(`{"call_flow_id":1}`)), mistakes: []mistake{{"/contacts/0/messages", "required"}, {"/contacts/0/call", "content"}}},
		{name: "no messages", body: batch(`{"to":"+15550001","messages":[]}`), mistakes: at("/messages", "length")},
		{name: "empty message", body: batch(`{"to":"+15550001","messages":["a",""]}`), mistakes: at("/messages/1", "length")},
		{name: "long message", body: batch(`{"to":"+15550001","messages":["` + long(1601) + `"]}`), mistakes: at("/messages/0", "length")},
		{name: "message is no text", body: batch(`{"to":"+15550001","messages":[1]}`), mistakes: at("/messages/0", "type")},
		{name: "larger than the capacity", body: batch(`{"to":"+15550001","priority":"reply","messages":["1","2","3","4","5","6","7","8","9","10","11"]}`), mistakes: at("/messages", "size")},
		{name: "larger than what replies leave", body: batch(`{"to":"+15550001","messages":["1","2","3","4","5","6","7","8"]}`), mistakes: at("/messages", "size")},
		{name: "a text on a voice channel", channel: "voice", body: batch(text("")), mistakes: []mistake{{"/contacts/0/call", "required"}, {"/contacts/0/messages", "content"}}},
		{name: "an empty call", channel: "voice", body: batch(call(`{}`)), mistakes: at("/call", "content")},
		{name: "two kinds of call", channel: "voice", body: batch(call(`{"call_flow_id":1,"callback_url":"http://a.test/"}`)), mistakes: at("/call", "content")},
		{name: "call flow 0", channel: "voice", body: batch(call(`{"call_flow_id":0}`)), mistakes: at("/call/call_flow_id", "range")},
		{name: "call flow 1.5", channel: "voice", body: batch(call(`{"call_flow_id":1.5}`)), mistakes: at("/call/call_flow_id", "type")},
		{name: "call flow as text", channel: "voice", body: batch(call(`{"call_flow_id":"1"}`)), mistakes: at("/call/call_flow_id", "type")},
		{name: "call URL of another scheme", channel: "voice", body: batch(call(`{"callback_url":"ftp://a.test/"}`)), mistakes: at("/call/callback_url", "format")},
		{name: "call URL without a host", channel: "voice", body: batch(call(`{"callback_url":"/flow"}`)), mistakes: at("/call/callback_url", "format")},
		{name: "TwiML that is not well-formed", channel: "voice", body: batch(call(`{"twiml":"<Response><Say>"}`)), mistakes: at("/call/twiml", "format")},
		{name: "TwiML of another root", channel: "voice", body: batch(call(`{"twiml":"<html/>"}`)), mistakes: at("/call/twiml", "format")},
		{name: "TwiML with two roots", channel: "voice", body: batch(call(`{"twiml":"<Response/><Response/>"}`)), mistakes: at("/call/twiml", "format")},
		{name: "TwiML with text around", channel: "voice", body: batch(call(`{"twiml":"<Response/>x"}`)), mistakes: at("/call/twiml", "format")},
		{name: "TwiML too large", channel: "voice", body: batch(call(`{"twiml":"<Response>` + strings.Repeat("ä", 40_000) + `</Response>"}`)), mistakes: at("/call/twiml", "length")},
		{name: "unknown field of a call", channel: "voice", body: batch(call(`{"call_flow_id":1,"loop":2}`)), mistakes: at("/call/loop", "unknown")},
		{
			name: "all mistakes at once", body: batch(text(`,"key":"a"`), `{"to":"+15550001x","priority":"x","messages":["ok",""]}`, text(`,"key":"a","not_after":"2020-01-01T00:00:00Z"`)),
			mistakes: []mistake{
				{"/contacts/1/priority", "enum"}, {"/contacts/1/to", "format"}, {"/contacts/1/messages/1", "length"},
				{"/contacts/2/key", "duplicate"}, {"/contacts/2/not_after", "window"},
			},
		},
		{name: "unknown channel", channel: "nobody", body: batch(text("")), status: 404, code: weir.CodeNotFound},
		{name: "impossible channel", channel: "No%20Body", body: batch(text("")), status: 404, code: weir.CodeNotFound},
	}
}

func TestBadInput_ContactsAreRefusedByPointer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.channel("texts", "texts", func(c *weir.Channel) { c.Settings["reply_reserve"] = 3.0 })
	r.channel("voice", "voice")
	for _, tc := range badContacts() {
		t.Run(tc.name, func(t *testing.T) {
			channel := tc.channel
			if channel == "" {
				channel = "texts"
			}
			r.refuses(t, "POST", "/v1/channels/"+channel+"/contacts", tc)
		})
	}
}

// refuses sends a request and checks the response against tc.
func (r *rig) refuses(t *testing.T, method, path string, tc refused) {
	t.Helper()
	writes := r.writes
	g := r.do(method, path, tc.body, tc.header...)
	if tc.status == 0 {
		tc.status = 422
	}
	if tc.code == "" {
		tc.code = weir.CodeInvalid
	}
	if p := g.problem(t); g.status != tc.status || p.Code != tc.code {
		t.Fatalf("%d %s, want %d %s: %s", g.status, p.Code, tc.status, tc.code, g.body)
	}
	if d := cmp.Diff(tc.mistakes, mistakesOf(t, g)); d != "" {
		t.Errorf("mistakes (-want +got):\n%s\n%s", d, g.body)
	}
	if r.writes != writes {
		t.Errorf("%d writes", r.writes-writes)
	}
}

func TestBadInput_MistakesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.channel("texts", "texts")
	contacts := make([]string, 1000)
	for i := range contacts {
		contacts[i] = `{"x":1}`
	}
	p := r.do("POST", "/v1/channels/texts/contacts", batch(contacts...)).problem(t)
	if len(p.Errors) != 100 || !strings.Contains(p.Detail, "3000 mistakes; the first 100 are listed") {
		t.Errorf("%d errors, %s", len(p.Errors), p.Detail)
	}
}

func TestBadInput_ChannelsAreRefusedByPointer(t *testing.T) {
	t.Parallel()
	const good = `"type":"texts","settings":{"base_url":"http://p.test","token":"t"}`
	cases := []struct {
		name, path, body string
		mistakes         []mistake
	}{
		{"no type", "a", `{}`, []mistake{{"/type", "required"}}},
		{"unknown type", "a", `{"type":"fax"}`, []mistake{{"/type", "enum"}}},
		{"no settings", "a", `{"type":"texts"}`, []mistake{{"/settings/base_url", "required"}, {"/settings/token", "required"}}},
		{"settings are a list", "a", `{"type":"texts","settings":[]}`, []mistake{{"/settings", "type"}, {"/settings/base_url", "required"}, {"/settings/token", "required"}}},
		{"wrong settings", "a", `{"type":"texts","settings":{"base_url":"p.test","token":7,"colour":"red","at_least_once":"yes","reply_reserve":1.5}}`, []mistake{
			{"/settings/at_least_once", "type"}, {"/settings/reply_reserve", "type"}, {"/settings/base_url", "type"}, {"/settings/token", "type"}, {"/settings/colour", "unknown"},
		}},
		{"reserve of everything", "a", `{"type":"texts","capacity":3,"settings":{"base_url":"http://p.test","token":"t","reply_reserve":3}}`, []mistake{{"/settings/reply_reserve", "range"}}},
		{"capacity 0", "a", `{"capacity":0,` + good + `}`, []mistake{{"/capacity", "range"}}},
		{"capacity below", "a", `{"capacity":-1,` + good + `}`, []mistake{{"/capacity", "range"}}},
		{"capacity above", "a", `{"capacity":1000001,` + good + `}`, []mistake{{"/capacity", "range"}}},
		{"capacity 1.5", "a", `{"capacity":1.5,` + good + `}`, []mistake{{"/capacity", "type"}}},
		{"paused null", "a", `{"paused":null,` + good + `}`, []mistake{{"/paused", "type"}}},
		{"capacity text", "a", `{"capacity":"5",` + good + `}`, []mistake{{"/capacity", "type"}}},
		{"paused text", "a", `{"paused":"no",` + good + `}`, []mistake{{"/paused", "type"}}},
		{"long name", "a", `{"name":"` + strings.Repeat("x", 201) + `",` + good + `}`, []mistake{{"/name", "length"}}},
		{"unknown field", "a", `{"secret":"x",` + good + `}`, []mistake{{"/secret", "unknown"}}},
		{"upper case", "A", `{` + good + `}`, []mistake{{"/channel", "format"}}},
		{"leading dot", ".a", `{` + good + `}`, []mistake{{"/channel", "format"}}},
		{"64 characters", strings.Repeat("a", 64), `{"capacity":0,` + good + `}`, []mistake{{"/capacity", "range"}, {"/channel", "format"}}},
	}
	r := newRig(t)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			r.refuses(t, "PUT", "/v1/channels/"+tc.path, refused{body: tc.body, mistakes: tc.mistakes})
		})
	}
	r.channel("have", "texts")
	patches := []refused{
		{name: "capacity", body: `{"capacity":0}`, mistakes: []mistake{{"/capacity", "range"}}},
		{name: "capacity text", body: `{"capacity":"5"}`, mistakes: []mistake{{"/capacity", "type"}}},
		{name: "type taken away", body: `{"type":null}`, mistakes: []mistake{{"/type", "type"}}},
		{name: "required setting taken away", body: `{"settings":{"token":null}}`, mistakes: []mistake{{"/settings/token", "required"}}},
		{name: "several", body: `{"paused":1,"settings":{"x":1},"y":2}`, mistakes: []mistake{{"/paused", "type"}, {"/y", "unknown"}, {"/settings/x", "unknown"}}},
		{name: "type", body: `{"type":"voice"}`, status: 409, code: weir.CodeConflict, mistakes: []mistake{{"/type", "conflict"}}},
		{name: "content type", body: `{}`, header: []string{"Content-Type", "text/plain"}, status: 415, code: "unsupported_content_type"},
		{name: "too large", body: `{"name":"` + strings.Repeat("x", 1<<20) + `"}`, status: 413, code: "too_large"},
	}
	for _, tc := range patches {
		t.Run("patch "+tc.name, func(t *testing.T) { r.refuses(t, "PATCH", "/v1/channels/have", tc) })
	}
	t.Run("other type", func(t *testing.T) {
		body := strings.Replace(`{`+good+`}`, "texts", "voice", 1)
		r.refuses(t, "PUT", "/v1/channels/have", refused{body: body, status: 409, code: weir.CodeConflict, mistakes: []mistake{{"/type", "conflict"}}})
	})
}

func TestBadInput_QueriesAreRefusedByName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.channel("texts", "texts")
	for query, want := range map[string][]mistake{
		"/v1/contacts?limit=0":                      {{"/limit", "range"}},
		"/v1/contacts?limit=1001":                   {{"/limit", "range"}},
		"/v1/contacts?limit=x":                      {{"/limit", "type"}},
		"/v1/contacts?limit=1&limit=2":              {{"/limit", "duplicate"}},
		"/v1/contacts?state=queued,gone":            {{"/state", "enum"}},
		"/v1/contacts?since=now&until=2026-01-01":   {{"/since", "format"}, {"/until", "format"}},
		"/v1/contacts?colour=red&limit=0":           {{"/limit", "range"}, {"/colour", "unknown"}},
		"/v1/contacts?a=%zz":                        {{"", "format"}},
		"/v1/contacts?key=%ff":                      {{"/key", "length"}},
		"/v1/channels?limit=501":                    {{"/limit", "range"}},
		"/v1/channels?cursor=%40":                   {{"/cursor", "format"}},
		"/v1/channels/texts/incoming?after=-1":      {{"/after", "range"}},
		"/v1/channels/texts/incoming?after=1e3":     {{"/after", "type"}},
		"/v1/channels/texts/incoming?limit=1000000": {{"/limit", "range"}},
	} {
		r.refuses(t, "GET", query, refused{mistakes: want})
	}
	r.refuses(t, "DELETE", "/v1/channels/texts?cancel=maybe", refused{mistakes: []mistake{{"/cancel", "type"}}})
	r.refuses(t, "DELETE", "/v1/channels/texts?cancel=true&force=1", refused{mistakes: []mistake{{"/force", "unknown"}}})
}

// A client that trusts the header Idempotency-Key would send twice if it were ignored.
func TestBadInput_IdempotencyKeyHeaderIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.channel("sms", "nuntium")
	body := `{"contacts":[{"to":"+15550001","messages":["x"]}]}`
	for path, body := range map[string]string{"/v1/channels/sms/contacts": body, "/v1/webhooks": `{"url":"https://example.org"}`} {
		g := r.do("POST", path, body, "Idempotency-Key", "k1")
		if g.status != 422 || !strings.Contains(g.body, "the field key of each contact") {
			t.Errorf("%s: %d %s", path, g.status, g.body)
		}
	}
	if g := r.do("GET", "/v1/channels/sms", "", "Idempotency-Key", "k1"); g.status != 200 {
		t.Errorf("GET: %d %s", g.status, g.body)
	}
}
