package people_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/api"
	consent "weir/people"
	"weir/web"
	"weir/web/webtest"
)

// TestPerson_EverythingIsFoundByNumberContactAndRespondent is scenario 322.
func TestPerson_EverythingIsFoundByNumberContactAndRespondent(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	somebody := webtest.Someone(r)
	ch, err := r.Store.Channel(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	r.Do("PUT", "/v1/purposes/research", `{"caps":[{"max":1,"within":"7d"}]}`)
	began := time.Now()
	counted := r.Contact(ch, weir.Progress{State: weir.Sending, Attempt: 1, ClaimedAt: began}, func(c *weir.Contact) { c.Purpose = "research" })
	r.Clock.Instant = began.Add(time.Minute)
	webtest.Into[api.StateList](t, r.Do("POST", "/v1/consents", `{"consents":[{"to":"`+webtest.PhoneCanary+`","status":"given","words":"yes"}]}`), 200)
	for _, body := range []string{`{"to":"+1 (555) 999-8877"}`, `{"contact":"` + somebody.Contacts[1].Ref.String() + `"}`, `{"respondent":"` + somebody.Respondent.ID.String() + `"}`} {
		p := webtest.Into[api.PersonView](t, r.Do("POST", "/v1/people:find", body), 200)
		var contacts, messages []string
		for _, c := range p.Contacts {
			contacts = append(contacts, c.ID+" "+c.Channel+" "+c.State)
		}
		for _, m := range p.Messages {
			messages = append(messages, m.Channel+" "+m.Body)
		}
		if want := []string{
			counted.Ref.String() + " a sending", somebody.Contacts[2].Ref.String() + " a queued", somebody.Contacts[1].Ref.String() + " a queued", somebody.Contacts[0].Ref.String() + " a done",
		}; !slices.Equal(contacts, want) {
			t.Errorf("%s: contacts %q, want %q", body, contacts, want)
		}
		if want := []string{"a STOP", "a si"}; !slices.Equal(messages, want) {
			t.Errorf("%s: messages %q, want %q", body, messages, want)
		}
		if n := len(p.Contacts[3].Attempts); n != 2 || p.Contacts[3].Attempts[0].Reason != "busy" {
			t.Errorf("%s: %d attempts of a contact that was retried", body, n)
		}
		if len(p.Respondents) != 1 || p.Respondents[0].ID != somebody.Respondent.ID.String() || p.Respondents[0].Survey != "s" || p.Respondents[0].Answers != 2 || p.Respondents[0].Contact != somebody.Contacts[0].Ref.String() {
			t.Errorf("%s: respondents %+v", body, p.Respondents)
		}
		if len(p.Verdicts) != 2 || !p.Verdicts[0].Allowed || p.Verdicts[1].Allowed || p.Verdicts[1].Rule != string(consent.RuleCap) || p.Verdicts[1].Until.Sub(began.Add(7*24*time.Hour)).Abs() > time.Minute {
			t.Errorf("%s: verdicts %+v", body, p.Verdicts)
		}
		if len(p.Consents) != 1 || p.Consents[0].Words != "yes" || p.Refused || p.NextCursor != "" || p.MoreConsents || p.MoreRespondents {
			t.Errorf("%s: %+v", body, p)
		}
	}
}

func TestPerson_IsReadInPages(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	somebody := webtest.Someone(r)
	names := map[string]string{}
	for i, c := range somebody.Contacts {
		names[c.Ref.String()] = fmt.Sprint("contact ", i)
	}
	var got []string
	for next, pages := "", 0; pages == 0 || next != ""; pages++ {
		p := webtest.Into[api.PersonView](t, r.Do("POST", "/v1/people:find", `{"to":"`+webtest.PhoneCanary+`","limit":2`+next+`}`), 200)
		if next = ""; p.NextCursor != "" {
			next = `,"cursor":"` + p.NextCursor + `"`
		}
		if len(p.Contacts)+len(p.Messages) > 2 || len(p.Respondents) != 1 {
			t.Fatalf("a page of 2 has %d contacts, %d messages, %d respondents", len(p.Contacts), len(p.Messages), len(p.Respondents))
		}
		for _, c := range p.Contacts {
			got = append(got, names[c.ID])
		}
		for _, m := range p.Messages {
			got = append(got, m.Body)
		}
	}
	if want := "contact 2, STOP, contact 1, si, contact 0"; strings.Join(got, ", ") != want {
		t.Errorf("pages have %q, want %q", got, want)
	}
}

func TestPerson_MistakesAreNamed(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	tokens := webtest.NewBearers(t, clock.Now)
	r := webtest.New(t, func(o *web.Options) { o.Gate, o.Now = tokens.Gate, clock.Now })
	for _, tc := range []struct {
		token, body string
		status      int
		names       string
	}{
		{tokens.Text["contacts:read"], `{"to":"+15550001"}`, http.StatusForbidden, ""},
		{tokens.Text["pii:read"], `{"to":"+15550001"}`, http.StatusForbidden, ""},
		{webtest.APICanary, `{}`, http.StatusUnprocessableEntity, "by one of to, contact and respondent"},
		{webtest.APICanary, `{"to":"+15550001","contact":"1-a"}`, http.StatusUnprocessableEntity, "by one of"},
		{webtest.APICanary, `{"to":"  "}`, http.StatusUnprocessableEntity, "/to"},
		{webtest.APICanary, `{"to":"+15550001","cursor":"x","limit":0}`, http.StatusUnprocessableEntity, "/limit"},
		{webtest.APICanary, `{"to":"+15550001","cursor":"x"}`, http.StatusUnprocessableEntity, "/cursor"},
		{webtest.APICanary, `{"contact":"x"}`, http.StatusNotFound, "no such contact"},
		{webtest.APICanary, `{"contact":"1-zz"}`, http.StatusNotFound, "no contact 1-zz"},
		{webtest.APICanary, `{"respondent":"r9"}`, http.StatusNotFound, "no respondent r9"},
		{webtest.APICanary, `{"to":"chat-12"}`, http.StatusOK, `"contacts":[]`},
	} {
		if got := r.As("POST", "/v1/people:find", tc.body, tc.token); got.Status != tc.status || !strings.Contains(got.Body, tc.names) {
			t.Errorf("%s: %d %s, want %d and %s", tc.body, got.Status, got.Body, tc.status, tc.names)
		}
	}
}
