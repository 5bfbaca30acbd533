package dashboard_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"weir/internal/document"
	"weir/surveys"
)

// Scenario 479. In each state the pages of a survey offer what the API then does, and nothing else: respondents are taken in,
// it is deleted, and cloned when it is over. When it is, no page says that its windows are open.
func TestSurvey_PagesOfferWhatTheAPIDoes(t *testing.T) {
	t.Parallel()
	for _, state := range surveys.States() {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			r := newRigAfter(t, func(r *rig) { r.stored("flu", state) }, nil, surveyScope)
			r.api("PUT", "/v1/channels/texts", `{"type":"nuntium","capacity":7,"paused":true,"settings":{"base_url":"http://127.0.0.1:1","account":"a","application":"b","channel":"c","password":"p"}}`, nil)
			b := r.login("admin")
			page := b.get("/surveys/flu").want(200)
			people := b.get("/surveys/flu/respondents").want(200)
			takes := state == surveys.Draft || state == surveys.Running || state == surveys.Paused
			deletes := state == surveys.Draft || state == surveys.Done
			for text, offered := range map[string]bool{`id="import"`: takes, `id="delete"`: deletes, `id="clone"`: state == surveys.Done, `id="calendar-head"`: state != surveys.Done} {
				if offered {
					page.has(text)
				} else {
					page.hasNot(text)
				}
			}
			file := b.get("/surveys/flu/import").want(200)
			if takes {
				people.has(`id="import"`)
				file.hasNot("takes no more respondents")
			} else {
				people.hasNot(`id="import"`, "/surveys/flu/import")
				file.has("takes no more respondents; a clone of it does")
			}
			const one = `{"respondents":[{"phone":"+12125559999","attributes":{"first_name":"Ann"}}]}`
			if got := r.status("POST", "/v1/surveys/flu/respondents", one); got == 200 != takes {
				t.Errorf("respondents are answered %d", got)
			}
			b.post("/surveys/flu/clone", url.Values{"name": {"flu-2"}}).want(303)
			r.api("POST", "/v1/surveys/flu-2/respondents", one, nil)
			if !deletes {
				b.post("/surveys/flu/delete", nil).want(409)
				return
			}
			b.get("/surveys/flu/delete").want(200).has("This cannot be undone")
			if to := b.post("/surveys/flu/delete", nil).want(303).header.Get("Location"); to != "/surveys" {
				t.Errorf("it leads to %q", to)
			}
			b.get("/surveys/flu").want(404)
			b.get("/surveys/flu-2").want(200)
		})
	}
}

// stored stores a survey in a state, before the daemon starts.
func (r *rig) stored(name string, state surveys.State) {
	r.t.Helper()
	ctx, store := r.t.Context(), r.open()
	defer func() { _ = store.Close(ctx) }()
	v := surveys.Survey{Name: name}
	err := errors.Join(store.Join(ctx), json.Unmarshal([]byte(flu), &v.Definition))
	if err == nil {
		v, _, err = store.PutSurvey(ctx, v, document.Condition{})
	}
	if v.State = state; err == nil && state != surveys.Draft {
		_, err = store.UpdateSurvey(ctx, v)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// status calls the API with every scope and returns its status.
func (r *rig) status(method, path, body string) int {
	r.t.Helper()
	status, _ := r.ask(method, path, body)
	return status
}

// ask calls the API with every scope and returns its answer.
func (r *rig) ask(method, path, body string) (status int, answer string) {
	r.t.Helper()
	req := httptest.NewRequestWithContext(r.t.Context(), method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+adminToken)
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}
