package api_test

import (
	"net/http"
	"strings"
	"testing"

	"weir"
	"weir/api"
	"weir/web/webtest"
)

// Each channel type has a form of addresses. The canonical one is stored, found
// and compared when a request is repeated.
func TestAddresses_HaveTheFormOfTheirChannelType(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "chats")
	post := func(to string) webtest.Got {
		return r.Do("POST", "/v1/channels/a/contacts", `{"contacts":[{"key":"k","to":"`+to+`","messages":["hi"]}]}`)
	}
	for _, to := range []string{"Chat:Ann", "chat:ann"} { // the second repeats the first
		first := webtest.Into[api.AcceptedList](t, post(to), http.StatusAccepted)
		v := webtest.Into[api.ContactView](t, r.Do("GET", "/v1/contacts/"+first.Contacts[0].ID, ""), 200)
		if v.To != "chat:ann" {
			t.Errorf("%s became %s", to, v.To)
		}
		if first.Contacts[0].Duplicate != (to == "chat:ann") {
			t.Errorf("%s: %+v", to, first)
		}
		list := webtest.Into[api.ContactList](t, r.Do("POST", "/v1/contacts:search", `{"to":"`+to+`"}`), 200)
		if len(list.Contacts) != 1 {
			t.Errorf("%d contacts of %s", len(list.Contacts), to)
		}
	}
	for to, detail := range map[string]string{
		"+15550001":                        "must begin with 'chat:'",
		"chat:a b":                         "visible",
		"chat:é":                           "visible",
		"":                                 "1 to 255",
		"chat:" + strings.Repeat("x", 255): "1 to 255",
		"+1555000111122223333" + webtest.PhoneCanary: "must begin with 'chat:'",
	} {
		g := post(to)
		problem := g.Problem(t)
		if g.Status != 422 || len(problem.Errors) != 1 || problem.Errors[0].Pointer != "/contacts/0/to" || !strings.Contains(problem.Errors[0].Detail, detail) {
			t.Errorf("%s: %s", to, g.Body)
		}
		if to != "" && strings.Contains(g.Body, to) {
			t.Errorf("the answer repeats the address: %s", g.Body)
		}
	}
}

// The region of a channel gives numbers without a country code one form, in which
// they are stored, compared with a repeated request, and found.
func TestAddresses_TakeTheRegionOfTheirChannel(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("local", "texts", func(c *weir.Channel) { c.Settings["region"] = "KE" })
	r.Channel("plain", "texts")
	r.Channel("chats", "chats", func(c *weir.Channel) { c.Settings["region"] = "KE" })
	post := func(channel, to string) webtest.Got {
		return r.Do("POST", "/v1/channels/"+channel+"/contacts", `{"contacts":[{"key":"k","to":"`+to+`","messages":["hi"]}]}`)
	}
	for i, to := range []string{"0722123456", "+254722123456", "254722123456", "0722-123-456"} {
		a := webtest.Into[api.AcceptedList](t, post("local", to), http.StatusAccepted).Contacts[0]
		if v := webtest.Into[api.ContactView](t, r.Do("GET", "/v1/contacts/"+a.ID, ""), 200); v.To != "+254722123456" || a.Duplicate != (i > 0) {
			t.Errorf("%s became %s, a duplicate: %v", to, v.To, a.Duplicate)
		}
	}
	if got := r.Do("PATCH", "/v1/channels/local", `{"settings":{"region":"ZZ"}}`); got.Status != 422 || got.Problem(t).Errors[0].Pointer != "/settings/region" {
		t.Errorf("an unknown region: %s", got.Body)
	}
	before := len(r.All())
	for to, detail := range map[string]string{"0722": "too short or too long for its country (region KE)", "07221234567890": "too long", "+999722123456": "unknown country code", "07A2": "phone number"} {
		g := post("local", to)
		if p := g.Problem(t); g.Status != 422 || len(p.Errors) != 1 || p.Errors[0].Pointer != "/contacts/0/to" || !strings.Contains(p.Errors[0].Detail, detail) || strings.Contains(g.Body, to) {
			t.Errorf("%s: %d %s", to, g.Status, g.Body)
		}
	}
	if len(r.All()) != before {
		t.Error("a refused number was stored")
	}
	for to, detail := range map[string]string{"0722123456": "begins with 0", "+0722123456": "begins with 0", "0722 123 456": "no country code", "2.54722E+11": "spreadsheets"} {
		g := post("plain", to)
		if p := g.Problem(t); g.Status != 422 || len(p.Errors) != 1 || p.Errors[0].Pointer != "/contacts/0/to" || !strings.Contains(p.Errors[0].Detail, detail) || strings.Contains(g.Body, to) {
			t.Errorf("%s without a region: %d %s", to, g.Status, g.Body)
		}
	}
	for i, to := range []string{"+254722123456", "+254 722 123-456", "(+254) 722.123.456"} {
		a := webtest.Into[api.AcceptedList](t, post("plain", to), http.StatusAccepted).Contacts[0]
		if v := webtest.Into[api.ContactView](t, r.Do("GET", "/v1/contacts/"+a.ID, ""), 200); v.To != "+254722123456" || a.Duplicate != (i > 0) {
			t.Errorf("%s without a region became %s, a duplicate: %v", to, v.To, a.Duplicate)
		}
	}
	webtest.Into[api.AcceptedList](t, post("chats", "chat:ann"), http.StatusAccepted)
	for body, want := range map[string]int{
		`{"to":"0722 123 456","channel":"local"}`: 1, `{"to":"+254722123456","channel":"local"}`: 1,
		`{"to":"0722123456","channel":"plain"}`: 0, `{"to":"+254 722 123456","channel":"plain"}`: 1,
		`{"to":"0722123456"}`: 2, // on any channel: in a region it is the whole number
	} {
		if list := webtest.Into[api.ContactList](t, r.Do("POST", "/v1/contacts:search", body), 200); len(list.Contacts) != want {
			t.Errorf("%s finds %d, want %d", body, len(list.Contacts), want)
		}
	}
}
