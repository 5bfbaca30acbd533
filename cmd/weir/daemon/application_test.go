package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"weir/channels/nuntium/simulator"
)

// application is a program that holds conversations: it answers messages with a
// script, and records the events that it receives.
type application struct {
	mu     sync.Mutex
	told   []map[string]any
	answer func(text string) string
}

func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var e map[string]any
	_ = json.NewDecoder(r.Body).Decode(&e)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = append(a.told, e)
	if text, ok := e["data"].(map[string]any)["text"].(string); ok {
		_, _ = w.Write([]byte(a.answer(text)))
	}
}

// events lists the data of the received events of a type.
func (a *application) events(kind string) (data []map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.told {
		if e["type"] == kind {
			data = append(data, e["data"].(map[string]any))
		}
	}
	return data
}

// An application's response to a message puts the respondent into a full quota, and has
// its next question: the question is not sent, the survey's own message is, and the
// application receives an event that the respondent is rejected.
// Scenario 92.
func TestApplication_HearsOfAFullQuota(t *testing.T) {
	t.Parallel()
	r := newRig(t, environment("sqlite://"+filepath.Join(t.TempDir(), "weir.db")))
	app := &application{answer: func(text string) string {
		if text == "first" {
			return `{"disposition":"completed","answers":{"sex":"f"},"messages":["thank you"]}`
		}
		return `{"disposition":"started","answers":{"sex":"f"},"messages":["next question"]}`
	}}
	server := httptest.NewServer(app)
	t.Cleanup(server.Close)
	r.do("PUT", "/v1/channels/sms", map[string]any{"type": "nuntium", "capacity": 7, "settings": map[string]any{
		"base_url": r.smsURL, "account": "demo", "application": "weir", "token": "token", "channel": "sms",
	}}, nil)
	r.do("PUT", "/v1/surveys/s", map[string]any{
		"application":    map[string]any{"url": server.URL},
		"schedule":       map[string]any{"time_zone": "UTC", "weekdays": []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, "windows": []map[string]any{{"from": "00:00", "to": "24:00"}}},
		"modes":          map[string]any{"sms": map[string]any{"channel": "sms"}},
		"arms":           []map[string]any{{"modes": []string{"sms"}}},
		"questionnaires": map[string]any{"q": map[string]any{"sms": []map[string]any{{"messages": []string{"hello"}}}}},
		"quotas": []map[string]any{
			{"where": map[string]any{"sex": map[string]any{"in": []string{"f"}}}, "quota": 1},
			{"where": map[string]any{"sex": map[string]any{"in": []string{"m"}}}, "quota": 3},
		},
		"quota_message": "enough",
	}, nil)
	var people []map[string]any
	for i := range 3 {
		people = append(people, map[string]any{"phone": fmt.Sprintf("+1202555010%d", i)})
	}
	var added struct{ Respondents []struct{ ID string } }
	r.do("POST", "/v1/surveys/s/respondents", map[string]any{"respondents": people}, &added)
	if status := r.do("POST", "/v1/surveys/s:launch", nil, nil); status != 200 {
		t.Fatal(status)
	}
	disposition := func(i int) string {
		var is struct{ Disposition string }
		r.do("GET", "/v1/surveys/s/respondents/"+added.Respondents[i].ID, nil, &is)
		return is.Disposition
	}
	for i, text := range []string{"first", "second"} {
		r.eventually("the respondent was contacted", func() bool { return disposition(i) == "contacted" })
		if _, _, err := r.sms.Receive(simulator.Incoming{Channel: "sms", From: people[i]["phone"].(string), To: "4000", Body: text}); err != nil {
			t.Fatal(err)
		}
		r.eventually("the answer is taken", func() bool { return disposition(i) == []string{"completed", "rejected"}[i] })
	}
	r.eventually("the application receives", func() bool { return len(app.events("weir.survey.respondent")) > 0 })
	told := app.events("weir.survey.respondent")
	if len(told) != 1 || told[0]["respondent"] != added.Respondents[1].ID || told[0]["status"] != "rejected" {
		t.Errorf("the application receives %v", told)
	}
	texts := func() string {
		var list struct {
			Contacts []struct {
				State    string
				Messages []string
			}
		}
		r.do("GET", "/v1/contacts?survey=s&limit=100", nil, &list)
		return fmt.Sprint(list)
	}
	r.eventually("the quota message is sent", func() bool { return strings.Contains(texts(), "[enough]") })
	if got := texts(); strings.Contains(got, "next question") || !strings.Contains(got, "thank you") {
		t.Errorf("there are the contacts %s", got)
	}
}
