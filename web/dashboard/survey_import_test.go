package dashboard_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"weir/api"
)

// uploadText posts a form with a file, whose fields come before it.
func (b *browser) uploadText(path, file string, fields ...string) answer {
	b.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = form.WriteField(fields[i], fields[i+1])
	}
	name := "people.csv"
	if file == "" {
		name = "" // as browsers send an empty input
	}
	part, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = io.WriteString(part, file)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return b.postBody(path, form.FormDataContentType(), &body)
}

func (b *browser) postBody(path, kind string, body io.Reader) answer {
	b.t.Helper()
	req := b.request("POST", path, nil, "Content-Type", kind)
	req.Body = io.NopCloser(body)
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, req)
	return answer{b.t, w.Code, w.Header(), strings.ReplaceAll(w.Body.String(), "&#43;", "+")}
}

// mapped are the fields that import a column of phone numbers and attributes by their names.
func mapped(columns ...string) []string {
	var fields []string
	for _, name := range columns {
		field, ok := map[string]string{"phone": name, "skip": ""}[name]
		if !ok {
			field = "attribute"
		}
		fields = append(fields, "column", field, "column_name", name)
	}
	return fields
}

func (r *rig) stats(name string) (s api.StatsView) {
	r.t.Helper()
	r.api("GET", "/v1/surveys/"+name+"/stats", "", &s)
	return s
}

// Scenario 320.
func TestSurveyImport_MapsColumnsAndReturnsRefusedRows(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope+" pii:read", "contacts:write")
	r.survey("flu", 0)
	b := r.login(surveyScope + " pii:read")
	b.get("/surveys/flu/import").want(200).has(`type="file"`, "windows-1252")
	for _, path := range []string{"/surveys/flu/import", "/surveys/flu/import/send"} {
		r.login("contacts:write").uploadText(path, "phone\n+12125550100\n", mapped("phone")...).want(403)
	}
	const file = "Mobile;First Name;sex;note\n+12125550100;Ana;f;x\n12;Luis;m;\n+12125550101;Eva;f\n+12125550102;Eva;f;\n"
	p := b.uploadText("/surveys/flu/import", file, "encoding", "").want(200).has("First Name", "first_name", "Ana", "+12125550102", `name="carried"`, "2 rows will be refused").hasNot("Luis</textarea")
	if p.title() != "Import respondents of flu – Weir" {
		t.Errorf("title %q", p.title())
	}
	form := p.formOf()
	if form["column"][0] != "phone" || form["column"][1] != "attribute" || form["column_name"][1] != "first_name" {
		t.Errorf("proposed: %v", form)
	}
	b.uploadText("/surveys/flu/import/send", "", append(mapped("first_name", "first_name", "Sex!", "skip"), "carried", form.Get("carried"))...).want(422).has("No column has the phone number.", "another column is the attribute first_name", "Column 3: the name of an attribute", `name="carried"`)
	p = b.uploadText("/surveys/flu/import/send", "", append(mapped("phone", "first_name", "sex", "skip"), "name", "people.csv", "carried", form.Get("carried"))...).want(200).has("2 respondents were added", "<dt>Refused</dt><dd id=\"refused\">2</dd>", "has 3 fields; the header has 4")
	refused := "\n" + strings.ReplaceAll(refusedRows(t, p), `"`, "")
	for _, want := range []string{"\nweir_line;weir_column;weir_reason;Mobile;First Name;sex;note\n", "\n3;phone;", ";12;Luis;m;", "\n4;;has 3 fields; the header has 4;", "+12125550101;Eva;f"} {
		if !strings.Contains(refused, want) {
			t.Errorf("the file has no %q:\n%s", want, refused)
		}
	}
	p.has(`download="refused-people.csv"`)
	var list api.RespondentList
	r.api("GET", "/v1/surveys/flu/respondents?phone=%2B12125550100", "", &list)
	if got := fmt.Sprint(list.Respondents[0].Attributes); got != "map[first_name:Ana sex:f]" {
		t.Error(got)
	}
	if strings.Contains(r.logs.String(), "2125550100") {
		t.Error("a number is in the log")
	}
	b.uploadText("/surveys/flu/import", "").want(422).has("Choose a file.")
	b.uploadText("/surveys/flu/import", "phone\n"+strings.Repeat("x", 70_000)).want(200)
	b.uploadText("/surveys/flu/import/send", "", "carried", "%").want(400)
}

