package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/polling"
)

// team is a client with the scopes of a project.
type team struct {
	*visited
	name, token string
}

func (m *team) call(method, path, body string) (status int, answer string) {
	m.Helper()
	r := httptest.NewRequestWithContext(m.Context(), method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+m.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	m.handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// does sends a request that must have a status.
func (m *team) does(want int, method, path, body string) string {
	m.Helper()
	status, answer := m.call(method, path, body)
	if status != want {
		m.Errorf("%s: %s %s: %d, want %d: %s", m.name, method, path, status, want, answer)
	}
	return answer
}

// join makes the token of a team, whose scopes are limited to its names. Its surveys may also use the channel sms.
func join(v *visited, name string) *team {
	v.Helper()
	scopes := []string{"surveys:admin@sms", "pii:read"}
	for _, scope := range []string{"contacts:read", "contacts:write", "channels:admin", "surveys:admin"} {
		scopes = append(scopes, scope+"@"+name+"-")
	}
	body, _ := json.Marshal(map[string]any{"name": name, "scopes": scopes})
	var made struct{ Token string }
	admin := &team{v, "admin", sessionToken}
	if err := json.Unmarshal([]byte(admin.does(201, "POST", "/v1/tokens", string(body))), &made); err != nil {
		v.Fatal(err)
	}
	return &team{v, name, made.Token}
}

const (
	pausedChannel = `{"type":"nuntium","capacity":5,"paused":true,"settings":{"base_url":"http://127.0.0.1:9","account":"a","application":"w","channel":"c","password":"p"}}`
	pollOver      = `{"schedule":{"time_zone":"UTC","weekdays":["mon"],"windows":[{"from":"09:00","to":"18:00"}]},"modes":{"sms":{"channel":%q}},"arms":[{"modes":["sms"]}],"questionnaires":{"main":{"sms":[{"messages":["Hello"]}]}}}`
)

// settle gives a team a channel with a price and two contacts to the same person, of which one was canceled, and a survey over the
// channel sms with a respondent.
func (m *team) settle() (waiting, canceled string) {
	m.Helper()
	m.does(201, "PUT", "/v1/channels/"+m.name+"-texts", pausedChannel)
	m.does(201, "PUT", "/v1/prices/"+m.name+"-texts", `{"currency":"USD","per_attempt":"0.01"}`)
	var list struct{ Contacts []struct{ ID string } }
	contact := `{"key":"` + m.name + `-%d","to":"+15550001","messages":["for ` + m.name + `"]}`
	answer := m.does(202, "POST", "/v1/channels/"+m.name+"-texts/contacts", fmt.Sprintf(`{"contacts":[`+contact+`,`+contact+`]}`, 1, 2))
	if err := json.Unmarshal([]byte(answer), &list); err != nil || len(list.Contacts) != 2 {
		m.Fatal(answer)
	}
	m.does(200, "DELETE", "/v1/contacts/"+list.Contacts[1].ID, "")
	m.does(201, "PUT", "/v1/surveys/"+m.name+"-poll", fmt.Sprintf(pollOver, "sms"))
	m.does(200, "POST", "/v1/surveys/"+m.name+"-poll/respondents", `{"respondents":[{"phone":"+15550001"}]}`)
	return list.Contacts[0].ID, list.Contacts[1].ID
}

// sees requires that what a team reads has its own, and nothing of another one.
func (m *team) sees(other *team) {
	m.Helper()
	for _, path := range []string{
		"/v1/channels", "/v1/prices", "/v1/contacts", "/v1/contacts?order=newest", "/v1/contacts?state=queued", "/v1/contacts.csv", "/v1/surveys", "/v1/events", "/v1/minutes",
		"/v1/channels/" + m.name + "-texts", "/v1/surveys/" + m.name + "-poll/respondents",
	} {
		if answer := m.does(200, "GET", path, ""); !strings.Contains(answer, m.name+"-") || strings.Contains(answer, other.name) {
			m.Errorf("%s sees in %s: %s", m.name, path, answer)
		}
	}
	for path, body := range map[string]string{"/v1/contacts:search": `{"to":"+15550001"}`, "/v1/people:find": `{"to":"+15550001"}`, "/v1/contacts:cancel": `{"all":true,"dry_run":true}`} {
		answer := m.does(200, "POST", path, body)
		if strings.Contains(answer, other.name) || path != "/v1/contacts:cancel" && !strings.Contains(answer, m.name+"-") || strings.Contains(path, "cancel") && !strings.Contains(answer, `"matching":1,`) {
			m.Errorf("%s sees in %s: %s", m.name, path, answer)
		}
	}
	for _, path := range []string{"/v1/spending", "/v1/skipped", "/v1/dead-letters", "/v1/dead-letters/groups", "/v1/dead-letters.csv", "/v1/purposes", "/v1/channel-types", "/v1/hold", "/v1/whoami"} {
		if answer := m.does(200, "GET", path, ""); strings.Contains(answer, other.name) {
			m.Errorf("%s sees in %s: %s", m.name, path, answer)
		}
	}
}

// cannotReach requires that a team can do nothing with what is another one's, and with what is everybody's.
func (m *team) cannotReach(other *team, waiting, canceled string) {
	m.Helper()
	channel, survey := "/v1/channels/"+other.name+"-texts", "/v1/surveys/"+other.name+"-poll"
	for method, paths := range map[string][]string{
		"GET": {
			channel, channel + "/incoming", channel + "/minutes", channel + "/hours", channel + "/callback", "/v1/prices/" + other.name + "-texts", survey, survey + "/stats", survey + "/course", survey + "/launch-check",
			survey + "/respondents", survey + "/respondents/r1", survey + "/results.csv", survey + "/log", survey + "/log.csv", "/v1/contacts?channel=" + other.name + "-texts", "/v1/contacts.csv?channel=" + other.name + "-texts",
			"/v1/dead-letters?channel=" + other.name + "-texts", "/v1/skipped?channel=" + other.name + "-texts", "/v1/audit", "/v1/audit.csv", "/v1/limits", "/v1/processes", "/v1/tokens", "/v1/webhooks", "/v1/consents", "/v1/channels/sms",
		},
		"DELETE": {channel, "/v1/prices/" + other.name + "-texts", survey, survey + "/respondents/r1", "/v1/hold"},
		"POST":   {survey + ":launch", survey + ":pause", survey + ":stop", survey + ":lock", survey + "/respondents/r1/stop"},
	} {
		for _, path := range paths {
			m.does(403, method, path, "")
		}
	}
	for path, body := range map[string]string{
		"PUT " + channel: pausedChannel, "PUT /v1/channels/" + other.name + "-more": pausedChannel, "PUT /v1/channels/mine": pausedChannel, "PATCH " + channel: `{"paused":false}`,
		"POST " + channel + "/contacts": `{"contacts":[{"to":"+15550002","messages":["x"]}]}`, "PUT /v1/prices/" + other.name + "-texts": `{"currency":"USD","per_attempt":"9"}`,
		"PUT " + survey: fmt.Sprintf(pollOver, "sms"), "PUT /v1/surveys/" + other.name + "-more": fmt.Sprintf(pollOver, "sms"), "PATCH " + survey: `{"title":"x"}`,
		"POST " + survey + "/respondents": `{"respondents":[{"phone":"+15550002"}]}`, "POST " + survey + "/respondents/r1/disposition": `{"stop":true}`,
		"POST /v1/contacts:cancel": `{"channel":"` + other.name + `-texts"}`, "POST /v1/dead-letters:discard": `{"channel":"` + other.name + `-texts"}`, "POST /v1/channels:test": `{"channel":"` + other.name + `-texts","settings":{"application":"x"}}`,
		"PUT /v1/limits/all": `{"in_flight":1}`, "PUT /v1/purposes/research": `{}`, "POST /v1/tokens": `{"name":"x","scopes":["contacts:read"]}`,
	} {
		method, path, _ := strings.Cut(path, " ")
		m.does(403, method, path, body)
	}
	for _, id := range []string{waiting, canceled} {
		for _, path := range []string{"GET /v1/contacts/" + id, "GET /v1/contacts/" + id + "/timeline", "DELETE /v1/contacts/" + id} {
			method, path, _ := strings.Cut(path, " ")
			m.does(404, method, path, "")
		}
		m.does(404, "POST", "/v1/people:find", `{"contact":"`+id+`"}`)
		m.does(200, "POST", "/v1/contacts:cancel", `{"contacts":["`+id+`"]}`) // as of one that does not exist
	}
	// Its own survey may not use another one's channel, and its contacts may not spend another survey's budget.
	for _, body := range []string{m.does(422, "PUT", "/v1/surveys/"+m.name+"-poll", fmt.Sprintf(pollOver, other.name+"-texts")), m.does(422, "PATCH", "/v1/surveys/"+m.name+"-poll", `{"modes":{"sms":{"channel":"`+other.name+`-texts"}}}`)} {
		if !strings.Contains(body, `"/modes/sms/channel"`) || !strings.Contains(body, "sms or "+m.name+"-") {
			m.Error(body)
		}
	}
	if body := m.does(422, "POST", "/v1/channels/"+m.name+"-texts/contacts", `{"contacts":[{"to":"+15550002","messages":["x"],"survey":"`+other.name+`-poll"}]}`); !strings.Contains(body, "/contacts/0/survey") {
		m.Error(body)
	}
}

// state returns all that an administrator reads of a team, without figures that grow with time.
func (m *team) state(admin *team) (all []string) {
	m.Helper()
	for _, path := range []string{"/v1/channels/" + m.name + "-texts", "/v1/prices/" + m.name + "-texts", "/v1/contacts?channel=" + m.name + "-texts", "/v1/surveys/" + m.name + "-poll", "/v1/surveys/" + m.name + "-poll/respondents"} {
		all = append(all, admin.does(200, "GET", path, ""))
	}
	return all
}

// Scenario 355: two teams on one installation, whose scopes are limited to their names, see and change nothing of each other.
func TestProjects_TwoTeamsSeeAndChangeNothingOfEachOther(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, database string) {
		v := visit(t, database, "WEIR_API_TOKENS="+sessionToken, "WEIR_CONTACT_EVENTS=on")
		admin := &team{v, "admin", sessionToken}
		admin.does(201, "PUT", "/v1/channels/sms", pausedChannel)
		north, south := join(v, "north"), join(v, "south")
		northWaiting, northCanceled := north.settle()
		southWaiting, southCanceled := south.settle()
		if !polling.Until(10*time.Second, 20*time.Millisecond, func() bool {
			_, answer := admin.call("GET", "/v1/events?type=weir.contact.done", "")
			return strings.Count(answer, "weir.contact.done") == 2
		}) {
			t.Fatal("the events of the canceled contacts are missing")
		}
		before := append(north.state(admin), south.state(admin)...)
		north.sees(south)
		south.sees(north)
		north.cannotReach(south, southWaiting, southCanceled)
		south.cannotReach(north, northWaiting, northCanceled)
		for i, now := range append(north.state(admin), south.state(admin)...) {
			if now != before[i] {
				t.Errorf("was %s\nis  %s", before[i], now)
			}
		}
		if answer := north.does(200, "POST", "/v1/contacts:cancel", `{"all":true}`); !strings.Contains(answer, `"canceled":1`) {
			t.Error(answer)
		}
		if answer := admin.does(http.StatusOK, "GET", "/v1/contacts/"+southWaiting, ""); !strings.Contains(answer, `"state":"queued"`) {
			t.Errorf("a contact of the other team: %s", answer)
		}
		north.does(204, "DELETE", "/v1/channels/north-texts", "")
		north.does(204, "DELETE", "/v1/surveys/north-poll", "")
	})
}
