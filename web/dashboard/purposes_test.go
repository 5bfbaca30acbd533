package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/people"
	peopleapi "weir/web/people"
)

// aPurpose is a purpose with every rule but an exemption.
const aPurpose = `{"title":"Health <b>2026","quiet_hours":{"from":"20:00","to":"09:00"},"time_zone":"Africa/Nairobi","repeat_guard":"24h",
	"holidays":[{"date":"2026-12-25","name":"Christmas Day"},{"date":"2027-01-01"}],
	"caps":[{"max":2,"within":"7d"},{"max":1,"within":"1d","kind":"calendar"},{"max":9,"within":"30d","over":"all"}]}`

func (r *rig) purpose(name string) people.Purpose {
	r.t.Helper()
	var p peopleapi.PurposeView
	r.api("GET", "/v1/purposes/"+name, "", &p)
	return p.Purpose
}

// purposeForm is a form of a purpose as a browser sends it, with fields changed: pairs of name
// and value.
func purposeForm(fields ...string) url.Values {
	form := url.Values{}
	for _, name := range []string{"name", "title", "exempt_reason", "quiet_hours_from", "quiet_hours_to", "time_zone", "holidays", "repeat_guard", "help", "confirmation"} {
		form.Set(name, "")
	}
	form.Set("consent", "unless_refused")
	for row := 1; row <= 8; row++ {
		field := "cap_" + strconv.Itoa(row)
		form.Set(field+"_max", "")
		form.Set(field+"_within", "")
		form.Set(field+"_kind", "rolling")
		form.Set(field+"_over", "purpose")
	}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}

// filledIn reads the form of a page, as a browser sends it back.
func filledIn(page answer) url.Values {
	form := url.Values{}
	for _, in := range regexp.MustCompile(`<input [^>]*>`).FindAllString(page.body, -1) {
		name, value := attribute(in, "name"), attribute(in, "value")
		if name != "" && attribute(in, "type") != "hidden" && (attribute(in, "type") != "checkbox" || strings.Contains(in, " checked")) {
			form.Add(name, value) // checkboxes may share a name
		}
	}
	for _, s := range regexp.MustCompile(`(?s)<select [^>]*name="([^"]+)".*?</select>`).FindAllStringSubmatch(page.body, -1) {
		chosen := regexp.MustCompile(`value="([^"]*)" selected`).FindStringSubmatch(s[0])
		if chosen == nil {
			chosen = regexp.MustCompile(`value="([^"]*)"`).FindStringSubmatch(s[0])
		}
		form.Set(s[1], chosen[1])
	}
	for _, a := range regexp.MustCompile(`(?s)<textarea [^>]*name="([^"]+)"[^>]*>(.*?)</textarea>`).FindAllStringSubmatch(page.body, -1) {
		form.Set(a[1], strings.ReplaceAll(a[2], "\n", "\r\n"))
	}
	return form
}

func attribute(tag, name string) string {
	found := regexp.MustCompile(` ` + name + `="([^"]*)"`).FindStringSubmatch(tag)
	if found == nil {
		return ""
	}
	return found[1]
}

