package webtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"weir"
)

const GoodTexts = `{"type":"texts","name":"Our texts","capacity":5,"settings":{"base_url":"http://p.test","token":"CANARY-provider-token","channel":"one"}}`

// Mistake is an expected entry of a problem's list of errors.
type Mistake struct{ Pointer, Code string }

func MistakesOf(t *testing.T, g Got) []Mistake {
	t.Helper()
	var list []Mistake
	for _, e := range g.Problem(t).Errors {
		list = append(list, Mistake{e.Pointer, e.Code})
		if e.Detail == "" {
			t.Errorf("%s has no detail", e.Pointer)
		}
	}
	return list
}

// Refused is a request that must change nothing.
type Refused struct {
	Name     string
	Channel  string // texts when empty
	Body     string
	Header   []string
	Status   int // 422 when 0
	Code     weir.Code
	Mistakes []Mistake
}

func Text(more string) string { return `{"to":"+15550001","messages":["hi"]` + more + `}` }

func Call(fields string) string { return `{"to":"+15550001","call":` + fields + `}` }

func Batch(contacts ...string) string {
	return `{"contacts":[` + strings.Join(contacts, ",") + `]}`
}

func BadContacts() []Refused {
	at := func(pointer, code string) []Mistake { return []Mistake{{"/contacts/0" + pointer, code}} }
	long := func(n int) string { return strings.Repeat("x", n) }
	labels := map[string]string{}
	for i := range 33 {
		labels[fmt.Sprint(i)] = ""
	}
	manyLabels, _ := json.Marshal(labels)
	return append(badCalls(), []Refused{
		{Name: "no body", Body: " ", Status: 400},
		{Name: "not JSON", Body: `{"contacts":`, Status: 400},
		{Name: "two documents", Body: Batch(Text("")) + Batch(Text("")), Status: 400},
		{Name: "not UTF-8", Body: "{\"contacts\":\"\xff\"}", Status: 400},
		{Name: "half a character", Body: Batch(Text(`,"key":"a\ud800"`)), Status: 400},
		{Name: "the other half", Body: Batch(Text(`,"key":"a\udc00\ud800"`)), Status: 400},
		{Name: "half a character and another escape", Body: Batch(Text(`,"key":"\ud83d\\de00"`)), Status: 400},
		{Name: "number out of range", Body: `{"contacts":1e999}`, Mistakes: []Mistake{{"/contacts", "type"}}},
		{Name: "content type", Body: Batch(Text("")), Header: []string{"Content-Type", "text/plain"}, Status: 415, Code: "unsupported_content_type"},
		{Name: "no content type", Body: Batch(Text("")), Header: []string{"Content-Type", ""}, Status: 415, Code: "unsupported_content_type"},
		{Name: "charset", Body: Batch(Text("")), Header: []string{"Content-Type", "application/json; charset=latin1"}, Status: 415, Code: "unsupported_content_type"},
		{Name: "compressed", Body: Batch(Text("")), Header: []string{"Content-Encoding", "gzip"}, Status: 415, Code: "unsupported_content_type"},
		{Name: "too large", Body: Batch(Text(`,"survey":"` + long(4<<20) + `"`)), Status: 413, Code: "too_large"},
		{Name: "no object", Body: `[]`, Mistakes: []Mistake{{"", "type"}}},
		{Name: "null", Body: `null`, Mistakes: []Mistake{{"", "type"}}},
		{Name: "no contacts", Body: `{}`, Mistakes: []Mistake{{"/contacts", "required"}}},
		{Name: "none", Body: Batch(), Mistakes: []Mistake{{"/contacts", "length"}}},
		{Name: "1001", Body: Batch(strings.Split(strings.Repeat(Text("")+";", 1001), ";")[:1001]...), Mistakes: []Mistake{{"/contacts", "length"}}},
		{Name: "contact is no object", Body: Batch(`7`), Mistakes: at("", "type")},
		{Name: "unknown field", Body: `{"contacts":[` + Text(`,"colour":1`) + `],"a/b~c":1}`, Mistakes: []Mistake{{"/contacts/0/colour", "unknown"}, {"/a~1b~0c", "unknown"}}},
		{Name: "other case", Body: Batch(Text(`,"To":"+1555000"`)), Mistakes: at("/To", "unknown")},
		{Name: "no address", Body: Batch(`{"messages":["hi"]}`), Mistakes: at("/to", "required")},
		{Name: "address is a number", Body: Batch(`{"to":15550001,"messages":["hi"]}`), Mistakes: at("/to", "type")},
		{Name: "address with letters", Body: Batch(`{"to":"+1555CALL","messages":["hi"]}`), Mistakes: at("/to", "format")},
		{Name: "address with spaces", Body: Batch(`{"to":"+1 555 CALL","messages":["hi"]}`), Mistakes: at("/to", "format")},
		{Name: "address empty", Body: Batch(`{"to":"","messages":["hi"]}`), Mistakes: at("/to", "length")},
		{Name: "address too short", Body: Batch(`{"to":"11","messages":["hi"]}`), Mistakes: at("/to", "format")},
		{Name: "address too long", Body: Batch(`{"to":"+1234567890123456","messages":["hi"]}`), Mistakes: at("/to", "format")},
		{Name: "address null", Body: Batch(`{"to":null,"messages":["hi"]}`), Mistakes: at("/to", "type")},
		{Name: "priority", Body: Batch(Text(`,"priority":"urgent"`)), Mistakes: at("/priority", "enum")},
		{Name: "priority type", Body: Batch(Text(`,"priority":1`)), Mistakes: at("/priority", "type")},
		{Name: "empty key", Body: Batch(Text(`,"key":""`)), Mistakes: at("/key", "length")},
		{Name: "long key", Body: Batch(Text(`,"key":"` + long(201) + `"`)), Mistakes: at("/key", "length")},
		{Name: "key with a control character", Body: Batch(Text(`,"key":"a\u0007"`)), Mistakes: at("/key", "format")},
		{Name: "key with a line break", Body: Batch(Text(`,"key":"a\n"`)), Mistakes: at("/key", "format")},
		{Name: "a key of Weir's own", Body: Batch(Text(`,"key":"requeue:1-2"`), Text(`,"key":"requeue:1-2"`), Text(`,"key":"requeue"`)), Mistakes: []Mistake{{"/contacts/0/key", "reserved"}, {"/contacts/1/key", "reserved"}}},
		{Name: "duplicate key", Body: Batch(Text(`,"key":"a"`), Text(`,"key":"b"`), Text(`,"key":"a"`)), Mistakes: []Mistake{{"/contacts/2/key", "duplicate"}}},
		{Name: "long survey", Body: Batch(Text(`,"survey":"` + long(65) + `"`)), Mistakes: at("/survey", "length")},
		{Name: "not_before is no instant", Body: Batch(Text(`,"not_before":"tomorrow"`)), Mistakes: at("/not_before", "format")},
		{Name: "not_after without a zone", Body: Batch(Text(`,"not_after":"2027-01-01T00:00:00"`)), Mistakes: at("/not_after", "format")},
		{Name: "window over", Body: Batch(Text(`,"not_after":"2026-03-01T12:00:00Z"`)), Mistakes: at("/not_after", "window")},
		{Name: "window reversed", Body: Batch(Text(`,"not_before":"2027-01-02T00:00:00Z","not_after":"2027-01-01T00:00:00Z"`)), Mistakes: at("/not_after", "window")},
		{Name: "window empty", Body: Batch(Text(`,"not_before":"2027-01-01T00:00:00Z","not_after":"2027-01-01T01:00:00+01:00"`)), Mistakes: at("/not_after", "window")},
		{Name: "33 labels", Body: Batch(Text(`,"labels":` + string(manyLabels))), Mistakes: at("/labels", "length")},
		{Name: "label of a number", Body: Batch(Text(`,"labels":{"a":1}`)), Mistakes: at("/labels/a", "type")},
		{Name: "label name too long", Body: Batch(Text(`,"labels":{"` + long(65) + `":""}`)), Mistakes: at("/labels/"+long(65), "format")},
		{Name: "label without a name", Body: Batch(Text(`,"labels":{"":""}`)), Mistakes: at("/labels/", "format")},
		{Name: "label too long", Body: Batch(Text(`,"labels":{"a":"` + long(257) + `"}`)), Mistakes: at("/labels/a", "length")},
		{Name: "no content", Body: Batch(`{"to":"+15550001"}`), Mistakes: at("/messages", "required")},
		{Name: "a call on a text channel", Body: Batch(Call(`{"call_flow_id":1}`)), Mistakes: []Mistake{{"/contacts/0/messages", "required"}, {"/contacts/0/call", "content"}}},
		{Name: "no messages", Body: Batch(`{"to":"+15550001","messages":[]}`), Mistakes: at("/messages", "length")},
		{Name: "empty message", Body: Batch(`{"to":"+15550001","messages":["a",""]}`), Mistakes: at("/messages/1", "length")},
		{Name: "long message", Body: Batch(`{"to":"+15550001","messages":["` + long(1601) + `"]}`), Mistakes: at("/messages/0", "length")},
		{Name: "message is no text", Body: Batch(`{"to":"+15550001","messages":[1]}`), Mistakes: at("/messages/0", "type")},
		{Name: "larger than the capacity", Body: Batch(`{"to":"+15550001","priority":"reply","messages":["1","2","3","4","5","6","7","8","9","10","11"]}`), Mistakes: at("/messages", "size")},
		{Name: "larger than what replies leave", Body: Batch(`{"to":"+15550001","messages":["1","2","3","4","5","6","7","8"]}`), Mistakes: at("/messages", "size")},
		{Name: "a text on a voice channel", Channel: "voice", Body: Batch(Text("")), Mistakes: []Mistake{{"/contacts/0/call", "required"}, {"/contacts/0/messages", "content"}}},
		{
			Name: "all mistakes at once", Body: Batch(Text(`,"key":"a"`), `{"to":"+15550001x","priority":"x","messages":["ok",""]}`, Text(`,"key":"a","not_after":"2020-01-01T00:00:00Z"`)),
			Mistakes: []Mistake{
				{"/contacts/1/priority", "enum"}, {"/contacts/1/to", "format"}, {"/contacts/1/messages/1", "length"},
				{"/contacts/2/key", "duplicate"}, {"/contacts/2/not_after", "window"},
			},
		},
		{Name: "unknown channel", Channel: "nobody", Body: Batch(Text("")), Status: 404, Code: weir.CodeNotFound},
		{Name: "impossible channel", Channel: "No%20Body", Body: Batch(Text("")), Status: 404, Code: weir.CodeNotFound},
	}...)
}

