package web_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/web/api"
)

// Each channel type has a form of addresses. The canonical one is stored, found
// and compared when a request is repeated.
func TestAddressesOfAChannelType(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.channel("a", "chats")
	post := func(to string) got {
		return r.do("POST", "/v1/channels/a/contacts", `{"contacts":[{"key":"k","to":"`+to+`","messages":["hi"]}]}`)
	}
	for _, to := range []string{"Chat:Ann", "chat:ann"} { // the second repeats the first
		first := into[api.AcceptedList](t, post(to), http.StatusAccepted)
		v := into[api.ContactView](t, r.do("GET", "/v1/contacts/"+first.Contacts[0].ID, ""), 200)
		if v.To != "chat:ann" {
			t.Errorf("%s became %s", to, v.To)
		}
		if first.Contacts[0].Duplicate != (to == "chat:ann") {
			t.Errorf("%s: %+v", to, first)
		}
		list := into[api.ContactList](t, r.do("POST", "/v1/contacts:search", `{"to":"`+to+`"}`), 200)
		if len(list.Contacts) != 1 {
			t.Errorf("%d contacts of %s", len(list.Contacts), to)
		}
	}
	for to, detail := range map[string]string{
		"+15550001":                          "must begin with chat:",
		"chat:a b":                           "visible",
		"chat:é":                             "visible",
		"":                                   "1 to 255",
		"chat:" + strings.Repeat("x", 255):   "1 to 255",
		"+1555000111122223333" + phoneCanary: "must begin with chat:",
	} {
		g := post(to)
		problem := g.problem(t)
		if g.status != 422 || len(problem.Errors) != 1 || problem.Errors[0].Pointer != "/contacts/0/to" || !strings.Contains(problem.Errors[0].Detail, detail) {
			t.Errorf("%s: %s", to, g.body)
		}
		if to != "" && strings.Contains(g.body, to) {
			t.Errorf("the answer repeats the address: %s", g.body)
		}
	}
}
