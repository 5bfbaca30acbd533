package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
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
	r := newRig(t, environment(sqliteURL(t)))
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

// Scenario 357: a survey of one question needs no application. The first message after the
// question completes the respondent, is in the results and is thanked for once; a stop word
// refuses; and who answered is not asked again.
func TestApplication_IsNotNeededForOneQuestion(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, database string) {
		r := newRig(t, environment(database))
		r.do("PUT", "/v1/channels/sms", map[string]any{"type": "nuntium", "capacity": 7, "settings": map[string]any{
			"base_url": r.smsURL, "account": "demo", "application": "weir", "token": "token", "channel": "sms",
		}}, nil)
		r.do("PUT", "/v1/surveys/s", map[string]any{
			"schedule":       map[string]any{"time_zone": "UTC", "weekdays": []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, "windows": []map[string]any{{"from": "00:00", "to": "24:00"}}},
			"modes":          map[string]any{"sms": map[string]any{"channel": "sms", "retries": "1h"}},
			"arms":           []map[string]any{{"modes": []string{"sms"}}},
			"questionnaires": map[string]any{"q": map[string]any{"sms": []map[string]any{{"messages": []string{"How are you, {{first_name}}?"}}}}},
			"fallback_delay": "2h", "answer": map[string]any{"attribute": "well", "thanks": "Thank you, {{first_name}}."},
		}, nil)
		var people []map[string]any
		for i, name := range []string{"Ana", "Luis"} {
			people = append(people, map[string]any{"phone": fmt.Sprintf("+1202555010%d", i), "attributes": map[string]any{"first_name": name}})
		}
		var added struct{ Respondents []struct{ ID string } }
		r.do("POST", "/v1/surveys/s/respondents", map[string]any{"respondents": people}, &added)
		if status := r.do("POST", "/v1/surveys/s:launch", nil, nil); status != 200 {
			t.Fatal(status)
		}
		says := func(i int, text string) {
			if _, _, err := r.sms.Receive(simulator.Incoming{Channel: "sms", From: people[i]["phone"].(string), To: "4000", Body: text}); err != nil {
				t.Fatal(err)
			}
		}
		disposition := func(i int) string {
			var is struct{ Disposition string }
			r.do("GET", "/v1/surveys/s/respondents/"+added.Respondents[i].ID, nil, &is)
			return is.Disposition
		}
		r.eventually("both were asked", func() bool { return disposition(0) == "contacted" && disposition(1) == "contacted" })
		says(0, "very well")
		says(1, "stop")
		r.eventually("both ended", func() bool { return disposition(0) == "completed" && disposition(1) == "refused" })
		says(0, "better every day") // a second message is heard, and changes nothing
		var survey struct{ State, Cause string }
		r.eventually("the survey has ended", func() bool {
			r.do("GET", "/v1/surveys/s", nil, &survey)
			return survey.State == "done" && survey.Cause == "exhausted"
		})
		var results struct {
			Respondents []struct {
				Attributes   map[string]string
				MessagesSent int `json:"messages_sent"`
			}
		}
		r.eventually("the thanks are sent", func() bool {
			r.do("GET", "/v1/surveys/s/respondents", nil, &results)
			return results.Respondents[0].MessagesSent == 2
		})
		if got := results.Respondents; got[0].Attributes["well"] != "very well" || got[1].Attributes["well"] != "" || got[1].MessagesSent != 1 {
			t.Errorf("the results are %+v", got)
		}
		var list struct{ Contacts []struct{ Messages []string } }
		r.do("GET", "/v1/contacts?survey=s&limit=100", nil, &list)
		if got := fmt.Sprint(list); strings.Count(got, "[Thank you, Ana.]") != 1 || strings.Count(got, "How are you, Ana?") != 1 || strings.Contains(got, "Thank you, Luis") {
			t.Errorf("there are the contacts %s", got)
		}
	})
}