func TestPurposes_AreListedWithTheirRules(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read", "contacts:write", "surveys:admin", "people:admin", "channels:admin")
	b := r.login("contacts:read")
	b.get("/purposes").want(200).has(`<span aria-current="page">Purposes</span>`, `href="/purposes/default"`, "no rules", "contacts that name no purpose")
	b.get("/purposes/default").want(200).has("no rules")
	r.api("PUT", "/v1/purposes/research", aPurpose, nil)
	r.api("PUT", "/v1/purposes/alarm", `{"exempt_from":["consent"],"exempt_reason":"floods"}`, nil)
	r.api("PUT", "/v1/purposes/marketing", `{"consent":"recorded"}`, nil)
	rules := []string{
		"quiet hours 20:00 to 09:00", "2 holidays", "people of unknown time zone live in Africa/Nairobi", "at most 2 in 7d", "at most 1 a calendar day", "at most 9 in 30d over all purposes", "the same text not again within 24h",
	}
	for _, scope := range []string{"contacts:read", "contacts:write", "surveys:admin"} {
		reader := r.login(scope)
		page := reader.get("/purposes").want(200).has(rules...).has("Health &lt;b&gt;2026", "people who refused are contacted, too: floods", "only people whose consent is recorded", `<a href="/purposes" aria-current="page">`).
			hasNot(`id="new"`, "/edit", "<b>")
		if first, second := strings.Index(page.body, `id="purpose-default"`), strings.Index(page.body, `id="purpose-alarm"`); first < 0 || second < first {
			t.Errorf("default is at %d, alarm at %d", first, second)
		}
		reader.get("/purposes/research").want(200).has(rules...).has("2026-12-25 Christmas Day").hasNot("/edit", "/delete", "<form method=\"post\" action=\"/purposes")
		for _, path := range []string{"/purposes/_new", "/purposes/research/edit", "/purposes/research/delete"} {
			reader.get(path).want(403)
			reader.post(path, purposeForm("name", "other")).want(403).has("people:admin")
		}
	}
	r.purpose("research")
	r.login("people:admin").get("/purposes").want(200).has(`id="new"`, `href="/purposes/research/edit"`, `href="/purposes/default/edit"`)
	b.get("/purposes/none").want(404).has("there is no purpose")
	other := r.login("channels:admin")
	other.get("/").want(200).hasNot(`href="/purposes"`)
	other.get("/purposes").want(403)
}

func TestPurposes_OneIsCreated(t *testing.T) {
	t.Parallel()
	r := newRig(t, "people:admin", "channels:admin")
	b := r.login("people:admin")
	form := filledIn(b.get("/purposes/_new").want(200).has(`action="/purposes/_new"`, `<span aria-current="page">New</span>`).hasNot("aria-invalid"))
	for name, value := range map[string]string{
		"name": " research ", "title": "Health", "quiet_hours_from": "20:00", "quiet_hours_to": "09:00", "time_zone": "Africa/Nairobi", "repeat_guard": "24h",
		"holidays": "2026-12-25 Christmas Day\r\n\r\n  2027-01-01\r\n", "cap_2_max": "2", "cap_2_within": "7d", "cap_8_max": "1", "cap_8_within": "1d", "cap_8_kind": "calendar", "cap_8_over": "all",
	} {
		form.Set(name, value)
	}
	if to := b.post("/purposes/_new", form).want(303).header.Get("Location"); to != "/purposes/research" {
		t.Errorf("it leads to %q", to)
	}
	b.get("/purposes/research").want(200).has("Purpose research is created.", "2026-12-25 Christmas Day", "at most 1 a calendar day over all purposes")
	p := r.purpose("research")
	if p.Title != "Health" || p.QuietHours == nil || p.QuietHours.To != "09:00" || len(p.Holidays) != 2 || p.Holidays[1] != (people.Holiday{Date: "2027-01-01"}) ||
		len(p.Caps) != 2 || p.Caps[1].Over != people.OverAll || p.RepeatGuard != "24h" || p.Consent != people.UnlessRefused {
		t.Errorf("it is %+v", p)
	}
	// The same name again would replace the rules.
	b.post("/purposes/_new", purposeForm("name", "research", "title", "other", "repeat_guard", "1 day")).want(422).has(`id="name-wrong"`, "name already", `id="repeat_guard-wrong"`, `value="other"`)
	if again := r.purpose("research"); again.Title != "Health" {
		t.Errorf("it is %+v", again)
	}
	admin := r.login("channels:admin")
	r.soon(func() bool { return strings.Contains(admin.get("/audit").want(200).body, "put-purpose") })

	b.post("/purposes/_new", purposeForm("name", "new", "exempt_from", "consent", "exempt_reason", "floods")).want(303)
	b.get("/purposes/new").want(200).has("people who refused are contacted, too: floods")
}

