package dashboard_test

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/api"
)

const surveyScope = "surveys:admin contacts:read"

// flu is a survey in Mexico City, open every day from 9 to 13 and from 16 to 20,
// with two arms and two quotas. Its title contains hostile markup.
const flu = `{"title":"Flu <b>2026</b>","schedule":{"time_zone":"America/Mexico_City","weekdays":["mon","tue","wed","thu","fri","sat","sun"],
	"windows":[{"from":"16:00","to":"20:00"},{"from":"09:00","to":"13:00"}],"blocked_days":["2020-01-01","2099-12-25"]},
	"modes":{"sms":{"channel":"texts","retries":"1d"}},
	"arms":[{"questionnaire":"a","modes":["sms"],"ratio":60},{"questionnaire":"b","modes":["sms"],"ratio":40}],
	"questionnaires":{"a":{"sms":[{"messages":["Hello {{first_name}}"]}]},"b":{"sms":[{"messages":["Good day, {{first_name}}"]}]}},
	"quotas":[{"where":{"sex":{"in":["f"]},"age":{"from":18,"to":40}},"quota":2},{"where":{"sex":{"in":["m"]}},"quota":500}],"region":"US"}`

// survey creates a draft with respondents who all have the same attributes. The
// first has the canary as its number.
func (r *rig) survey(name string, respondents int) {
	r.t.Helper()
	r.api("PUT", "/v1/channels/texts", `{"type":"nuntium","capacity":7,"paused":true,"settings":{"base_url":"http://127.0.0.1:1","account":"a","application":"b","channel":"c","password":"p"}}`, nil)
	r.api("PUT", "/v1/surveys/"+name, flu, nil)
	for i := range respondents {
		phone := fmt.Sprintf("+1212555%04d", i)
		if i == 0 {
			phone = numberCanary
		}
		r.api("POST", "/v1/surveys/"+name+"/respondents", `{"respondents":[{"phone":"`+phone+`","attributes":{"first_name":"Ana <i>","sex":"f","age":30}}]}`, nil)
	}
}

func TestSurvey_EmptySurveysNameTheFirstStep(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	b := r.login(surveyScope)
	b.get("/surveys").want(200).has("No surveys yet", "weir survey import people.csv flu", "weir survey put --help", `data-stream="/live/surveys"`)
	r.survey("draft", 0)
	b.get("/surveys/draft").want(200).has("No respondents yet", "weir survey import people.csv draft")
	b.get("/surveys/draft/respondents").want(200).has("weir survey import people.csv draft")
	b.get("/surveys/draft/launch").want(200).has("The survey has no respondents")
	b.get("/surveys/draft/log").want(200).has("No entries yet.")
	b.get("/surveys?state=done").want(200).has("No matching surveys", "all surveys").hasNot(`id="survey-draft"`)
	b.get("/surveys?state=nothing").want(200).has(`id="survey-draft"`)
	b.get("/surveys/none").want(404).has("there is no survey none")
}

func TestSurvey_PageShowsQuotasArmsAndWindows(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 3)
	b := r.login(surveyScope)
	b.get("/surveys").want(200).has("Flu &lt;b&gt;2026&lt;/b&gt;", "<dt>respondents</dt><dd>3</dd>", "<dt>quotas full</dt><dd>0 / 2</dd>", "<dt>counted</dt><dd>0 / 502</dd>")
	p := b.get("/surveys/flu").want(200).has(
		"age 18 to 40, sex f", "0 / 500", // quotas
		"60 %", "Arms</h2>", // arms
		"America/Mexico_City", "09:00–13:00, 16:00–20:00", "2099-12-25", // calendar
		`href="/channels/texts"`, "state-paused", // channels
		"/surveys/flu/results.csv", "/surveys/flu/log.csv", `id="launch"`,
		"respondents?disposition=interim+partial",
	).hasNot("2020-01-01", `id="pause"`, `id="stop"`, "<b>2026")
	if days := strings.Count(p.body, `<td class="hourcell"><svg`); days != 7 {
		t.Errorf("the calendar has %d days", days)
	}
	if p.title() != "Survey flu – Weir" {
		t.Errorf("title %q", p.title())
	}
}

