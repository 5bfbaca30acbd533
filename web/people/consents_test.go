package people_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/api"
	consent "weir/people"
	"weir/web"
	"weir/web/webtest"
)

func TestConsents_AreRecordedAndFound(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	at := webtest.Start().Add(-time.Hour)
	body := `{"consents":[{"key":"k","to":"+1 555 010 0234","status":"refused","at":"` + at.Format(time.RFC3339) + `","words":"no more","source":"import"},{"to":"chat-1","status":"given"}]}`
	got := webtest.Into[api.StateList](t, r.Do("POST", "/v1/consents", body), 200)
	if len(got.States) != 2 || got.States[0].Status != "refused" || got.States[0].Purpose != "all" || !got.States[0].At.Equal(at) || got.States[1].Status != "given" {
		t.Errorf("%+v", got)
	}
	found := webtest.Into[api.PersonConsents](t, r.Do("POST", "/v1/consents:search", `{"to":"15550100234"}`), 200)
	want := api.PersonConsents{
		Refused: true, States: got.States[:1],
		Consents: []api.ConsentView{{ID: found.Consents[0].ID, Key: "k", Purpose: "all", Status: "refused", Source: "import", At: at, Words: "no more", By: "configured-2"}},
	}
	if d := cmp.Diff(want, found); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if found := webtest.Into[api.PersonConsents](t, r.Do("POST", "/v1/consents:search", `{"to":"+15550109999"}`), 200); found.Refused || len(found.States)+len(found.Consents) > 0 {
		t.Errorf("of somebody unknown: %+v", found)
	}
	if strings.Contains(r.Logs.String(), "0100234") {
		t.Error("a number is in the log")
	}
}

func TestConsents_EveryMistakeAtOnce(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	g := r.Do("POST", "/v1/consents", `{"consents":[{"to":"","status":"maybe"},{"to":"1","status":"given","at":"`+webtest.Start().Add(time.Hour).Format(time.RFC3339)+`"},{"status":"given","source":"word"}]}`)
	if g.Status != 422 {
		t.Fatalf("%d %s", g.Status, g.Body)
	}
	for _, pointer := range []string{"/consents/0/to", "/consents/0/status", "/consents/2/to", "/consents/2/source"} {
		if !strings.Contains(g.Body, `"`+pointer+`"`) {
			t.Errorf("%s is not named: %s", pointer, g.Body)
		}
	}
	future := r.Do("POST", "/v1/consents", `{"consents":[{"to":"1","status":"given","at":"`+webtest.Start().Add(time.Hour).Format(time.RFC3339)+`"}]}`)
	if future.Status != 422 || !strings.Contains(future.Body, `"/consents/0/at"`) || len(r.Said()) > 0 {
		t.Errorf("%d %s", future.Status, future.Body)
	}
}

// failing is a store that cannot record messages at times.
type failing struct {
	consent.Store
	now *bool
}

func (s failing) Hear(ctx context.Context, m *consent.Message) ([]weir.Contact, error) {
	if *s.now {
		return nil, weir.Errorf(weir.CodeUnavailable, "not now")
	}
	return s.Store.Hear(ctx, m)
}

// A stop word is recorded before the message is acknowledged: if it cannot be, the provider
// has to send it again.
func TestConsents_StopWordsAreRecordedBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	down := true
	r := webtest.New(t, func(o *web.Options) { o.People = failing{o.People, &down} })
	ch := r.Channel("a", "texts")
	path := webtest.CallbackPath(ch, "incoming?guid=g&from=%2B15550100234&body=Unsubscribe.")
	if g := r.Call("", path, "", ""); g.Status != 503 {
		t.Fatalf("%d %s", g.Status, g.Body)
	}
	down = false
	if g := r.Call("", path, "", ""); g.Status != 200 {
		t.Fatalf("%d %s", g.Status, g.Body)
	}
	if g := r.Call("", webtest.CallbackPath(ch, "incoming?guid=h&from=%2B15550100235&body=I+want+to+stop+by"), "", ""); g.Status != 200 {
		t.Fatalf("%d %s", g.Status, g.Body)
	}
	said := r.Said()
	if len(said) != 1 {
		t.Fatalf("%+v", said)
	}
	want := consent.Consent{ID: said[0].ID, Key: said[0].Key, Address: "tel:+15550100234", Purpose: "all", Status: consent.Refused, Source: consent.FromWord, At: said[0].At, Words: "Unsubscribe.", By: "a"}
	if d := cmp.Diff(want, said[0]); d != "" || !strings.HasPrefix(want.Key, "message:1:") {
		t.Errorf("key %q (-want +got):\n%s", want.Key, d)
	}
}