func TestPurposes_EveryMistakeIsShownAtOnceBesideItsField(t *testing.T) {
	t.Parallel()
	r := newRig(t, "people:admin")
	b := r.login("people:admin")
	wrong := []string{
		"title", strings.Repeat("ä", 201), "consent", "maybe", "exempt_from", "consent", "quiet_hours_from", "25:00", "time_zone", "Mars/Olympus", "repeat_guard", "soon",
		"holidays", "2026-12-25 Christmas\r\n\r\nChristmas\r\n2026-02-30 none", "cap_1_max", "many", "cap_1_within", "7d", "cap_3_max", "2000", "cap_3_within", "8h", "cap_3_kind", "calendar", "cap_8_within", "week", "cap_8_over", "some",
	}
	marked := []string{"title", "consent", "exempt_reason", "quiet_hours_from", "quiet_hours_to", "time_zone", "repeat_guard", "holidays", "cap_1_max", "cap_3_max", "cap_3_within", "cap_8_max", "cap_8_within", "cap_8_over"}
	check := func(page answer) {
		t.Helper()
		for _, field := range marked {
			page.has(`id="` + field + `-wrong"`)
		}
		page.has("Nothing was saved. Correct the marked fields", "Quiet hours to: enter this.", "Within: &#34;week&#34; is not a delay", "Line 3: ", "Line 4: ", `value="25:00"`, `value="Mars/Olympus"`, "2026-12-25 Christmas\n\nChristmas\n2026-02-30 none</textarea>", `value="many"`, `value="week"`, `value="calendar" selected`, "<details open>", " checked").
			hasNot(`id="cap_1_within-wrong"`, `id="cap_2_max-wrong"`, `role="alert"`)
	}
	check(b.post("/purposes/_new", purposeForm(append(wrong, "name", "Research!")...)).want(422).has(`id="name-wrong"`, `value="Research!"`))
	check(b.post("/purposes/_new", purposeForm(wrong...)).want(422).has(`id="name-wrong"`))
	check(b.post("/purposes/_new", purposeForm(append(wrong, "name", "research")...)).want(422).hasNot(`id="name-wrong"`))
	check(b.post("/purposes/default/edit", purposeForm(wrong...)).want(422).hasNot(`id="name"`))
	b.post("/purposes/_new", purposeForm("name", "all")).want(422).has(`id="name-wrong"`, "is not all")
	b.post("/purposes/_new", purposeForm("name", "a", "consent", "recorded", "exempt_from", "consent", "exempt_reason", "x")).want(422).has(`id="exempt_from-wrong"`)
	b.post("/purposes/_new", purposeForm("name", "a", "holidays", strings.Repeat("2026-12-25\n", 401))).want(422).has(`id="holidays-wrong"`)
	b.post("/purposes/No!/edit", purposeForm("title", "kept")).want(422).has(`role="alert"`, "<code>/name</code>", `value="kept"`)
	b.get("/purposes").want(200).hasNot(`id="purpose-research"`, `id="purpose-a`)
}

func TestPurposes_EditKeepsWhatIsNotChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t, "people:admin")
	r.api("PUT", "/v1/purposes/research", aPurpose, nil)
	before := r.purpose("research")
	b := r.login("people:admin")
	page := b.get("/purposes/research/edit").want(200).has("2026-12-25 Christmas Day\n2027-01-01</textarea>", `value="Health &lt;b&gt;2026"`).hasNot(`id="name"`, "<details open>")
	form := filledIn(page)
	form.Set("title", "Health")
	b.post("/purposes/research/edit", form).want(303)
	b.get("/purposes/research").want(200).has("Purpose research is changed.")
	after := r.purpose("research")
	if len(after.Caps) != 3 || after.Caps[1] != before.Caps[1] || after.Caps[2] != before.Caps[2] || *after.QuietHours != *before.QuietHours || len(after.Holidays) != 2 || after.Holidays[0] != before.Holidays[0] ||
		after.TimeZone != before.TimeZone || after.RepeatGuard != before.RepeatGuard || after.Title != "Health" {
		t.Errorf("it is %+v, before %+v", after, before)
	}
	form.Set("cap_1_max", "")
	form.Set("cap_1_within", "")
	form.Set("quiet_hours_from", "")
	form.Set("quiet_hours_to", "")
	form.Set("holidays", "")
	b.post("/purposes/research/edit", form).want(303)
	if p := r.purpose("research"); len(p.Caps) != 2 || p.QuietHours != nil || len(p.Holidays) > 0 {
		t.Errorf("it is %+v", p)
	}
	b.get("/purposes/none/edit").want(404)

	// The default purpose can be edited before it has rules.
	b.post("/purposes/default/edit", filledIn(b.get("/purposes/default/edit").want(200))).want(303)
	b.get("/purposes/default").want(200).has("people who refused are not contacted").hasNot("no rules", "/purposes/default/delete")
}

