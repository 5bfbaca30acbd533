package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir"
	consent "weir/people"
	"weir/surveys"
	"weir/web"
	"weir/web/api"
	peopleapi "weir/web/people"
)

// someone fills a rig with contacts, messages, a respondent and a refusal of one person, and
// others of somebody else.
func someone(r *rig) {
	into[api.ChannelView](r.t, r.do("PUT", "/v1/channels/a", goodTexts), 201)
	for i, to := range []string{phoneCanary, "+15550001", phoneCanary[1:], phoneCanary} {
		c := weir.Contact{Ref: weir.Ref{Channel: 1, ID: weir.ContactID(10 * (i + 1))}, Spec: weir.Spec{To: to, Messages: []string{textCanary}, Survey: "s"}, QueuedAt: start, Progress: weir.Progress{State: weir.Queued}}
		r.contacts = append(r.contacts, c)
	}
	r.contacts[0].Progress = weir.Progress{State: weir.Done, Attempt: 2, Outcome: weir.Completed, FinishedAt: start}
	r.ended[r.contacts[0].Ref] = []weir.Attempt{{Number: 1, ClaimedAt: start, Reason: "busy"}}
	r.incoming[1] = []weir.Incoming{{ID: 15, From: "sms://" + phoneCanary[1:], Body: "si", ReceivedAt: start}, {ID: 16, From: "+15550001", Body: "no", ReceivedAt: start}, {ID: 35, From: phoneCanary, Body: "STOP", ReceivedAt: start}}
	r.people.surveys = []surveys.Survey{{ID: 3, Name: "s"}}
	r.people.respondents = []surveys.Respondent{
		{Survey: 3, ID: 7, Phone: phoneCanary, Added: start, Contact: r.contacts[0].Ref, Progress: surveys.Progress{Status: surveys.Active, Disposition: surveys.Contacted, Totals: surveys.Totals{Received: 2}}},
		{Survey: 3, ID: 8, Phone: "+15550001", Added: start},
	}
}

// TestPerson_EverythingIsFoundByNumberContactAndRespondent is scenario 322.
func TestPerson_EverythingIsFoundByNumberContactAndRespondent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	someone(r)
	r.do("PUT", "/v1/purposes/research", `{"caps":[{"max":1,"within":"7d"}]}`)
	r.consents.before = []consent.Entry{{At: start.Add(-time.Hour), Purpose: "research"}}
	into[peopleapi.StateList](t, r.do("POST", "/v1/consents", `{"consents":[{"to":"`+phoneCanary+`","status":"given","words":"yes"}]}`), 200)
	for _, body := range []string{`{"to":"+1 (555) 999-8877"}`, `{"contact":"` + r.contacts[2].Ref.String() + `"}`, `{"respondent":"r7"}`} {
		p := into[peopleapi.PersonView](t, r.do("POST", "/v1/people:find", body), 200)
		var contacts, messages []string
		for _, c := range p.Contacts {
			contacts = append(contacts, c.ID+" "+c.Channel+" "+c.State)
		}
		for _, m := range p.Messages {
			messages = append(messages, m.ID+" "+m.Channel+" "+m.Body)
		}
		if want := []string{"1-14 a queued", "1-u a queued", "1-a a done"}; !slices.Equal(contacts, want) {
			t.Errorf("%s: contacts %q, want %q", body, contacts, want)
		}
		if want := []string{"35 a STOP", "15 a si"}; !slices.Equal(messages, want) {
			t.Errorf("%s: messages %q, want %q", body, messages, want)
		}
		if n := len(p.Contacts[2].Attempts); n != 2 || p.Contacts[2].Attempts[0].Reason != "busy" {
			t.Errorf("%s: %d attempts of a contact that was retried", body, n)
		}
		if len(p.Respondents) != 1 || p.Respondents[0].ID != "r7" || p.Respondents[0].Survey != "s" || p.Respondents[0].Answers != 2 || p.Respondents[0].Contact != "1-a" {
			t.Errorf("%s: respondents %+v", body, p.Respondents)
		}
		if len(p.Verdicts) != 2 || !p.Verdicts[0].Allowed || p.Verdicts[1].Allowed || p.Verdicts[1].Rule != consent.RuleCap || !p.Verdicts[1].Until.Equal(start.Add(7*24*time.Hour-time.Hour)) {
			t.Errorf("%s: verdicts %+v", body, p.Verdicts)
		}
		if len(p.Consents) != 1 || p.Consents[0].Words != "yes" || p.Refused || p.NextCursor != "" || p.MoreConsents || p.MoreRespondents {
			t.Errorf("%s: %+v", body, p)
		}
	}
}

func TestPerson_IsReadInPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	someone(r)
	var got []string
	for next, pages := "", 0; pages == 0 || next != ""; pages++ {
		p := into[peopleapi.PersonView](t, r.do("POST", "/v1/people:find", `{"to":"`+phoneCanary+`","limit":2`+next+`}`), 200)
		if next = ""; p.NextCursor != "" {
			next = `,"cursor":"` + p.NextCursor + `"`
		}
		if len(p.Contacts)+len(p.Messages) > 2 || len(p.Respondents) != 1 {
			t.Fatalf("a page of 2 has %d contacts, %d messages, %d respondents", len(p.Contacts), len(p.Messages), len(p.Respondents))
		}
		for _, c := range p.Contacts {
			got = append(got, c.ID)
		}
		for _, m := range p.Messages {
			got = append(got, m.Body)
		}
	}
	if want := "1-14 STOP 1-u si 1-a"; strings.Join(got, " ") != want {
		t.Errorf("pages have %q, want %q", got, want)
	}
}

func TestPerson_MistakesAreNamed(t *testing.T) {
	t.Parallel()
	clock := &clock{now: start}
	tokens := newBearers(t, clock.Now)
	r := newRig(t, func(o *web.Options) { o.Gate, o.Now = tokens.gate, clock.Now })
	for _, tc := range []struct {
		token, body string
		status      int
		names       string
	}{
		{tokens.text["contacts:read"], `{"to":"+15550001"}`, http.StatusForbidden, ""},
		{tokens.text["pii:read"], `{"to":"+15550001"}`, http.StatusForbidden, ""},
		{apiCanary, `{}`, http.StatusUnprocessableEntity, "by one of to, contact and respondent"},
		{apiCanary, `{"to":"+15550001","contact":"1-a"}`, http.StatusUnprocessableEntity, "by one of"},
		{apiCanary, `{"to":"  "}`, http.StatusUnprocessableEntity, "/to"},
		{apiCanary, `{"to":"+15550001","cursor":"x","limit":0}`, http.StatusUnprocessableEntity, "/limit"},
		{apiCanary, `{"to":"+15550001","cursor":"x"}`, http.StatusUnprocessableEntity, "/cursor"},
		{apiCanary, `{"contact":"x"}`, http.StatusNotFound, "no such contact"},
		{apiCanary, `{"contact":"1-zz"}`, http.StatusNotFound, "no contact 1-zz"},
		{apiCanary, `{"respondent":"r9"}`, http.StatusNotFound, "no respondent r9"},
		{apiCanary, `{"to":"chat-12"}`, http.StatusOK, `"contacts":[]`},
	} {
		if got := r.as("POST", "/v1/people:find", tc.body, tc.token); got.status != tc.status || !strings.Contains(got.body, tc.names) {
			t.Errorf("%s: %d %s, want %d and %s", tc.body, got.status, got.body, tc.status, tc.names)
		}
	}
}
