package dashboard_test

import (
	"strings"
	"testing"
	"time"
)

// Scenario 340.
func TestSkipped_IsOnThePagesOfAChannelAndASurvey(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read", "channels:admin", "surveys:admin", "router")
	const head = "Kept from being contacted (30 days)"
	r.api("PUT", "/v1/channels/texts", `{"type":"nuntium","capacity":7,"settings":{"base_url":"`+r.accepting()+`","account":"a","application":"b","channel":"c","password":"p"}}`, nil)
	r.api("PUT", "/v1/surveys/flu", flu, nil)
	now := time.Now().UTC()
	r.api("PUT", "/v1/purposes/research", `{"quiet_hours":{"from":"`+now.Add(-time.Hour).Format("15:04")+`","to":"`+now.Add(2*time.Hour).Format("15:04")+`"}}`, nil)
	r.api("PUT", "/v1/purposes/marketing", `{"consent":"recorded"}`, nil)
	r.login("channels:admin").get("/channels/texts").want(200).hasNot(head)
	r.login("surveys:admin").get("/surveys/flu").want(200).hasNot(head)
	r.api("POST", "/v1/channels/texts/contacts", `{"contacts":[
		{"key":"1","to":"+15550100001","messages":["1"],"purpose":"marketing","survey":"flu"},
		{"key":"2","to":"+15550100002","messages":["2"],"purpose":"marketing"},
		{"key":"3","to":"+15550100003","messages":["3"],"purpose":"research","time_zone":"UTC"}]}`, nil)
	const unrecorded = `<tr><th scope="row">consent: none is recorded, and the purpose requires one</th><td class="number">`
	reader, admin := r.login("contacts:read"), r.login("channels:admin")
	for _, b := range []*browser{reader, admin} {
		r.soon(func() bool {
			page := b.get("/channels/texts").want(200).body
			return strings.Contains(page, unrecorded+`2</td><td class="number">0</td></tr>`) && strings.Contains(page, `<tr><th scope="row">quiet hours of the person</th><td class="number">0</td><td class="number">1</td></tr>`)
		})
		b.get("/channels/texts").has(head)
	}
	r.soon(func() bool { return strings.Contains(reader.get("/surveys/flu").want(200).body, unrecorded+"1</td>") })
	reader.get("/surveys/flu").has(head).hasNot("quiet hours of the person")
	// A token that may see the survey, but not what was skipped, gets the page without it.
	r.login("surveys:admin").get("/surveys/flu").want(200).hasNot(head)
}
