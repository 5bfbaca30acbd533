package dashboard_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"weir/people"
)

const (
	peopleScopes = "people:admin pii:read contacts:read"
	peopleReader = "contacts:read pii:read"
)

// refusesByWord records that the person of the canary sent a stop word.
func refusesByWord(r *rig) { r.refuses(people.AllPurposes, people.FromWord) }

// refuses records, before the daemon starts, that the person of the canary refused.
func (r *rig) refuses(purpose string, source people.Source) {
	r.t.Helper()
	store := r.open()
	defer func() { _ = store.Close(r.t.Context()) }()
	if err := store.Join(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	if err := store.OpenPeople(r.t.Context(), nil); err != nil {
		r.t.Fatal(err)
	}
	if _, err := store.RecordConsents(r.t.Context(), []people.Consent{{
		Address: people.Canonical(numberCanary), Purpose: purpose, Status: people.Refused, Source: source,
		At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Words: "Stop <b>now</b>", By: "texts",
	}}); err != nil {
		r.t.Fatal(err)
	}
}

// consentOf fills in the form of a page, as a browser does, and changes fields: pairs of
// name and value.
func consentOf(t *testing.T, page answer, fields ...string) url.Values {
	t.Helper()
	form := url.Values{"status": {"refused"}, "words": {""}, "at": {""}}
	for _, name := range []string{"once", "to"} {
		if found := regexp.MustCompile(`<input type="hidden" name="` + name + `" value="([^"]*)">`).FindStringSubmatch(page.body); found != nil {
			form.Set(name, found[1])
		}
	}
	if form.Get("once") == "" {
		t.Fatalf("no form:\n%s", page.body)
	}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}

// noNumberInLinks fails the test if an address of a page, or of what follows it, has the number.
func noNumberInLinks(t *testing.T, page answer) {
	t.Helper()
	links := []string{page.header.Get("Location"), page.title()}
	for _, link := range regexp.MustCompile(`(?:href|action|data-stream)="([^"]*)"`).FindAllStringSubmatch(page.body, -1) {
		links = append(links, link[1])
	}
	for _, link := range links {
		if strings.Contains(link, numberCanary[1:]) {
			t.Errorf("the number is in %q", link)
		}
	}
}

func TestPeople_UnknownPersonIsFoundToHaveSaidNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, peopleScopes)
	b := r.login(peopleScopes)
	b.get("/people").want(200).has(`<span aria-current="page">People</span>`, `action="/people"`).hasNot(`action="/people/record"`, "data-stream")
	page := b.post("/people", url.Values{"to": {" 1 (555) 999-8877 "}}).want(200).
		has(`<h2 id="person-head">***77`, "Nothing is recorded", `value="1 (555) 999-8877"`, `action="/people/record"`, `action="/contacts"`)
	noNumberInLinks(t, page)
	b.post("/people", url.Values{"to": {"chat-12"}}).want(200).has("***12").hasNot(`action="/contacts"`) // no number
	b.post("/people", url.Values{"to": {" "}}).want(422).has("Enter a phone number", `aria-invalid="true"`).hasNot("person-head")
	b.post("/people", url.Values{"to": {strings.Repeat("ä", 256)}}).want(422).has("at most 255 characters")
}

func TestPeople_RefusalByWordIsShownAndOnlyThePersonTakesItBack(t *testing.T) {
	t.Parallel()
	r := newRigAfter(t, refusesByWord, nil, peopleScopes)
	b := r.login(peopleScopes)
	page := b.post("/people", url.Values{"to": {numberCanary}}).want(200).
		has("refused: is not contacted", "2026-03-01 12:00:00 UTC", "the person sent a stop word", "all purposes", "Stop &lt;b&gt;now&lt;/b&gt;", `recorded by <span class="code">texts</span>`, `id="only-person"`)
	page = b.post("/people/record", consentOf(t, page, "status", "given", "words", "on the phone: it was a mistake")).want(200).
		has("changes nothing: ***77 stays refused. Only the person can take back what the person refused", "refused: is not contacted", "the person sent a stop word", "on the phone: it was a mistake")
	noNumberInLinks(t, page)
	b.post("/people/record", consentOf(t, page, "status", "given", "words", "in a letter", "at", "2026-02-01T08:00")).want(200).
		has("what was said later, on 2026-03-01 12:00:00 UTC, counts", "in a letter", "2026-02-01 08:00:00 UTC")
	var found struct{ Refused bool }
	r.api("POST", "/v1/consents:search", `{"to":"`+numberCanary+`"}`, &found)
	if !found.Refused {
		t.Error("the refusal is gone")
	}
}