func TestSurvey_QuestionOfALaunchShowsTextsAndForecast(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 3)
	b := r.login(surveyScope)
	b.get("/surveys/flu/launch").want(200).has("<dt>Application</dt><dd>none: answers are not evaluated", "<dt>Target</dt><dd>502</dd>", "questionnaire b", "<dt>Respondents by sms</dt><dd>about 3 first</dd>", "<dt>Ends at best</dt><dd>about ", "everybody answers the first attempt", "channel texts takes the longest", "channel &#34;texts&#34; is paused",
		"<blockquote>Hello Ana &lt;i&gt;</blockquote>", "<blockquote>Good day, Ana &lt;i&gt;</blockquote>").hasNot("Ends at the latest", numberCanary, "would be refused")
	r.api("PATCH", "/v1/surveys/flu", `{"initial_success_rate":0.1,"schedule":{"end_date":"2099-12-30"}}`, nil)
	b.get("/surveys/flu/launch").want(200).has("<dd>502; about 5,020 respondents are needed if 10 % succeed</dd>", "<dt>Ends at the latest</dt><dd>Wed 2099-12-30 20:00 America/Mexico_City</dd>")
	r.api("PUT", "/v1/channels/calls", `{"type":"verboice","paused":true,"settings":{"base_url":"http://127.0.0.1:1","channel":"c","username":"u@example.org","password":"p"}}`, nil)
	r.api("PATCH", "/v1/surveys/flu", `{"modes":{"ivr":{"channel":"calls"}},"arms":[{"modes":["ivr","sms"],"questionnaire":"a","ratio":100}],
		"questionnaires":{"a":{"ivr":[{"call":{"call_flow_id":1}}]},"b":null}}`, nil)
	b.get("/surveys/flu/launch").want(200).has("call flow 1", "<blockquote>Hello Ana &lt;i&gt;</blockquote>", "<dt>Respondents by ivr</dt><dd>about 3 first</dd>", "<dt>Respondents by sms</dt><dd>up to 3 later</dd>").hasNot("questionnaire a")
}

func TestSurvey_ASurveyIsLaunchedPausedResumedAndStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 3)
	b := r.login(surveyScope)
	state := func(want string) {
		t.Helper()
		var s api.SurveyView
		r.api("GET", "/v1/surveys/flu", "", &s)
		if string(s.State) != want {
			t.Fatalf("the survey is %s, want %s", s.State, want)
		}
	}
	b.get("/surveys/flu/launch").want(200).has("<dd>3</dd>", "<dd>texts</dd>", "<dt>Window</dt>")
	b.post("/surveys/flu/launch", nil).want(303)
	state("running")
	b.get("/surveys/flu").want(200).has("Survey flu is launched.", "<dt>Estimated end</dt><dd>not yet known</dd>", `id="pause"`, `id="stop"`).hasNot(`id="launch"`)
	b.get("/surveys/flu/pause").want(200).has("Active now")
	b.post("/surveys/flu/pause", nil).want(303)
	state("paused")
	b.get("/surveys/flu").want(200).has(`id="resume"`, `id="stop"`).hasNot(`id="pause"`)
	b.post("/surveys/flu/resume", nil).want(303)
	state("running")
	b.get("/surveys/flu/lock").want(200).has("cannot be paused, stopped, changed or deleted")
	b.post("/surveys/flu/lock", nil).want(303)
	b.get("/surveys/flu").want(200).has("Survey flu is locked.", "state-locked", "unlock it to pause, stop or delete it", `id="unlock"`).hasNot(`id="lock"`, `id="pause"`, `id="stop"`)
	b.get("/surveys").want(200).has("state-locked")
	b.get("/").want(200).has("state-locked")
	b.post("/surveys/flu/stop", nil).want(409).has(`role="alert"`, "survey flu is locked")
	state("running")
	b.post("/surveys/flu/unlock", nil).want(303)
	b.get("/surveys/flu").want(200).has(`id="lock"`).hasNot("state-locked", `id="unlock"`)
	b.get("/surveys/flu/stop").want(200).has("Will be canceled</dt><dd>3</dd>", "cannot be undone", `class="danger"`)
	b.post("/surveys/flu/stop", nil).want(303)
	b.post("/surveys/flu/launch", nil).want(409).has(`role="alert"`)
}

// A rejected launch lists which respondents lack which attribute.
func TestSurvey_ALaunchCheckIsShownRowByRow(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 1)
	r.api("POST", "/v1/surveys/flu/respondents", `{"respondents":[{"phone":"+12125550100","attributes":{"sex":"m"}}]}`, nil)
	r.login(surveyScope).post("/surveys/flu/launch", nil).want(422).has(`role="alert"`, "1 respondent is missing a value", "/attributes/first_name", "no value for {{first_name}}").hasNot("2125550100")
}

