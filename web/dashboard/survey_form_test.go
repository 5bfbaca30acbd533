package dashboard_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// filledSurvey is the form of a survey by text, filled in.
func filledSurvey() url.Values {
	return url.Values{
		"name": {"flu"}, "title": {"Flu"}, "time_zone": {"Africa/Nairobi"}, "weekdays": {"mon", "tue"}, "window_1_from": {"09:00"}, "window_1_to": {"12:00"}, "window_2_from": {"13:00"}, "window_2_to": {"00:00"},
		"blocked_days": {"2026-12-25\r\n2026-12-26"}, "end_date": {"2099-12-31"}, "sms_channel": {"texts"}, "sms_retries": {"10m 1d"}, "sms_text_1": {"Hello {{first_name}}\r\n---\r\nMay we ask?"}, "sms_text_2": {"Again"},
		"fallback_delay": {"2h"}, "cutoff": {"20"}, "quota_1_attribute": {"sex"}, "quota_1_values": {"f, female"}, "quota_1_quota": {"10"}, "purpose": {"default"}, "limit_per_minute": {"30"}, "region": {"KE"},
		"app_url": {"https://interviews.example.org/weir"}, "app_secret": {"CANARY-app-secret"},
	}
}

// definitionOf reads the definition of a survey as a client would write it.
func (r *rig) definitionOf(name string) (definition map[string]any) {
	r.t.Helper()
	r.api("GET", "/v1/surveys/"+name, "", &definition)
	for _, field := range []string{"survey", "state", "version", "created_at", "updated_at", "why", "why_code", "why_instants", "why_clauses"} {
		delete(definition, field)
	}
	return definition
}

// sameJSON compares a value with JSON text.
func sameJSON(t *testing.T, got any, want string) {
	t.Helper()
	var is any
	if err := json.Unmarshal([]byte(want), &is); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(is, got); diff != "" {
		t.Error(diff)
	}
}

// Scenario 318.
func TestSurveyForm_CreatesASurvey(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	b := r.login("admin")
	b.get("/surveys").want(200).has(`id="new"`)
	b.get("/surveys/_new").want(200).has("<h1>New survey</h1>", `value="texts"`, `value="09:00"`, `name="answer_first" value="true" checked`)
	wrong := filledSurvey()
	for field, value := range map[string]string{"name": "Flu!", "time_zone": "Mars", "window_1_to": "08:00", "blocked_days": "2026-13-01", "sms_channel": "none", "sms_retries": "soon", "sms_text_2": "{{", "cutoff": "many", "quota_1_quota": "-1", "region": "XX", "app_url": "ftp://x"} {
		wrong.Set(field, value)
	}
	p := b.post("/surveys/_new", wrong).want(422).has("Nothing was saved. Correct the marked fields", `value="Flu!"`, `value="many"`, "May we ask?").hasNot("CANARY-app-secret")
	for _, field := range []string{"name", "time_zone", "window_1_to", "blocked_days", "sms_channel", "sms_retries", "sms_text_2", "cutoff", "quota_1_quota", "region", "app_url"} {
		p.has(`id="` + field + `-wrong"`)
	}
	r.visitorGone("flu")
	b.post("/surveys/_new", filledSurvey()).want(303)
	sameJSON(t, r.definitionOf("flu"), `{"title":"Flu","schedule":{"time_zone":"Africa/Nairobi","weekdays":["mon","tue"],"windows":[{"from":"09:00","to":"12:00"},{"from":"13:00","to":"24:00"}],"blocked_days":["2026-12-25","2026-12-26"],"end_date":"2099-12-31"},
		"modes":{"sms":{"channel":"texts","retries":"10m 1d"}},"arms":[{"modes":["sms"]}],"questionnaires":{"main":{"sms":[{"messages":["Hello {{first_name}}","May we ask?"]},{"messages":["Again"]}]}},
		"fallback_delay":"2h","cutoff":20,"quotas":[{"where":{"sex":{"in":["f","female"]}},"quota":10}],"limit_per_minute":30,"region":"KE","application":{"url":"https://interviews.example.org/weir","has_secret":true}}`)
	b.get("/surveys/flu").want(200).has("Survey flu is created.", `id="edit"`, `id="import"`)
	b.post("/surveys/_new", filledSurvey()).want(409).has("There is a survey of this name already")
}