func TestPurposes_OneInUseIsNotDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, "people:admin", surveyScope)
	r.api("PUT", "/v1/purposes/research", aPurpose, nil)
	r.api("PUT", "/v1/channels/texts", `{"type":"nuntium","paused":true,"settings":{"base_url":"http://127.0.0.1:1","account":"a","application":"b","channel":"c","password":"p"}}`, nil)
	r.api("PUT", "/v1/surveys/flu", strings.Replace(flu, `{"title"`, `{"purpose":"research","title"`, 1), nil)
	r.login(surveyScope).get("/surveys/flu").want(200).has(`<a id="purpose" href="/purposes/research">research</a>`)
	b := r.login("people:admin")
	b.get("/purposes/research").want(200).has(`href="/purposes/research/delete" data-dialog`)
	b.get("/purposes/research/delete").want(200).has("Delete purpose research", "still apply to contacts")
	b.post("/purposes/research/delete", nil).want(409).has("in use by the surveys flu", `role="alert"`)
	r.purpose("research")
	r.api("DELETE", "/v1/surveys/flu", "", nil)
	if to := b.post("/purposes/research/delete", nil).want(303).header.Get("Location"); to != "/purposes" {
		t.Errorf("it leads to %q", to)
	}
	b.get("/purposes").want(200).has("Purpose research is deleted.").hasNot(`id="purpose-research"`)
	b.get("/purposes/research").want(404)
	b.post("/purposes/default/delete", nil).want(409).has("edit it to remove its rules")
	b.get("/purposes/default/delete").want(409)
}

// The page of a contact shows its purpose, the rule that it waits for or by which it was
// suppressed, and the receipt of each attempt.
func TestPurposes_AreOnThePageOfAContact(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read")
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("X-Nuntium-Token", "t")
		if strings.HasPrefix(q.URL.Path, "/api/") {
			_, _ = w.Write([]byte(`{"name":"b","enabled":true}`))
		}
	}))
	t.Cleanup(provider.Close)
	r.api("PUT", "/v1/channels/a", `{"type":"nuntium","capacity":7,"settings":{"base_url":"`+provider.URL+`","account":"a","application":"b","channel":"c","password":"p"}}`, nil)
	now := time.Now().UTC()
	r.api("PUT", "/v1/purposes/research", `{"quiet_hours":{"from":"`+now.Add(-time.Hour).Format("15:04")+`","to":"`+now.Add(2*time.Hour).Format("15:04")+`"},"caps":[{"max":2,"within":"7d"}]}`, nil)
	r.api("PUT", "/v1/purposes/marketing", `{"consent":"recorded"}`, nil)
	var queued struct{ Contacts []struct{ ID string } }
	r.api("POST", "/v1/channels/a/contacts", `{"contacts":[
		{"key":"night","to":"+15550100001","messages":["1"],"purpose":"research","time_zone":"UTC"},
		{"key":"day","to":"+15550100002","messages":["2"],"purpose":"research","time_zone":"Asia/Karachi"},
		{"key":"unasked","to":"+15550100003","messages":["3"],"purpose":"marketing"},
		{"key":"plain","to":"+15550100004","messages":["4"]}]}`, &queued)
	b := r.login("contacts:read")
	page := func(i int) answer { return b.get("/contacts/" + queued.Contacts[i].ID).want(200) }
	r.soon(func() bool { return strings.Contains(page(0).body, `id="rule"`) })
	page(0).has("<dt>Waits for rule</dt>", "quiet hours of the person", `<a id="purpose" href="/purposes/research">research</a>`, "<dt>Time zone</dt><dd>UTC</dd>").hasNot("<dt>Rule</dt>", "Why instants", "receipts-head")
	r.soon(func() bool { return strings.Contains(page(1).body, "receipts-head") })
	page(1).has("<dt>Attempt 1</dt><dd>purpose research; no refusal recorded;", " in Asia/Karachi; cap 2 in 7d: 1 left; may be dispatched until <time").hasNot(`id="rule"`)
	r.soon(func() bool { return strings.Contains(page(2).body, "Suppressed by rule") })
	page(2).has("consent: none is recorded, and the purpose requires one")
	r.soon(func() bool { return strings.Contains(page(3).body, "<td>") })
	page(3).has(`<a id="purpose" href="/purposes/default">default</a>`).hasNot("receipts-head", `id="rule"`)
}

