package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"weir/api"
)

// contactsOf lists the contacts of a channel except the one that the rig made.
func (r *rig) contactsOf(channel string) []api.ContactView {
	r.t.Helper()
	var list api.ContactList
	r.api("GET", "/v1/contacts?limit=1000&channel="+channel, "", &list)
	var out []api.ContactView
	for _, c := range list.Contacts {
		if c.Key != "k-1" {
			out = append(out, c)
		}
	}
	return out
}

// hidden returns the value of a hidden input of a form.
func hidden(page answer, name string) string {
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page.body)
	if found == nil {
		return ""
	}
	return found[1]
}

// Scenario 314: an operator sends one contact; mistakes are beside their fields, and what was typed
// stays; a second click sends nothing.
func TestContactNew_OneIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read contacts:write", "contacts:read", "contacts:write")
	r.channel("texts")
	b := r.login("contacts:read contacts:write")
	b.get("/contacts").want(200).has(`id="new" href="/contacts/_new"`, `id="import" href="/contacts/_import"`)
	page := b.get("/contacts/_new?channel=texts").want(200).has(`<option value="texts" selected>texts</option>`)
	form := url.Values{
		"once": {hidden(page, "once")}, "channel": {"texts"}, "to": {"12 34"}, "messages": {"", strings.Repeat("x", 1601)}, "priority": {"high"}, "time_zone": {"Mars/Olympus"},
		"labels": {"no sign"}, "not_after": {"2020-01-01T00:00"}, "purpose": {"unknown"}, "call_flow_id": {"seven"},
	}
	wrong := b.post("/contacts/_new", form).want(http.StatusUnprocessableEntity).has("Nothing was sent. Correct the marked fields", "12 34", "Mars/Olympus", "no sign", "2020-01-01T00:00", "seven")
	for _, field := range []string{"to", "messages", "labels", "time_zone", "not_after", "purpose", "call_flow_id"} {
		wrong.has(`id="` + field + `-wrong"`)
	}
	if got := r.contactsOf("texts"); len(got) != 0 {
		t.Fatalf("a form with mistakes sent %v", got)
	}
	b.post("/contacts/_new", url.Values{}).want(422).has(`id="channel-wrong"`, `id="to-wrong"`)
	b.post("/contacts/_new", url.Values{"channel": {"none"}, "to": {"+15550001"}, "messages": {"hi"}}).want(422).has("There is no channel none.")

	form = url.Values{
		"once": {hidden(page, "once")}, "channel": {"texts"}, "to": {numberCanary}, "messages": {"one\r\ntwo", "", "three"}, "priority": {"high"}, "time_zone": {"Africa/Nairobi"},
		"labels": {"clinic=north\r\nward = 7"}, "not_before": {"2099-01-01T00:00"}, "not_after": {"2099-01-02T00:00"}, "survey": {"flu"},
	}
	for range 2 {
		to := b.post("/contacts/_new", form).want(http.StatusSeeOther).header.Get("Location")
		if got := r.contactsOf("texts"); len(got) != 1 || to != "/contacts/"+got[0].ID {
			t.Fatalf("the form led to %q and sent %d contacts", to, len(got))
		}
	}
	c := r.contactsOf("texts")[0]
	if c.To != numberCanary || len(c.Messages) != 2 || c.Messages[0] != "one\ntwo" || c.Priority != "high" || c.TimeZone != "Africa/Nairobi" || c.Labels["clinic"] != "north" || c.Labels["ward"] != "7" ||
		c.NotBefore.IsZero() || c.NotAfter.IsZero() || c.Survey != "flu" {
		t.Errorf("sent %+v", c)
	}
	if strings.Contains(r.logs.String(), strings.TrimPrefix(numberCanary, "+")) {
		t.Error("a number is in the log")
	}
	// The same form with another text is another contact.
	form.Set("messages", "other")
	b.post("/contacts/_new", form).want(http.StatusSeeOther)
	if got := r.contactsOf("texts"); len(got) != 2 {
		t.Errorf("%d contacts", len(got))
	}
}