// Scenario 359: a sender whom a gateway reports without the country code is the person with it, by the region of the
// channel.
func TestConsents_SendersAreKnownByTheRegionOfTheChannel(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	here := r.Channel("here", "texts", func(c *weir.Channel) { c.Settings["region"] = "KE" })
	nowhere := r.Channel("nowhere", "texts")
	for i, from := range []string{"0722000101", "sms%3A%2F%2F0722000102", "%2B254722000103", "40404"} {
		if g := r.Call("", webtest.CallbackPath(here, fmt.Sprintf("incoming?guid=%d&from=%s&body=STOP", i, from)), "", ""); g.Status != 200 {
			t.Fatalf("%d %s", g.Status, g.Body)
		}
	}
	if g := r.Call("", webtest.CallbackPath(nowhere, "incoming?guid=n&from=0722000104&body=STOP"), "", ""); g.Status != 200 {
		t.Fatalf("%d %s", g.Status, g.Body)
	}
	var got []string
	for _, c := range r.Said() {
		got = append(got, c.Address)
	}
	want := []string{"tel:+254722000101", "tel:+254722000102", "tel:+254722000103"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// Those that are nobody's are for a person to decide.
	waiting, err := r.Undecided(t.Context(), 0, 10)
	if err != nil || len(waiting) != 2 || waiting[0].Address != "other:40404" || waiting[1].Address != "other:0722000104" || waiting[1].Found != "STOP" {
		t.Errorf("undecided: %+v, %v", waiting, err)
	}
	if from := r.Messages(here)[0].From; from != "+254722000101" {
		t.Errorf("the message is from %s", from)
	}
	if g := r.Do("POST", "/v1/consents", `{"consents":[{"to":"0722 000 101","status":"refused"}]}`); g.Status != 422 || !strings.Contains(g.Body, `"/consents/0/to"`) {
		t.Errorf("a number without a country code: %d %s", g.Status, g.Body)
	}
}

// What no country could have as a number is reported by every way in which a refusal is recorded. It
// counts for contacts to these digits, so that it is recorded where there can be such contacts: not
// on a channel with a region. Whatever was recorded before is found, and erased.
func TestConsents_NumbersThatNoCountryCouldHaveAreReported(t *testing.T) {
	t.Parallel()
	for to, possible := range map[string]bool{
		"+254722000101": true, "+525512345678": true, "5215512345678": true, "00254722000101": true,
		"+9991234567": false, "+25472200010123": false, "+25472200": false, "123456789012345": false, "ana@example.org": false,
	} {
		others := 1
		if possible {
			others = 0
		}
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			r := webtest.New(t)
			body := fmt.Sprintf(`{"consents":[{"to":%q,"status":"refused"}]}`, to)
			if got := webtest.Into[api.StateList](t, r.Do("POST", "/v1/consents", body), 200); got.OtherAddresses != others || len(got.States) != 1 {
				t.Errorf("one by one: %+v", got)
			}
			for contentType, file := range map[string]string{"text/csv": "to\n" + to + "\n", "application/x-ndjson": fmt.Sprintf("{\"to\":%q,\"status\":\"refused\"}\n", to)} {
				if got := webtest.Into[api.StateList](t, r.Do("POST", "/v1/consents", file, "Content-Type", contentType), 200).File; got == nil || got.NoNumbers != others || got.Refused != 1 {
					t.Errorf("%s: %+v", contentType, got)
				}
			}
			if g := r.Do("POST", "/v1/consents:search", fmt.Sprintf(`{"to":%q}`, to)); g.Status != 200 || !strings.Contains(g.Body, `"refused":true`) {
				t.Errorf("found: %d %s", g.Status, g.Body)
			}
			if g := r.Do("POST", "/v1/people:erase", fmt.Sprintf(`{"to":%q}`, to)); g.Status != 200 {
				t.Errorf("erased: %d %s", g.Status, g.Body)
			}
			before := len(r.Said())
			for name, c := range map[string]struct {
				typ, region string
				recorded    bool
			}{
				"region": {"texts", "KE", possible}, "none": {"texts", "", !strings.Contains(to, "@")}, "chats": {"chats", "KE", true},
			} {
				ch := r.Channel(name, c.typ, func(ch *weir.Channel) {
					if c.region != "" {
						ch.Settings["region"] = c.region
					}
				})
				if g := r.Call("", webtest.CallbackPath(ch, "incoming?guid="+name+"&body=STOP&from="+url.QueryEscape(to)), "", ""); g.Status != 200 {
					t.Fatalf("%d %s", g.Status, g.Body)
				}
				said := len(r.Said()) - before
				if before += said; said != map[bool]int{true: 1}[c.recorded] || !c.recorded && r.Counter("weir_opt_outs_without_number_total", "channel", name) != 1 {
					t.Errorf("a stop word on the channel %s: recorded %d", name, said)
				}
			}
		})
	}
}

// What the schema finds and what the rules contradict is reported together, once for each field.
func TestPurposes_EveryMistakeAtOnce(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	g := r.Do("PUT", "/v1/purposes/No!", `{"title":7,"repeat_guard":"soon","time_zone":"Mars","quiet_hours":{"from":"25:00"},"holidays":[{"date":"2026-02-30"},{"date":"x"}],"caps":[{"max":"many","within":"7d"},{"max":1,"within":"week"},{"within":"1d"}],"exempt_from":["consent"]}`)
	if g.Status != 422 {
		t.Fatalf("%d %s", g.Status, g.Body)
	}
	pointers := []string{"/name", "/title", "/repeat_guard", "/time_zone", "/quiet_hours/from", "/quiet_hours/to", "/holidays/0/date", "/holidays/1/date", "/caps/0/max", "/caps/1/within", "/caps/2/max", "/exempt_reason"}
	for _, pointer := range pointers {
		if n := strings.Count(g.Body, `"`+pointer+`"`); n != 1 {
			t.Errorf("%s is named %d times: %s", pointer, n, g.Body)
		}
	}
	if n := strings.Count(g.Body, `"pointer"`); n != len(pointers) || len(r.Purposes()) > 0 {
		t.Errorf("%d mistakes: %s", n, g.Body)
	}
}