// Scenario 357: the form of a survey of one question, which needs no application.
func TestSurveyForm_TakesTheFirstMessageAsTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	b := r.login("admin")
	form := filledSurvey()
	form.Set("answer_first", "true")
	form.Set("answer_thanks", "{{")
	b.post("/surveys/_new", form).want(422).has(`id="answer_first-wrong"`, "leave one of the two out", `id="answer_thanks-wrong"`, `name="answer_first" value="true" checked`)
	form.Del("app_url")
	form.Del("app_secret")
	form.Set("answer_thanks", "Thank you")
	b.post("/surveys/_new", form).want(303)
	sameJSON(t, r.definitionOf("flu")["answer"], `{"attribute":"answer","thanks":"Thank you"}`)
	b.get("/surveys/flu/launch").want(200).has("Answers by text", "the first message completes a respondent, and is answer in the results").hasNot("nobody completes")
	b.get("/surveys/flu/edit").want(200).has(`name="answer_first" value="true" checked`, ">Thank you</textarea>")
	calls := filledSurvey()
	for _, name := range []string{"app_url", "app_secret", "sms_channel", "sms_retries", "sms_text_1", "sms_text_2"} {
		calls.Del(name)
	}
	r.api("PUT", "/v1/channels/calls", `{"type":"verboice","paused":true,"settings":{"base_url":"http://127.0.0.1:1","channel":"c","token":"p"}}`, nil)
	calls.Set("name", "calls")
	calls.Set("answer_first", "true")
	calls.Set("ivr_channel", "calls")
	calls.Set("ivr_flow", "7")
	b.post("/surveys/_new", calls).want(303) // by calls nobody answers by text
	if answer := r.definitionOf("calls")["answer"]; answer != nil {
		t.Errorf("its answer is %v", answer)
	}
}

// visitorGone checks that there is no survey of a name.
func (r *rig) visitorGone(name string) {
	r.t.Helper()
	r.login("admin").get("/surveys/" + name).want(404)
}

var inputOf = regexp.MustCompile(`(?s)<input ([^>]*)>|<select ([^>]*)>(.*?)</select>|<textarea ([^>]*)>(.*?)</textarea>`)

// formOf reads the form of a page as a browser would send it unchanged.
func (a answer) formOf() url.Values {
	attribute := func(tag, name string) (string, bool) {
		m := regexp.MustCompile(`(?:^|\s)` + name + `="([^"]*)"`).FindStringSubmatch(tag)
		if m == nil {
			return "", false
		}
		return unescaped(m[1]), true
	}
	form := url.Values{}
	for _, m := range inputOf.FindAllStringSubmatch(a.body, -1) {
		tag := m[1] + m[2] + m[4]
		name, ok := attribute(tag, "name")
		kind, _ := attribute(tag, "type")
		switch {
		case !ok || (kind == "checkbox" || kind == "radio") && !strings.Contains(tag, " checked"):
		case m[2] != "":
			options := regexp.MustCompile(`<option value="([^"]*)" selected`).FindStringSubmatch(m[3])
			if options == nil {
				options = regexp.MustCompile(`<option value="([^"]*)"`).FindStringSubmatch(m[3])
			}
			form.Add(name, unescaped(options[1]))
		case m[4] != "":
			form.Add(name, unescaped(m[5]))
		default:
			value, _ := attribute(tag, "value")
			form.Add(name, value)
		}
	}
	return form
}

func unescaped(s string) string {
	return strings.NewReplacer("&#34;", `"`, "&lt;", "<", "&gt;", ">", "&#39;", "'", "&amp;", "&").Replace(s)
}

