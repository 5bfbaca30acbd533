package dashboard_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// hook creates a webhook for the ends of contacts, at a receiver that answers with the
// status that the result holds.
func (r *rig) hook() (id string, status, requests *atomic.Int64) {
	r.t.Helper()
	status, requests = &atomic.Int64{}, &atomic.Int64{}
	status.Store(http.StatusNoContent)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(int(status.Load()))
	}))
	r.t.Cleanup(receiver.Close)
	var made struct{ ID, Secret string }
	body, err := json.Marshal(map[string]any{"url": receiver.URL + "/in?key=" + providerCanary, "types": []string{"weir.contact.done"}, "description": "for <b>billing</b>"})
	if err != nil {
		r.t.Fatal(err)
	}
	r.api("POST", "/v1/webhooks", string(body), &made)
	return made.ID, status, requests
}

func TestWebhooks_AreOperated(t *testing.T) {
	t.Parallel()
	r := newRig(t, "webhooks:admin", "channels:admin contacts:read")
	b := r.login("webhooks:admin")
	b.get("/webhooks").want(200).has("No webhooks yet", "weir webhook create")
	id, status, requests := r.hook()
	page := "/webhooks/" + id
	b.get("/webhooks").want(200).has(id, "state-enabled", "/in</td>", "weir.contact.done", "for &lt;b&gt;billing").hasNot(providerCanary, "whsec_", "<b>")
	b.get(page).want(200).has("Nothing was sent yet", "masked").hasNot(providerCanary, "whsec_")

	b.get(page + "/pause").want(200).has("They wait in the log")
	b.post(page+"/pause", nil).want(303)
	b.get(page).want(200).has("is paused.", "state-paused", ">Resume<").hasNot(">Pause<")
	b.post(page+"/resume", nil).want(303)
	b.get(page).want(200).has("is resumed.", "state-enabled")

	b.post(page+"/test", nil).want(303)
	b.get(page).want(200).has(`<p class="flash">The test event was delivered.`, "weir.webhook.test", "state-delivered")
	status.Store(http.StatusInternalServerError)
	b.post(page+"/test", nil).want(303)
	b.get(page).want(200).has(`<p class="flash bad">The test event was not delivered: HTTP 500.`, "state-failed")

	other := r.login("channels:admin contacts:read")
	other.get("/").want(200).hasNot(`href="/webhooks"`)
	for _, path := range []string{"/webhooks", page, page + "/delete"} {
		other.get(path).want(403)
	}
	other.post(page+"/delete", nil).want(403)
	if requests.Load() != 2 {
		t.Errorf("%d requests", requests.Load())
	}
	b.get(page + "/delete").want(200).has("cannot be undone")
	b.post(page+"/delete", nil).want(303)
	b.get("/webhooks").want(200).has("is deleted.", "No webhooks yet")
	b.get(page).want(404)
}

func TestWebhooks_EventsAreReplayed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "webhooks:admin")
	b := r.login("webhooks:admin")
	id, _, requests := r.hook()
	r.channel("a")
	var list struct{ Contacts []struct{ ID string } }
	r.api("GET", "/v1/contacts?channel=a", "", &list)
	r.api("DELETE", "/v1/contacts/"+list.Contacts[0].ID, "", nil)
	page := "/webhooks/" + id
	r.soon(func() bool { return strings.Contains(b.get(page).want(200).body, "replay?event=") })
	body := b.get(page).body
	link := body[strings.Index(body, page+"/replay?event="):]
	link = link[:strings.IndexByte(link, '"')]
	b.get(link).want(200).has("<dt>Event</dt>", "the ids that they had")
	before := requests.Load()
	b.post(link, nil).want(303)
	b.get(page).want(200).has("1 event is sent again.").hasNot(numberCanary)
	r.soon(func() bool { return requests.Load() == before+1 })

	b.get(page+"/replay").want(200).has(`type="datetime-local"`, "abandoned since")
	b.post(page+"/replay", url.Values{"since": {"soon"}}).want(422).has("must be a date and a time")
	b.post(page+"/replay", url.Values{"since": {time.Now().Add(-time.Hour).UTC().Format("2006-01-02T15:04")}}).want(303)
	b.get(page).want(200).has("0 events are sent again.")
}
