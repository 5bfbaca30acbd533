package dashboard_test

import (
	"net/http"
	"strings"
	"testing"
)

// A pilot begins in the browser, once however often its form is sent; mistakes stand beside their fields, and what
// came back is shown. A pilot has a page, without what cannot be done with one.
func TestSurveyPilot_BeginsAndIsShown(t *testing.T) {
	t.Parallel()
	const viewer = "contacts:read pii:read"
	r := newRig(t, viewer)
	r.channel("texts")
	b := r.login("admin")
	b.post("/surveys/_new", filledSurvey()).want(303)
	const path = "/surveys/flu/pilot"
	b.get("/surveys/flu").want(200).has(`id="to-pilots" href="` + path + `"`)
	page := b.get(path).want(200).has("No pilot yet", `name="pilot" value="1"`, `id="has_first_name"`)
	form := page.formOf()
	form.Set("numbers", "0712345678\r\n12\r\n")
	b.post(path, form).want(http.StatusUnprocessableEntity).has(`id="numbers-wrong"`, "12", "Nobody was contacted.")
	form.Set("numbers", "0712345678\r\n\r\n+254712345679\r\n")
	b.post(path, form).want(http.StatusUnprocessableEntity).has(`id="has_first_name-wrong"`).hasNot(`id="numbers-wrong"`)
	form.Set("has_first_name", "Ann")
	for range 2 {
		if to := b.post(path, form).want(303).header.Get("Location"); to != path {
			t.Fatalf("it leads to %q", to)
		}
	}
	b.get(path).want(200).has("Pilot 1", "+254712345678", "+254712345679", `id="stop"`, `name="pilot" value="2"`, "/surveys/flu~pilot1/respondents/").hasNot("No pilot yet", `id="changed"`)
	b.get("/surveys").want(200).hasNot("~pilot")
	if of := r.definitionOf("flu~pilot1"); of["cutoff"] != nil || of["pilot_of"] != "flu" {
		t.Errorf("the pilot is %v", of)
	}
	b.get("/surveys/flu~pilot1").want(200).has(`id="to-survey" href="`+path+`"`, `id="stop"`).hasNot(`id="edit"`, `id="questions"`, `id="import"`, `id="to-pilots"`)
	r.api("PATCH", "/v1/surveys/flu", `{"title":"Another"}`, nil)
	b.get(path).want(200).hasNot(`id="changed"`)
	r.api("PATCH", "/v1/surveys/flu", `{"purpose":null,"fallback_delay":"3h"}`, nil)
	form = b.get(path).want(200).has(`id="changed"`).formOf()
	form.Set("numbers", "+254712345678")
	form.Set("has_first_name", "Ann")
	b.post(path, form).want(303)
	b.get(path).want(200).has("Pilot 2", `id="pilot-1"`).hasNot("+254712345679")
	if first := b.get(path+"?pilot=1").want(200).has("+254712345679", `id="pilot-2"`); !strings.Contains(first.body, "canceled") {
		t.Error("who is asked anew is not stopped in the pilot before")
	}
	reader := r.login(viewer)
	reader.get(path).want(200).has("Pilot 2").hasNot(`id="begin"`)
}