// What the form does not know survives it, and so does the secret. Scenario 318.
func TestSurveyForm_KeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	r.api("PUT", "/v1/channels/calls", `{"type":"twilio_voice","paused":true,"settings":{"base_url":"http://127.0.0.1:1","account_sid":"AC00000000000000000000000000000000","auth_token":"p","from":"+12125550100"}}`, nil)
	b := r.login("admin")
	for name, text := range map[string]string{
		"plain": `{"schedule":{"time_zone":"UTC","weekdays":["sun","mon"],"windows":[{"from":"00:00","to":"24:00"}]},"modes":{"sms":{"channel":"texts"},"ivr":{"channel":"calls","retries":"1h"}},
			"arms":[{"questionnaire":"q","modes":["sms","ivr"]}],"questionnaires":{"q":{"sms":[{"messages":["a\nb","c"]},{"messages":["d"]}],"ivr":[{"call":{"twiml":"<Response/>"}},{"call":{"callback_url":"https://x.example.org/"}}]}},
			"stop_words":[],"labels":["language"],"weight":3,"batch_size":7,"initial_success_rate":0,"quota_message":"Thanks","quotas":[{"where":{"age":{"from":18}},"quota":3}],"count_partial":true,"application":{"url":"https://x.example.org/","secret":"s"}}`,
		"rich": flu,
	} {
		r.api("PUT", "/v1/surveys/"+name, text, nil)
		before := r.definitionOf(name)
		p := b.get("/surveys/" + name + "/edit").want(200).has("keeps as they are")
		b.post("/surveys/"+name+"/edit", p.formOf()).want(303)
		if diff := cmp.Diff(before, r.definitionOf(name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		form := p.formOf()
		form.Set("title", "Changed")
		b.post("/surveys/"+name+"/edit", form).want(303)
		before["title"] = "Changed"
		if diff := cmp.Diff(before, r.definitionOf(name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		b.post("/surveys/"+name+"/edit", form).want(409).has("the survey was changed meanwhile", `value="Changed"`)
	}
}

// Of a running survey only some fields can change.
func TestSurveyForm_OfARunningSurveyChangesWhatTheAPIAllows(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope, "contacts:read")
	r.channel("texts")
	b := r.login("admin")
	b.post("/surveys/_new", filledSurvey()).want(303)
	r.api("POST", "/v1/surveys/flu/respondents", `{"respondents":[{"phone":"+254712345678","attributes":{"first_name":"Ana"}}]}`, nil)
	r.api("POST", "/v1/surveys/flu:launch", "", nil)
	p := b.get("/surveys/flu/edit").want(200).has(`id="launched"`, "Channel <code>texts</code>").hasNot(`name="sms_channel"`, `name="sms_text_1"`)
	form := p.formOf()
	form.Set("sms_retries", "5m")
	form.Set("cutoff", "")
	form.Set("quota_1_quota", "11")
	b.post("/surveys/flu/edit", form).want(303)
	after := r.definitionOf("flu")
	sameJSON(t, after["modes"], `{"sms":{"channel":"texts","retries":"5m"}}`)
	sameJSON(t, after["quotas"], `[{"where":{"sex":{"in":["f","female"]}},"quota":11}]`)
	if after["cutoff"] != nil {
		t.Errorf("cutoff %v", after["cutoff"])
	}
	form = b.get("/surveys/flu/edit").want(200).formOf()
	form.Set("quota_1_values", "x")
	b.post("/surveys/flu/edit", form).want(409).has("may change only in a draft")
	r.api("POST", "/v1/surveys/flu:lock", "", nil)
	b.get("/surveys/flu").want(200).hasNot(`id="edit"`)
	reader := r.login("contacts:read")
	reader.get("/surveys").want(200).hasNot(`id="new"`)
	reader.get("/surveys/flu").want(200).hasNot(`id="edit"`, `id="import"`)
	reader.get("/surveys/flu/definition").want(200).has("flu.json", "Africa/Nairobi").hasNot(`id="edit"`, `id="clone"`)
	for _, path := range []string{"/surveys/_new", "/surveys/_new/json", "/surveys/flu/edit", "/surveys/flu/edit/json", "/surveys/flu/import", "/surveys/flu/clone"} {
		reader.get(path).want(403)
		reader.post(path, form).want(403)
	}
}

// Scenario 319.
func TestSurveyJSON_MistakesHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	b := r.login("admin")
	b.get("/surveys/_new/json").want(200).has("Definition</label>", "time_zone")
	post := func(path, name, text string) answer {
		return b.post(path, url.Values{"name": {name}, "definition": {text}, "version": {"1"}})
	}
	wrong := "{\r\n\"schedule\": {\"time_zone\": \"UTC\", \"weekdays\": [\"mon\"],\r\n\"windows\": [\r\n{\"from\": \"09:00\", \"to\": \"08:00\"}]},\r\n\"modes\": {\"sms\": {\"channel\": \"none\"}},\r\n\"arms\": [{\"modes\": [\"sms\"]}],\r\n\"nonsense\": 1\r\n}"
	post("/surveys/_new/json", "flu", wrong).want(422).has("<li>/schedule/windows/0/to: ", "<li>/modes/sms/channel: ", "<li>/nonsense: ", "<li>/questionnaires: ", `&#34;nonsense&#34;: 1`)
	post("/surveys/_new/json", "flu", "{\n\"a\": 1,\n}").want(422).has("Line 3: ")
	post("/surveys/_new/json", "flu", "{\n\"a\": [1,\n").want(422).has("Line 2: The text ends before")
	post("/surveys/_new/json", "flu", "{\"a\": 1,\n\"a\": 2}").want(422).has("<li>/a: Is there twice.")
	post("/surveys/_new/json", "flu", "[]").want(422).has("must be a JSON object")
	post("/surveys/_new/json", "flu", strings.Repeat("[", 40)+strings.Repeat("]", 40)).want(422).has("<li>It is nested too deep.")
	post("/surveys/_new/json", "flu", `{"a": 1, "A": 2}`).want(422).has("<li>/a: ", "<li>/A: ").hasNot("twice")
	post("/surveys/_new/json", "Flu!", flu).want(422).has(`id="name-wrong"`).hasNot("Line ")
	post("/surveys/_new/json", "flu", flu).want(303)
	post("/surveys/_new/json", "flu", flu).want(409).has("There is a survey of this name already")
	form := b.get("/surveys/flu/edit/json").want(200).has("America/Mexico_City").formOf()
	text := form.Get("definition")
	form.Set("definition", strings.Replace(text, "500", "600", 1))
	b.post("/surveys/flu/edit/json", form).want(303)
	sameJSON(t, r.definitionOf("flu")["quotas"].([]any)[1], `{"where":{"sex":{"in":["m"]}},"quota":600}`)
	b.post("/surveys/flu/edit/json", form).want(409).has("the survey was changed meanwhile")
}

func TestSurveyDefinition_IsShownDownloadedAndCloned(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 1)
	r.api("PATCH", "/v1/surveys/flu", `{"application":{"url":"https://x.example.org/","secret":"CANARY-app-secret"}}`, nil)
	b := r.login(surveyScope)
	b.get("/surveys/flu/definition").want(200).has("America/Mexico_City", "has a secret").hasNot("CANARY-app-secret", numberCanary)
	file := b.get("/surveys/flu/definition.json").want(200)
	if got := file.header.Get("Content-Disposition"); got != `attachment; filename="flu.json"` {
		t.Errorf("it is %s", got)
	}
	r.api("PUT", "/v1/surveys/again", file.body, nil)
	b.get("/surveys/flu/clone").want(200).has("Respondents are not copied", "secret of the application cannot be read")
	b.post("/surveys/flu/clone", url.Values{"name": {"again"}}).want(422).has("There is a survey of this name already")
	b.post("/surveys/flu/clone", url.Values{"name": {"flu-2"}}).want(303)
	before, after := r.definitionOf("flu"), r.definitionOf("flu-2")
	after["application"] = before["application"]
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}