// badCalls lists contacts with calls that must change nothing.
func badCalls() []Refused {
	at := func(pointer, code string) []Mistake { return []Mistake{{"/contacts/0" + pointer, code}} }
	return []Refused{
		{Name: "an empty call", Channel: "voice", Body: Batch(Call(`{}`)), Mistakes: at("/call", "content")},
		{Name: "two kinds of call", Channel: "voice", Body: Batch(Call(`{"call_flow_id":1,"callback_url":"http://a.test/"}`)), Mistakes: at("/call", "content")},
		{Name: "call flow 0", Channel: "voice", Body: Batch(Call(`{"call_flow_id":0}`)), Mistakes: at("/call/call_flow_id", "range")},
		{Name: "call flow 1.5", Channel: "voice", Body: Batch(Call(`{"call_flow_id":1.5}`)), Mistakes: at("/call/call_flow_id", "type")},
		{Name: "call flow as text", Channel: "voice", Body: Batch(Call(`{"call_flow_id":"1"}`)), Mistakes: at("/call/call_flow_id", "type")},
		{Name: "call URL of another scheme", Channel: "voice", Body: Batch(Call(`{"callback_url":"ftp://a.test/"}`)), Mistakes: at("/call/callback_url", "format")},
		{Name: "call URL without a host", Channel: "voice", Body: Batch(Call(`{"callback_url":"/flow"}`)), Mistakes: at("/call/callback_url", "format")},
		{Name: "TwiML that is not well-formed", Channel: "voice", Body: Batch(Call(`{"twiml":"<Response><Say>"}`)), Mistakes: at("/call/twiml", "format")},
		{Name: "TwiML of another root", Channel: "voice", Body: Batch(Call(`{"twiml":"<html/>"}`)), Mistakes: at("/call/twiml", "format")},
		{Name: "TwiML with two roots", Channel: "voice", Body: Batch(Call(`{"twiml":"<Response/><Response/>"}`)), Mistakes: at("/call/twiml", "format")},
		{Name: "TwiML with text around", Channel: "voice", Body: Batch(Call(`{"twiml":"<Response/>x"}`)), Mistakes: at("/call/twiml", "format")},
		{Name: "TwiML too large", Channel: "voice", Body: Batch(Call(`{"twiml":"<Response>` + strings.Repeat("ä", 40_000) + `</Response>"}`)), Mistakes: at("/call/twiml", "length")},
		{Name: "unknown field of a call", Channel: "voice", Body: Batch(Call(`{"call_flow_id":1,"loop":2}`)), Mistakes: at("/call/loop", "unknown")},
	}
}

// Mixed returns the parts of a response of several.
func Mixed(t *testing.T, g Got) (parts []string) {
	t.Helper()
	_, params, err := mime.ParseMediaType(g.Header.Get("Content-Type"))
	if err != nil {
		t.Fatalf("%v: %s", err, g.Body)
	}
	for r := multipart.NewReader(strings.NewReader(g.Body), params["boundary"]); ; {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return parts
		}
		text := []byte(nil)
		if err == nil {
			text, err = io.ReadAll(part)
		}
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(text))
	}
}