// A provider's opt-out counts for the contacts over its channel.
func TestPurposes_RefusalOverAChannelIsShown(t *testing.T) {
	t.Parallel()
	refuses := func(r *rig) { r.refuses(people.OverChannel("my_texts"), people.FromProvider) }
	r := newRigAfter(t, refuses, nil, peopleScopes)
	r.login(peopleScopes).post("/people", url.Values{"to": {numberCanary}}).want(200).
		has("refused in part", "refused: is not contacted", "the provider reports an opt-out", "all purposes, over the channel my_texts").hasNot(`id="only-person"`)
}

// A refusal or a consent counts for all purposes, or for one.
func TestPurposes_ConsentsAreRecordedForOne(t *testing.T) {
	t.Parallel()
	r := newRigAfter(t, refusesByWord, nil, peopleScopes, "people:admin")
	b := r.login(peopleScopes)
	const other = "+15550100055"
	b.post("/people", url.Values{"to": {other}}).want(200).has(`action="/people/record"`).hasNot(`name="purpose"`) // nothing to choose from
	r.api("PUT", "/v1/purposes/research", aPurpose, nil)
	page := b.post("/people", url.Values{"to": {other}}).want(200).has(`<select id="purpose" name="purpose"`, `<option value="all" selected>all purposes`, `<option value="default">default`, "research – Health &lt;b&gt;2026")
	page = b.post("/people/record", consentOf(t, page, "purpose", "research", "words", "no surveys")).want(200).
		has("From now on contacts of the purpose research to this address end as suppressed", "refused in part", "refused: is not contacted", "<dt>Purpose</dt><dd>research</dd>")
	b.post("/people/record", consentOf(t, page, "purpose", "research", "status", "given", "words", "surveys again")).want(200).has("agreed to contacts of the purpose research", "not refused: may be contacted").hasNot("refused in part")

	// Whoever refused everything by a word is not contacted for one purpose either.
	page = b.post("/people", url.Values{"to": {numberCanary}}).want(200)
	b.post("/people/record", consentOf(t, page, "purpose", "research", "status", "given", "words", "only surveys")).want(200).
		has("***77 stays refused for all purposes", "given, but what counts for all purposes decides", `state-failed">refused</span>`)
	b.post("/people/record", consentOf(t, page, "purpose", "none", "words", "x")).want(422).has(`id="purpose-wrong"`, `<option value="none" selected>`)
	recorder := r.login("people:admin")
	recorder.post("/people/record", consentOf(t, recorder.get("/people").want(200).has("research"), "to", other, "purpose", "default", "words", "x")).want(200).has("The refusal of ***55 is recorded. If something else was said later")
}