// Scenario 360.
func TestSurveyImport_PreviewShowsWhatTheImportWillFind(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope+" pii:read")
	r.survey("near", 0)
	b := r.login(surveyScope + " pii:read")
	const file = "phone,first_name\n(212) 555-0100,Ana\n12125550101,\n"
	r.api("PUT", "/v1/surveys/far", strings.Replace(flu, `,"region":"US"`, "", 1), nil)
	b.uploadText("/surveys/far/import", file).want(200).has("2 rows will be refused", "no country code", "need the region of the survey").hasNot("have no value")
	b.uploadText("/surveys/near/import", file).want(200).has("<div>+12125550100</div>", "<div>+12125550101</div>", "1 row has no value for {{first_name}}").hasNot("refused")
	b.uploadText("/surveys/near/import", "phone,first_name\n+12125550100,\n").want(200).has("1 row has no value for {{first_name}}").hasNot("no column")
	b.uploadText("/surveys/near/import", "phone,first_name\n+12125550100,\n", "partial", "true").want(200).hasNot("have no value", "has no value")
	b.uploadText("/surveys/near/import", "phone,name\n+12125550100,Ana\n").want(200).has("The texts use {{first_name}}, which no column is.")
	r.api("POST", "/v1/surveys/near/respondents", `{"respondents":[{"phone":"+12125550109","attributes":{"first_name":"Eva"}}]}`, nil)
	r.api("POST", "/v1/surveys/near:launch", "", nil)
	b.uploadText("/surveys/near/import", file).want(200).has("1 row will be refused", "first_name no value for {{first_name}}, which the texts of the survey use")
	// Refused rows are shown although they come after the first ten.
	long := "phone,first_name\n" + strings.Repeat("+12125550100,Ana\n", 30) + "12,Luis\n"
	b.uploadText("/surveys/near/import", long).want(200).has("1 row will be refused", `<td class="number">32</td>`).hasNot(`<td class="number">31</td>`)
}

// A repetition after a cut, and duplicates, add nobody twice.
func TestSurveyImport_RepeatedImportsAddNobodyTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 0)
	b := r.login(surveyScope)
	var file strings.Builder
	file.WriteString("phone,first_name\n")
	for i := range 2500 {
		fmt.Fprintf(&file, "+1212555%04d,Ana\n", i)
	}
	whole := file.String()
	b.uploadText("/surveys/flu/import/send", whole[:len(whole)/2], mapped("phone", "first_name")...).want(200)
	if n := r.stats("flu").Respondents; n < 1200 || n > 1300 {
		t.Fatalf("%d respondents", n)
	}
	// The connection breaks within the file: what has come is in, and the page says so.
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	fields := mapped("phone", "first_name")
	for i := 0; i < len(fields); i += 2 {
		_ = form.WriteField(fields[i], fields[i+1])
	}
	part, _ := form.CreateFormFile("file", "people.csv")
	_, _ = io.WriteString(part, whole[:len(whole)-1000])
	b.postBody("/surveys/flu/import/send", form.FormDataContentType(), &body).want(400).has("Not all of people.csv was imported", "the file did not arrive whole", "Import the same file again: nobody is added twice")
	b.uploadText("/surveys/flu/import/send", whole, mapped("phone", "first_name")...).want(200).has("<dt>Refused</dt><dd id=\"refused\">0</dd>")
	if n := r.stats("flu").Respondents; n != 2500 {
		t.Errorf("%d respondents", n)
	}
	changed := strings.ReplaceAll(whole, "Ana", "Eva")
	b.uploadText("/surveys/flu/import/send", changed, mapped("phone", "first_name")...).want(200).has("<dt>Updated</dt><dd id=\"updated\">0</dd>", "<dt>Already there</dt><dd id=\"unchanged\">2,500</dd>")
	b.uploadText("/surveys/flu/import/send", changed, append(mapped("phone", "first_name"), "duplicates", "update")...).want(200).has("<dt>Updated</dt><dd id=\"updated\">2,500</dd>", "<dt>Already there</dt><dd id=\"unchanged\">0</dd>")
	r.api("POST", "/v1/surveys/flu:launch", "", nil)
	r.api("POST", "/v1/surveys/flu:stop", "", nil)
	b.uploadText("/surveys/flu/import/send", whole, mapped("phone", "first_name")...).want(409).has("Not all of people.csv was imported", "accepts no respondents")
}

// Scenario 321.
func TestSurveyLaunch_QuestionNamesWhatPreventsIt(t *testing.T) {
	t.Parallel()
	const pii = surveyScope + " pii:read"
	r := newRig(t, surveyScope, pii)
	r.survey("flu", 2)
	r.api("POST", "/v1/surveys/flu/respondents", `{"respondents":[{"phone":"+12125550100","attributes":{"sex":"m"}}]}`, nil)
	b := r.login(surveyScope)
	b.get("/surveys/flu/launch").want(200).has("1 respondent has no value for {{first_name}}, which the texts use.", `href="/surveys/flu/import"`, "<dt>Missing a value used in the texts</dt><dd>1</dd>", `name="skip"`, "***77", "Hello Ana").hasNot(numberCanary, "/attributes/first_name", "disabled")
	r.login(pii).get("/surveys/flu/launch").want(200).has(numberCanary)
	b.post("/surveys/flu/launch", nil).want(422).has(`role="alert"`, "/attributes/first_name").hasNot("The launch would be refused")
	b.post("/surveys/flu/launch", url.Values{"skip": {"true"}}).want(303)
	b.get("/surveys/flu").want(200).has("Survey flu is launched.", "Warning: no value for {{first_name}}")
	r.api("PUT", "/v1/surveys/over", strings.Replace(flu, `"blocked_days"`, `"end_date":"2020-01-01","blocked_days"`, 1), nil)
	b.get("/surveys/over/launch").want(200).has("The launch would be refused", "the last window has closed", "the survey has no respondents", "<button class=\"\" disabled>Launch</button>")
}