func TestContactNew_PartsNeedTheirScopes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read", "contacts:write")
	r.channel("texts")
	reader := r.login("contacts:read")
	reader.get("/contacts").want(200).hasNot("_new", "_import", "_cancel", `type="checkbox"`, "Cancel").has(`id="export"`)
	for _, path := range []string{"/contacts/_new", "/contacts/_import", "/contacts/_import/send", "/contacts/_cancel"} {
		reader.get(path).want(403)
		reader.post(path, url.Values{"channel": {"texts"}}).want(403)
	}
	// Whoever may only write types the channel, and returns to the form.
	writer := r.login("contacts:write")
	writer.get("/contacts/_new").want(200).has(`<input id="channel" name="channel"`)
	writer.get("/contacts/_import").want(200)
	to := writer.post("/contacts/_new", url.Values{"channel": {"texts"}, "to": {"+15550001"}, "messages": {"hi"}}).want(http.StatusSeeOther).header.Get("Location")
	if to != "/contacts/_new?channel=texts" {
		t.Errorf("it led to %q", to)
	}
	writer.get(to).want(200).has("is accepted.")
	writer.get("/contacts/_export.csv").want(403)
}

// Scenario 317: the search box finds a contact by id, key or number, a channel and a survey; a number
// gets into no URL, title or log.
func TestSearch_LeadsToWhatTheTextNames(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read pii:read", "contacts:read", "metrics:read")
	r.channel("texts")
	r.channel("texts-2")
	r.survey("flu", 0)
	var list api.ContactList
	r.api("GET", "/v1/contacts?channel=texts", "", &list)
	id := list.Contacts[0].ID
	r.api("POST", "/v1/channels/texts/contacts", `{"contacts":[{"key":"order-7","to":"+15550002","messages":["a"]}]}`, nil)
	b := r.login("contacts:read pii:read")
	b.get("/").want(200).has(`id="search-all"`, `action="/search"`)
	leads := func(text, to string) {
		t.Helper()
		if got := b.post("/search", url.Values{"q": {text}}).want(http.StatusSeeOther).header.Get("Location"); got != to {
			t.Errorf("%q led to %q, want %q", text, got, to)
		}
	}
	leads(id, "/contacts/"+id)
	leads("texts", "/channels/texts")
	leads("flu <b>2", "/surveys/flu")
	leads(" FLU ", "/surveys/flu")
	order := b.post("/search", url.Values{"q": {"order-7"}}).want(http.StatusSeeOther).header.Get("Location")
	b.get(order).want(200).has("order-7")
	leads("+1 555 0002", order)
	b.post("/search", url.Values{"q": {"text"}}).want(200).has(`id="channel-texts"`, `id="channel-texts-2"`)
	b.post("/search", url.Values{"q": {"k-1"}}).want(200).has("Contacts", `id="contact-`+id+`"`)
	found := b.post("/search", url.Values{"q": {numberCanary}}).want(200).has(`id="contact-`+id+`"`, `id="all-contacts"`)
	if strings.Contains(found.title(), "555") {
		t.Errorf("the title is %q", found.title())
	}
	// A respondent is found by its number and its id, with the contacts to the number.
	var added struct{ Respondents []struct{ ID string } }
	r.api("POST", "/v1/surveys/flu/respondents", `{"respondents":[{"phone":"+15550077"},{"phone":"+15550002"}]}`, &added)
	leads("+1 555 0077", "/surveys/flu/respondents/"+added.Respondents[0].ID)
	leads(added.Respondents[0].ID, "/surveys/flu/respondents/"+added.Respondents[0].ID)
	r.api("PATCH", "/v1/channels/texts-2", `{"settings":{"region":"KE"}}`, nil)
	var accepted struct{ Contacts []struct{ ID string } }
	r.api("POST", "/v1/channels/texts-2/contacts", `{"contacts":[{"to":"0722000199","messages":["a"]}]}`, &accepted)
	leads("0722 000 199", "/contacts/"+accepted.Contacts[0].ID) // by the region of its channel
	b.post("/search", url.Values{"q": {"0722 000 101"}}).want(200).has("Nothing is found", `id="national"`, "has no country code").hasNot(`id="person"`)
	b.post("/search", url.Values{"q": {"r99999"}}).want(200).has("Nothing is found")
	b.post("/search", url.Values{"q": {"+15550002"}}).want(200).has(`id="respondent-`+added.Respondents[1].ID+`"`, `href="`+order+`"`, `id="person"`)
	b.post("/search", url.Values{"q": {"nothing at all"}}).want(200).has("Nothing is found")
	b.post("/search", url.Values{"q": {"<b>%\x00"}}).want(200).hasNot("<b>")
	b.get("/search").want(200)
	// Without pii:read no number can be found by trial, and without a scope nothing.
	r.login("contacts:read").post("/search", url.Values{"q": {numberCanary}}).want(200).has("Nothing is found", "pii:read").hasNot(id)
	r.login("metrics:read").post("/search", url.Values{"q": {"texts"}}).want(200).has("Nothing is found")
	if strings.Contains(r.logs.String(), "15559998877") {
		t.Error("a number is in the log")
	}
}
