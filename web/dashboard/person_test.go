package dashboard_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"weir/api"
)

const personScopes = "people:admin pii:read contacts:read contacts:write"

// talks queues contacts to the person of the canary on two channels, one of them canceled, sends a
// message back, and adds the person to a survey.
func talks(r *rig) (contact, respondent string) {
	r.t.Helper()
	threeContacts(r)
	r.survey("flu", 1)
	var list api.ContactList
	r.api("POST", "/v1/contacts:search", `{"to":"`+numberCanary+`"}`, &list)
	if len(list.Contacts) != 2 {
		r.t.Fatalf("%d contacts to the person", len(list.Contacts))
	}
	r.api("DELETE", "/v1/contacts/"+list.Contacts[1].ID, "", nil)
	var callback api.CallbackView
	r.api("GET", "/v1/channels/a/callback", "", &callback)
	at, err := url.Parse(callback.URL)
	if err != nil {
		r.t.Fatal(err)
	}
	form := url.Values{"from": {"sms://" + numberCanary[1:]}, "to": {"sms://100"}, "body": {"why <b>me</b>?"}, "guid": {"g1"}}
	req := httptest.NewRequestWithContext(r.t.Context(), "POST", at.Path+"/incoming", strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	if r.handler.ServeHTTP(w, req); w.Code != 200 {
		r.t.Fatalf("the message: %d %s", w.Code, w.Body)
	}
	var found api.PersonView
	r.api("POST", "/v1/people:find", `{"to":"`+numberCanary+`"}`, &found)
	if len(found.Contacts) != 2 || len(found.Respondents) != 1 || len(found.Messages) != 1 {
		r.t.Fatalf("the API finds %d contacts, %d messages, %d respondents", len(found.Contacts), len(found.Messages), len(found.Respondents))
	}
	return list.Contacts[0].ID, found.Respondents[0].ID
}

// TestPerson_PageShowsOneConversation is scenario 323.
func TestPerson_PageShowsOneConversation(t *testing.T) {
	t.Parallel()
	r := newRig(t, personScopes)
	contact, respondent := talks(r)
	r.api("PUT", "/v1/purposes/research", `{"consent":"recorded"}`, nil)
	r.api("POST", "/v1/consents", `{"consents":[{"to":"`+numberCanary+`","status":"given","words":"call me"}]}`, nil)
	b := r.login(personScopes)
	page := b.post("/people", url.Values{"to": {"1 (555) 999-8877"}}).want(200).has(
		"For default the person may be contacted now.", "For research the person may be contacted now.",
		`href="/surveys/flu/respondents/`+respondent+`"`, `id="talk-`+contact+`" href="/contacts/`+contact+`"`, "“hello”", "state-canceled",
		"“why &lt;b&gt;me&lt;/b&gt;?”", `<a href="/channels/a">a</a>`, "“call me”", `id="person-cancel"`, `id="person-export"`,
	).hasNot(`id="older"`, "unsearched")
	inOrder(t, page.body, "“call me”", "Message from the person", "“hello”", "canceled")
	noNumberInLinks(t, page)
	// The pages of a contact and of a respondent lead to the person, without the number.
	for path, form := range map[string]url.Values{"/contacts/" + contact: {"contact": {contact}}, "/surveys/flu/respondents/" + respondent: {"respondent": {respondent}}} {
		name := strings.Split(strings.TrimPrefix(path, "/"), "/")[0]
		from := b.get(path).want(200).has("Everything about this person")
		noNumberInLinks(t, from)
		for field := range form {
			from.has(`name="` + field + `" value="` + form.Get(field) + `"`)
		}
		b.post("/people", form).want(200).has("“call me”", "Message from the person", "person-head").hasNot(name + "-none")
	}
	b.post("/people", url.Values{"contact": {"1-zzz"}}).want(404)
	if logs := r.logs.String(); strings.Contains(logs, numberCanary[1:]) || strings.Contains(logs, "why <b>") {
		t.Error("the log has the number or the message")
	}
}

func TestPerson_OlderPagesContinueTheConversation(t *testing.T) {
	t.Parallel()
	r := newRig(t, personScopes)
	r.channel("a")
	var many []string
	for range 130 {
		many = append(many, `{"to":"`+numberCanary+`","messages":["more"]}`)
	}
	r.api("POST", "/v1/consents", `{"consents":[{"to":"`+numberCanary+`","status":"given","words":"long ago","at":"2020-01-01T00:00:00Z"}]}`, nil)
	r.api("POST", "/v1/channels/a/contacts", `{"contacts":[`+strings.Join(many, ",")+`]}`, nil)
	r.api("POST", "/v1/consents", `{"consents":[{"to":"`+numberCanary+`","status":"given","words":"just now"}]}`, nil)
	b := r.login(personScopes)
	page := b.post("/people", url.Values{"to": {numberCanary}}).want(200).has("just now", `id="older"`).hasNot("long ago")
	if n := strings.Count(page.body, "<strong>Contact</strong>"); n != 100 {
		t.Errorf("%d contacts on the first page", n)
	}
	form := url.Values{"to": {numberCanary}}
	for _, name := range []string{"cursor", "above"} {
		form.Set(name, regexp.MustCompile(`name="` + name + `" value="([^"]+)"`).FindStringSubmatch(page.body)[1])
	}
	page = b.post("/people", form).want(200).has("long ago", "“hello”").hasNot("just now", `id="older"`)
	if n := strings.Count(page.body, "<strong>Contact</strong>"); n != 31 {
		t.Errorf("%d contacts on the second page", n)
	}
}

// TestPerson_IsCanceledExportedAndErased is scenario 324.
func TestPerson_IsCanceledExportedAndErased(t *testing.T) {
	t.Parallel()
	const personManager = "surveys:admin pii:read contacts:read"
	const eraserScopes = personScopes + " surveys:admin"
	r := newRig(t, personScopes, peopleReader, personManager, eraserScopes)
	contact, _ := talks(r)
	r.api("POST", "/v1/consents", `{"consents":[{"to":"`+numberCanary+`","status":"refused","words":"never again"}]}`, nil)
	b := r.login(personScopes)
	to := url.Values{"to": {numberCanary}}
	file := b.post("/people/export", to).want(200)
	var whole api.PersonView
	if err := json.Unmarshal([]byte(file.body), &whole); err != nil || len(whole.Contacts) != 2 || len(whole.Messages) != 1 || len(whole.Consents) != 1 || len(whole.Respondents) != 1 || whole.NextCursor != "" {
		t.Errorf("the export: %v %+v", err, whole)
	}
	if got := file.header.Get("Content-Disposition"); got != `attachment; filename="person.json"` {
		t.Errorf("the export is sent as %q", got)
	}
	page := b.post("/people/cancel", to).want(200).has("Contacts that wait</dt><dd>1", `id="confirm"`, "A survey may contact the person again")
	noNumberInLinks(t, page)
	var is api.ContactView
	if r.api("GET", "/v1/contacts/"+contact, "", &is); is.State != "queued" {
		t.Fatalf("the contact is %s before it was confirmed", is.State)
	}
	yes := url.Values{"to": {numberCanary}, "confirmed": {"yes"}}
	b.post("/people/cancel", yes).want(200).has("1 of 1 waiting contacts are canceled.").hasNot(`id="confirm"`, `id="person-cancel"`)
	if r.api("GET", "/v1/contacts/"+contact, "", &is); is.Outcome != "canceled" {
		t.Errorf("the contact is %s %s", is.State, is.Outcome)
	}
	b.post("/people", to).want(200).hasNot(`id="person-erase"`)
	b.post("/people/erase", yes).want(403)
	b.post("/people/erase", url.Values{"to": {" "}, "confirmed": {"yes"}}).want(422).has("Enter a phone number")

	for _, path := range []string{"/people", "/people/cancel", "/people/erase"} {
		b.post(path, url.Values{"to": {"0722 000 101"}, "confirmed": {"yes"}}).want(422).has("Has no country code")
	}
	b.post("/people/remove", yes).want(403)
	manager := r.login(personManager)
	manager.post("/people", to).want(200).has(`id="person-remove"`)
	manager.post("/people/remove", to).want(200).has("The number and the attributes are deleted", `id="confirm"`, "<dt>"+whole.Respondents[0].Survey+"</dt>")
	manager.post("/people/remove", yes).want(200).has("The person is removed from 1 survey.").hasNot(`id="person-remove"`, `id="confirm"`)
	manager.post("/people/remove", yes).want(200).has("The person is removed from 0 surveys.")

	eraser := r.login(eraserScopes)
	eraser.post("/people", to).want(200).has(`id="person-erase"`)
	eraser.post("/people/erase", to).want(200).has("This cannot be undone", `id="confirm"`, "never again")
	eraser.post("/people/erase", yes).want(200).has("The person is erased.", `id="receipt"`, "<dt>Contacts</dt><dd>2</dd>", "<dt>Messages</dt><dd>1</dd>", "by a keyed hash of the address", "refused: is not contacted").hasNot("never again", `id="confirm"`)
	eraser.post("/people/erase", yes).want(200).has("The person is erased.", "<dt>Contacts</dt><dd>0</dd>")

	reader := r.login(peopleReader)
	reader.post("/people", to).want(200).has(`id="person-export"`).hasNot(`id="person-cancel"`, `id="person-erase"`)
	reader.post("/people/cancel", yes).want(403)
	reader.post("/people/erase", yes).want(403)
	for _, path := range []string{"/people/cancel", "/people/remove", "/people/erase", "/people/export"} {
		b.post(path, yes, "Sec-Fetch-Site", "cross-site").want(403).has("other sites")
	}
}
