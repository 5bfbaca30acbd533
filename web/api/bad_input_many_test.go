package api_test

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"weir"
	"weir/web/webtest"
)

// Scenario 200: the memory that a wrong body costs is bounded, whatever is wrong with it.
//
// Scenario 200.
//
//nolint:paralleltest // it measures what the process allocates
func TestBadInput_BodiesFullOfMistakesTakeBoundedMemory(t *testing.T) {
	r := webtest.New(t)
	r.Channel("texts", "texts")
	r.Do("POST", "/v1/channels/texts/contacts", webtest.Batch(`{"to":1}`)) // the first one pays for what the process loads once
	unknown := make([]string, 140_000)
	for i := range unknown {
		unknown[i] = `"a` + strconv.Itoa(i) + `":1`
	}
	for name, tc := range map[string]struct {
		path, body string
		code       weir.Code
		megabytes  uint64 // allocated by the whole process meanwhile; formerly 180 or more
	}{
		"400,000 contacts":       {"/v1/channels/texts/contacts", webtest.Batch(strings.Repeat(`{"to":1},`, 399_999) + `{"to":1}`), weir.CodeTooLarge, 40},
		"a million values":       {"/v1/channels/texts/contacts", webtest.Batch(strings.Repeat(`1,`, 1_000_000) + `1`), weir.CodeTooLarge, 40},
		"10,000 contacts":        {"/v1/channels/texts/contacts", webtest.Batch(strings.Repeat(`{"to":1},`, 9_999) + `{"to":1}`), weir.CodeInvalid, 40},
		"140,000 unknown fields": {"/v1/channels/texts/contacts", webtest.Batch(`{` + strings.Join(unknown, ",") + `}`), weir.CodeInvalid, 100},
		"unknown settings":       {"/v1/channels/new", `{"type":"texts","settings":{` + strings.Join(unknown[:70_000], ",") + `}}`, weir.CodeInvalid, 100},
	} {
		method := "POST"
		if strings.HasSuffix(tc.path, "new") {
			method = "PUT"
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		g := r.Do(method, tc.path, tc.body)
		runtime.ReadMemStats(&after)
		spent := (after.TotalAlloc - before.TotalAlloc) >> 20
		if p := g.Problem(t); p.Code != tc.code || len(p.Errors) > 100 || spent > tc.megabytes {
			t.Errorf("%s: %d %s, %d errors (%.80s), %d MB, want %d", name, g.Status, p.Code, len(p.Errors), p.Detail, spent, tc.megabytes)
		}
	}
	text := strings.Repeat(`[{,`, 100_000) // a single value
	if g := r.Do("POST", "/v1/channels/texts/contacts", webtest.Batch(`{"to":"+15550001","messages":["`+text+`\""]}`)); g.Problem(t).Code != weir.CodeInvalid {
		t.Errorf("a long text: %d %.200s", g.Status, g.Body)
	}
}