func TestPeople_OperatorRecordsARefusalAndTakesItBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, peopleScopes, "channels:admin")
	b := r.login(peopleScopes)
	form := consentOf(t, b.post("/people", url.Values{"to": {numberCanary}}).want(200), "words", "by phone: \r\nnever again")
	page := b.post("/people/record", form).want(200).
		has("The refusal of ***77 is recorded", "refused: is not contacted", "recorded by an operator or a program", "by phone: \nnever again").hasNot(`id="only-person"`)
	noNumberInLinks(t, page)
	if page.header.Get("Location") != "" || page.title() != "Person – Weir" {
		t.Errorf("it leads to %q, the title is %q", page.header.Get("Location"), page.title())
	}
	again := b.post("/people/record", form).want(200).has("The refusal of ***77 is recorded") // the page is loaded again
	if n := strings.Count(again.body, "never again"); n != 1 {
		t.Errorf("the refusal is recorded %d times", n)
	}
	back := consentOf(t, page, "status", "given", "words", "by phone: call me")
	page = b.post("/people/record", back).want(200).has("It is recorded that ***77 may be contacted.", "not refused: may be contacted", "by phone: call me", "never again")
	inOrder(t, page.body, "by phone: call me", "never again")
	b.post("/people/record", form).want(200).has("what was recorded later counts", "not refused: may be contacted")
	// The same page again with other words is another consent.
	form.Set("words", "by phone: really never")
	b.post("/people/record", form).want(200).has("refused: is not contacted", "really never")

	admin := r.login("channels:admin")
	r.soon(func() bool { return strings.Count(admin.get("/audit").want(200).body, "post-consents") == 5 })
	audit := admin.get("/audit").has("find-person", "***77").hasNot(numberCanary[1:], "never again")
	if n := strings.Count(audit.body, "***77"); n < 10 { // one for each time that it was recorded, and shown
		t.Errorf("%d entries of the audit log have the masked address", n)
	}
	if logs := r.logs.String(); strings.Contains(logs, numberCanary[1:]) || strings.Contains(logs, "never again") {
		t.Error("the log has the number or the words")
	}
}

// A number that cannot be read says why, on each page that takes one, and names the sign that is wrong.
func TestPeople_WhatIsWrongWithANumberIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, "texts")
	b := r.login("admin")
	form := consentOf(t, b.post("/people", url.Values{"to": {numberCanary}}).want(200), "words", "by phone")
	for code, in := range map[string]string{"en": "has a sign", "es": "tiene un signo", "fr": "a un signe", "pt": "tem um sinal"} {
		b.cookies["weir_language"] = code
		for to, named := range map[string]string{"+254•722•123456": "U+2022", "+254 722 123 456 #1": "U+0023", "*254722123456": "U+002A"} {
			form.Set("to", to)
			for path, values := range map[string]url.Values{"/people": {"to": {to}}, "/people/record": form, "/people/export": {"to": {to}}} {
				got := b.post(path, values).want(422)
				if text := strings.ToLower(got.body); !strings.Contains(got.body, named) || !strings.Contains(text, in) {
					t.Errorf("%s, %s, %q: %s", code, path, to, got.body)
				}
			}
		}
		b.post("/people", url.Values{"to": {"0722123456"}}).want(422).has("+")
	}
}