func TestRespondent_IsCorrectedStoppedAndRemoved(t *testing.T) {
	t.Parallel()
	const pii = surveyScope + " pii:read"
	r := newRig(t, surveyScope, pii, "contacts:read")
	r.survey("flu", 3)
	var list api.RespondentList
	r.api("GET", "/v1/surveys/flu/respondents", "", &list)
	at := func(i int) string { return "/surveys/flu/respondents/" + list.Respondents[i].ID }
	b := r.login(surveyScope)
	b.get(at(0)).want(200).has(`id="edit"`, `id="remove"`)
	r.login("contacts:read").get(at(0)).want(200).hasNot(`id="edit"`, `id="stop"`, `id="remove"`)
	// Without pii:read, what is masked is not written back.
	r.api("PATCH", "/v1"+at(0), `{"attributes":{"other":"+12125550177"}}`, nil)
	p := b.get(at(0)+"/edit").want(200).has("It is ***77 now", `value="Ana &lt;i&gt;"`).hasNot(numberCanary, "2125550177")
	form := p.formOf()
	form.Set("value_2", "Eva")
	form.Set("name_5", "town")
	form.Set("value_5", "Leon")
	form.Set("value_1", "")
	if p := b.post(at(0)+"/edit", form); p.status != 303 {
		t.Fatal(p.body)
	}
	var is api.RespondentView
	r.api("GET", "/v1"+at(0), "", &is)
	if got := fmt.Sprint(is.Phone, is.Attributes); got != numberCanary+"map[first_name:Eva other:+12125550177 sex:f town:Leon]" {
		t.Error(got)
	}
	q := r.login(pii)
	form = q.get(at(0) + "/edit").want(200).has(numberCanary).formOf()
	form.Set("phone", "12")
	q.post(at(0)+"/edit", form).want(422).has(`id="phone-wrong"`, `value="12"`)
	form.Set("phone", "+12125550001")
	q.post(at(0)+"/edit", form).want(409).has(`role="alert"`)
	form.Set("phone", "+12125550199")
	q.post(at(0)+"/edit", form).want(303)
	b.get(at(1)).want(200).hasNot(`id="stop"`) // a draft contacts nobody
	b.post(at(1)+"/stop", nil).want(409).has("contacts no respondent")
	r.api("POST", "/v1/surveys/flu:launch", "", nil)
	b.get(at(1)).want(200).has(`id="stop"`)
	b.get(at(1)+"/stop").want(200).has("Stop respondent", "cannot be undone")
	b.post(at(1)+"/stop", nil).want(303)
	b.get(at(1)).want(200).has("is not contacted any more", "canceled").hasNot(`id="stop"`)
	b.get(at(2) + "/remove").want(200).has("Remove respondent")
	b.post(at(2)+"/remove", nil).want(303)
	b.get(at(2)).want(404)
	if n := r.stats("flu").Respondents; n != 2 {
		t.Errorf("%d respondents", n)
	}
}

// Scenario 358: a respondent is found by number on the page of a survey's respondents; the number gets into no URL or log.
func TestRespondents_AreFoundByNumber(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope, "contacts:read")
	r.channel("texts")
	r.survey("flu", 0)
	r.survey("other", 0)
	var added struct{ Respondents []struct{ ID string } }
	r.api("POST", "/v1/surveys/flu/respondents", `{"respondents":[{"phone":"+12125550177"}]}`, &added)
	r.api("POST", "/v1/surveys/other/respondents", `{"respondents":[{"phone":"+12125550178"}]}`, nil)
	b := r.login("admin")
	b.get("/surveys/flu/respondents").want(200).has(`id="search-number"`)
	found := b.post("/surveys/flu/respondents", url.Values{"number": {"+1 212 555-0177"}}).want(http.StatusSeeOther).header.Get("Location")
	if want := "/surveys/flu/respondents/" + added.Respondents[0].ID; found != want {
		t.Errorf("it led to %q, want %q", found, want)
	}
	b.post("/surveys/flu/respondents", url.Values{"number": {"+12125550178"}}).want(200).has("No matching respondents", `value="+12125550178"`)
	b.post("/surveys/flu/respondents", url.Values{"number": {"nobody"}}).want(422).has(`id="number-wrong"`, `value="nobody"`)
	reader := r.login("contacts:read")
	reader.get("/surveys/flu/respondents").want(200).hasNot(`id="search-number"`)
	reader.post("/surveys/flu/respondents", url.Values{"number": {"+12125550177"}}).want(403)
	if strings.Contains(r.logs.String(), "2125550177") {
		t.Error("a number is in the log")
	}
}
