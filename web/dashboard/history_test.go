package dashboard_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"weir/api"
)

// A worker's page shows what the worker did, even if nothing of it is still open.
func TestHistory_WorkersPageHasTheirHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t, routerScope)
	r.routed()
	r.accept()
	b := r.login(routerScope)
	held := regexp.MustCompile(`(/router/jobs/one/assignments/[^/"]+)/complete`).FindStringSubmatch(b.get("/router/jobs/one").want(200).body)[1]
	b.post(held+"/complete", nil).want(303)
	b.post(held+"/close", nil).want(303)
	r.api("PATCH", "/routing/jobs/three"+version, `{"channelId":"voice","queueId":"calls"}`, nil)
	var w struct {
		Offers []struct {
			ID string `json:"offerId"`
		} `json:"offers"`
	}
	r.soon(func() bool {
		r.api("GET", "/routing/workers/ann"+version, "", &w)
		return len(w.Offers) == 1
	})
	r.api("POST", "/routing/workers/ann/offers/"+w.Offers[0].ID+":decline"+version, "", nil)
	r.api("PATCH", "/routing/distributionPolicies/first"+version, `{"offerExpiresAfterSeconds":1}`, nil)
	r.api("PATCH", "/routing/jobs/four"+version, `{"channelId":"voice","queueId":"calls"}`, nil)
	r.soon(func() bool {
		return strings.Contains(b.get("/router/workers/ann").want(200).body, "did not answer the offer of job")
	})
	page := b.get("/router/workers/ann").want(200).body
	inOrder(t, page, "was offered job", "accepted job", "completed job", "closed job", "was offered job", "declined job", "was offered job", "did not answer the offer of job")
	if n := strings.Count(page, "accepted job"); n != 1 {
		t.Errorf("%d times accepted", n)
	}
	b.get("/router/workers/bob").want(200).has("No events yet")
}

// inOrder fails the test unless a page has parts in this order.
func inOrder(t *testing.T, page string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		_, rest, ok := strings.Cut(page, part)
		if !ok {
			t.Fatalf("no %q in its place:\n%s", part, page)
		}
		page = rest
	}
}

// A respondent's page shows the entries of the survey's log about that respondent.
func TestHistory_RespondentsPageHasTheirHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 2)
	r.api("POST", "/v1/surveys/flu:launch", "", nil)
	var list api.RespondentList
	r.api("GET", "/v1/surveys/flu/respondents", "", &list)
	b := r.login(surveyScope)
	first, second := list.Respondents[0].ID, list.Respondents[1].ID
	r.api("POST", "/v1/surveys/flu/respondents/"+first+"/disposition", `{"disposition":"started"}`, nil)
	r.api("POST", "/v1/surveys/flu/respondents/"+first+"/disposition", `{"disposition":"refused"}`, nil)
	page := ""
	r.soon(func() bool {
		page = b.get("/surveys/flu/respondents/" + first).want(200).body
		return strings.Contains(page, "→ refused")
	})
	inOrder(t, page, "registered → started", "started → refused")
	b.get("/surveys/flu/respondents/" + second).want(200).has("History").hasNot("refused")
	b.cookies["weir_language"] = "es"
	b.get("/surveys/flu/log").want(200).has("registrado → iniciado").hasNot("registered", "started →")
	b.cookies["weir_language"] = "en"
	var log api.SurveyLogList
	r.api("GET", "/v1/surveys/flu/log?respondent="+first+"&limit=1", "", &log)
	if len(log.Entries) != 1 || log.Entries[0].Respondent != first {
		t.Errorf("%+v", log)
	}
}

// Pages that list events are filtered by time.
func TestHistory_ListsAreFilteredByTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 1)
	r.api("POST", "/v1/surveys/flu:launch", "", nil)
	b := r.login(surveyScope)
	later := time.Now().UTC().Add(time.Hour).Format("2006-01-02T15:04")
	var list api.RespondentList
	r.api("GET", "/v1/surveys/flu/respondents", "", &list)
	r.api("POST", "/v1/surveys/flu/respondents/"+list.Respondents[0].ID+"/disposition", `{"disposition":"refused"}`, nil)
	r.soon(func() bool {
		return !strings.Contains(b.get("/surveys/flu/log").want(200).body, "No entries yet")
	})
	b.get("/surveys/flu/log?until=" + later).want(200).hasNot("No entries yet")
	b.get("/surveys/flu/log?from="+later).want(200).has("No entries yet", `value="`+later+`"`)
	b.get("/dead-letters?from="+later).want(200).has("No dead letters in this period", `value="`+later+`"`)
	b.get("/dead-letters/list?outcome=failed&from="+later).want(200).has(`<input type="hidden" name="outcome" value="failed">`, `value="`+later+`"`)
	for _, path := range []string{"/surveys/flu/log", "/dead-letters", "/dead-letters/list", "/audit", "/contacts"} {
		if status := r.login("admin").get(path + "?from=soon").status; status != 422 {
			t.Errorf("%s: %d", path, status)
		}
	}
}