func TestSurvey_RespondentsAreFilteredAndPaged(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope, surveyScope+" pii:read")
	r.survey("flu", 52)
	b := r.login(surveyScope)
	const all = "/surveys/flu/respondents"
	first := b.get(all).want(200).has("***77").hasNot(numberCanary[1:])
	if n := strings.Count(first.body, `href="/surveys/flu/respondents/r`); n != 50 {
		t.Errorf("%d on the first page", n)
	}
	next := strings.ReplaceAll(regexp.MustCompile(`href="(/surveys/flu/respondents\?[^"]*)" rel="next"`).FindStringSubmatch(first.body)[1], "&amp;", "&")
	second := b.get(next).want(200).has("First page").hasNot("Next page")
	if n := strings.Count(second.body, `href="/surveys/flu/respondents/r`); n != 2 {
		t.Errorf("%d on the second page", n)
	}
	b.get(all+"?status=pending&disposition=registered").want(200).has("Next page", "status=pending")
	b.get(all+"?status=ended").want(200).has("No matching respondents.", "all respondents")
	b.get(all + "?cursor=nonsense").want(422).has("next_cursor")

	one := regexp.MustCompile(`href="(/surveys/flu/respondents/r[^"]*)"`).FindStringSubmatch(first.body)[1]
	b.get(one).want(200).has("***77", "Ana &lt;i&gt;", "registered").hasNot("Ana <i>", numberCanary[1:])
	seeing := r.login(surveyScope + " pii:read")
	if p := seeing.get(one).want(200).has(numberCanary[1:]); strings.Contains(p.title(), "5559") {
		t.Errorf("title %q", p.title())
	}
	b.get(all + "/unknown").want(404)
}

// The status completed means only that the conversation came to an end. Pages call
// that ended, and completed only what the disposition calls so.
func TestSurvey_PagesCountAsCompletedOnlyTheDispositionCompleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 3)
	r.api("POST", "/v1/surveys/flu:launch", "", nil)
	var list api.RespondentList
	r.api("GET", "/v1/surveys/flu/respondents", "", &list)
	for i, disposition := range []string{"completed", "refused", "ineligible"} {
		r.api("POST", "/v1/surveys/flu/respondents/"+list.Respondents[i].ID+"/disposition", `{"disposition":"`+disposition+`"}`, nil)
	}
	b := r.login(surveyScope)
	b.get("/surveys/flu").want(200).has("<dt>Completed</dt><dd>1</dd>", "<dt>Not completed</dt><dd>2</dd>")
	b.get("/surveys").want(200).has("<dt>completed</dt><dd>1</dd>", "<dt>not completed</dt><dd>2</dd>")
	b.get("/surveys/flu/respondents").want(200).has(`state-ended">ended</span>`, "<td>refused</td>").hasNot("state-completed")
	b.get("/surveys/flu/respondents?status=ended&disposition=refused").want(200).has(list.Respondents[1].ID, `value="ended" selected>ended`).hasNot(list.Respondents[0].ID)
	b.get("/surveys/flu/respondents/"+list.Respondents[1].ID).want(200).has(`state-ended">ended</span>`, "refused")
}

// The file beside the list has the respondents of the list, and says so; whom a search by number finds is not in its
// address, so that its file has all.
func TestSurvey_TheFileIsFilteredAsTheList(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope, surveyScope+" pii:read")
	r.survey("flu", 4)
	r.api("POST", "/v1/surveys/flu:launch", "", nil)
	var list api.RespondentList
	r.api("GET", "/v1/surveys/flu/respondents", "", &list)
	for i, disposition := range []string{"completed", "refused", "ineligible"} {
		r.api("POST", "/v1/surveys/flu/respondents/"+list.Respondents[i].ID+"/disposition", `{"disposition":"`+disposition+`"}`, nil)
	}
	b := r.login(surveyScope + " pii:read")
	link := regexp.MustCompile(`href="([^"]*results\.csv[^"]*)"[^>]*>([^<]*)<`)
	ids := regexp.MustCompile(`r[0-9a-z]+`)
	statuses, dispositions := []string{"", "pending", "active", "canceled", "ended", "nonsense"}, []string{"", "completed", "refused", "registered", "queued"}
	for _, status := range statuses {
		for _, disposition := range dispositions {
			at := "/surveys/flu/respondents?" + url.Values{"status": {status}, "disposition": {disposition}}.Encode()
			page := b.get(at).want(200)
			found := link.FindStringSubmatch(page.body)
			file := b.get(strings.ReplaceAll(found[1], "&amp;", "&")).want(200).body
			for i := range list.Respondents {
				id := list.Respondents[i].ID
				if listed, exported := strings.Contains(page.body, "/respondents/"+id+`"`), slices.Contains(ids.FindAllString(file, -1), id); listed != exported {
					t.Errorf("%s: %s is listed: %v, exported: %v", at, id, listed, exported)
				}
			}
			all := status+disposition == "" || status+disposition == "nonsense"
			if says := strings.Contains(found[2], "as filtered"); says == all {
				t.Errorf("%s: the link is called %q", at, found[2])
			}
		}
	}
	if found := link.FindStringSubmatch(b.post("/surveys/flu/respondents", url.Values{"number": {"+12125550199"}}).body); !strings.Contains(found[2], "all respondents") {
		t.Errorf("after a search by number the link is called %q", found[2])
	}
}

func TestSurvey_ASurveysFilesComeThroughTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope, "router")
	r.survey("flu", 2)
	b := r.login(surveyScope)
	p := b.get("/surveys/flu/results.csv").want(200).has("id,phone,status", "***77").hasNot(numberCanary)
	if d := p.header.Get("Content-Disposition"); !strings.Contains(d, `filename="flu-results.csv"`) {
		t.Errorf("it is saved as %q", d)
	}
	b.get("/surveys/flu/log.csv").want(200).has("id,at,respondent")
	b.get("/surveys/flu/dispositions.csv").want(200).has("respondent,disposition,mode,at")
	b.get("/surveys/flu/dispositions.csv?format=ncd").want(200).has("Respondent ID,Disposition,Mode,Timestamp")
	b.get("/surveys/flu/results.csv?format=ncd").want(200).has("respondent_id,disposition,date")
	b.get("/surveys/flu").want(200).has("/surveys/flu/dispositions.csv").hasNot("incentives.csv") // without pii:read
	b.get("/surveys/flu/incentives.csv").want(403).has("pii:read")
	// Scenario 389: for the spreadsheets of the reader's country.
	for languages, begin := range map[string]string{
		"": "\ufeffid,phone", "en-US": "\ufeffid,phone", "en-ZA": "\ufeffid;phone", "es-MX,es;q=0.9": "\ufeffid,phone", "es-AR": "\ufeffid;phone", "es": "\ufeffid;phone", "pt-BR,en;q=0.5": "\ufeffid;phone", "fr": "\ufeffid;phone", "xx,,;": "\ufeffid,phone",
	} {
		if p := b.get("/surveys/flu/results.csv", "Accept-Language", languages).want(200); !strings.HasPrefix(p.body, begin) {
			t.Errorf("for %q the file begins with %q", languages, p.body[:12])
		}
	}
	b.get("/surveys/none/results.csv").want(404).has("<html")
	r.login("router").get("/surveys/flu/results.csv").want(403)
	r.visitor().get("/surveys/flu/results.csv").want(303)
}

func TestSurvey_ActionsNeedTheirScope(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read", "surveys:admin", "router")
	r.survey("flu", 1)
	reader := r.login("contacts:read")
	reader.get("/surveys/flu").want(200).hasNot("/surveys/flu/launch")
	for _, step := range []string{"launch", "pause", "resume", "stop", "lock", "unlock"} {
		reader.get("/surveys/flu/" + step).want(403)
		reader.post("/surveys/flu/"+step, url.Values{}).want(403).has("surveys:admin")
	}
	r.login("surveys:admin").get("/surveys/flu").want(200).has("/surveys/flu/launch")
	stranger := r.login("router")
	for _, path := range []string{"/surveys", "/surveys/flu", "/surveys/flu/respondents", "/surveys/flu/log", "/live/surveys/flu"} {
		stranger.get(path).want(403)
	}
	stranger.get("/").want(200).hasNot(`href="/surveys"`)
}

func TestSurvey_StreamSendsChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 1)
	w := r.login(surveyScope).watch(r.serve(), "/live/surveys/flu")
	w.until("state", `id="launch"`)
	r.api("POST", "/v1/surveys/flu:launch", "", nil)
	w.until("state", `id="stop"`)
	w.end()
	<-w.done
}