func TestPeople_EveryMistakeIsShownAtOnceBesideItsField(t *testing.T) {
	t.Parallel()
	r := newRig(t, peopleScopes, "people:admin")
	b := r.login(peopleScopes)
	form := consentOf(t, b.post("/people", url.Values{"to": {numberCanary}}).want(200), "status", "maybe", "words", " ", "at", "soon")
	page := b.post("/people/record", form).want(422).
		has("Nothing was recorded", `id="status-wrong"`, `id="words-wrong"`, `id="at-wrong"`, `value="soon"`, `aria-describedby="at-wrong at-help"`, `value="`+form.Get("once")+`"`, `id="person-head"`).hasNot(`id="to-wrong"`)
	noNumberInLinks(t, page)
	later := time.Now().UTC().Add(time.Hour).Format("2006-01-02T15:04")
	b.post("/people/record", url.Values{"to": {""}, "status": {"given"}, "words": {strings.Repeat("é", 501)}, "at": {later}}).want(422).
		has(`id="to-wrong"`, `id="words-wrong"`, "in the future", `value="`+later+`"`, `value="given" selected`, strings.Repeat("é", 501))
	b.post("/people/record", url.Values{"to": {numberCanary}, "status": {"given"}, "words": {"yes"}, "at": {"0001-01-02T00:00"}}).want(422).has(`id="at-wrong"`, ">yes</textarea>") // found by the API
	r.login("people:admin").post("/people/record", url.Values{"to": {numberCanary}}).want(422).has(`value="`+numberCanary+`"`, `id="words-wrong"`).hasNot("person-head")
	b.post("/people", url.Values{"to": {numberCanary}}).want(200).has("Nothing is recorded")
}

func TestPeople_PartsNeedTheirScopes(t *testing.T) {
	t.Parallel()
	r := newRigAfter(t, refusesByWord, nil, "contacts:read", peopleReader, "people:admin", "channels:admin")
	masked := r.login("contacts:read")
	masked.get("/people").want(200).has("pii:read").hasNot("<textarea", `action="/people"`, `action="/people/record"`)
	masked.post("/people", url.Values{"to": {numberCanary}}).want(403)
	masked.post("/people", nil).want(403)
	reader := r.login(peopleReader)
	reader.get("/people").want(200).has(`action="/people"`).hasNot(`action="/people/record"`)
	reader.post("/people", url.Values{"to": {numberCanary}}).want(200).has("the person sent a stop word").hasNot(`action="/people/record"`, "<textarea")
	reader.get("/people/record").want(403)
	reader.post("/people/record", url.Values{"to": {numberCanary}, "status": {"given"}, "words": {"x"}}).want(403).has("people:admin")

	// Whoever may not see what people said can still record what one says.
	recorder := r.login("people:admin")
	page := recorder.get("/people").want(200).has(`action="/people/record"`, `id="to"`).hasNot(`action="/people"`)
	recorder.get("/people/record").want(200)
	recorder.post("/people", url.Values{"to": {numberCanary}}).want(403)
	done := recorder.post("/people/record", consentOf(t, page, "to", "+15550100234", "words", "no more")).want(200).has("The refusal of ***34 is recorded").hasNot("5550100234", "person-head", "no more")
	noNumberInLinks(t, done)

	other := r.login("channels:admin")
	other.get("/").want(200).hasNot(`href="/people"`)
	other.get("/people").want(403)
}

// Behind a prefix the forms stay below it.
func TestPeople_FormsHaveThePrefix(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, []string{"WEIR_PATH_PREFIX=/ops/weir"}, "router")
	b := r.visitor()
	b.post("/ops/weir/login", url.Values{"token": {adminToken}}).want(303)
	b.post("/ops/weir/people", url.Values{"to": {numberCanary}}).want(200).has(`action="/ops/weir/people"`, `action="/ops/weir/people/record"`, `action="/ops/weir/contacts"`, `href="/ops/weir/people"`)
}
