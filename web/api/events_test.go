package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"weir/events"
	webapi "weir/web/api"
)

const phoneCanary = "+15559998877"

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A webhook without pii:read gets the same as a reader without it.
func TestContactEvents_AreMaskedForWebhooksAsForReaders(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(events.ContactData{
		Contact: "1-2", Key: "k-" + phoneCanary[1:], To: phoneCanary, ProviderRef: phoneCanary[1:], Reason: "at +1 (555) 999-8877", Labels: map[string]string{"x": "tel" + phoneCanary[1:]}, QueuedAt: start,
	})
	if err != nil {
		t.Fatal(err)
	}
	e := webapi.MaskedEvent(events.Event{ID: 7, Type: events.ContactDone, Source: events.SourceContacts, Subject: "contact/1-2", At: start, Data: data})
	var d events.ContactData
	if err := json.Unmarshal(e.Data, &d); err != nil || e.ID != 7 || d.Contact != "1-2" || d.To != "***77" || d.Key != "k-***77" || d.ProviderRef != "***77" || d.Reason != "at ***77" || d.Labels["x"] != "tel***77" || !d.QueuedAt.Equal(start) {
		t.Errorf("%s (%v)", e.Data, err)
	}
}

// Ids stay as they are: a client recognizes repeats by them, whoever reads the event.
func TestContactEvents_MaskedEventsKeepTheirIDs(t *testing.T) {
	t.Parallel()
	data := json.RawMessage(`{"contact":"1-100` + phoneCanary[1:] + `","message_id":"250608400856100864","from":"` + phoneCanary + `","to":"100","guid":"a100f-100"}`)
	e := webapi.MaskedEvent(events.Event{ID: 8, Type: events.MessageReceived, Source: events.SourceContacts, Subject: "channel/sms/incoming/250608400856100864", At: start, Data: data})
	want := `{"contact":"1-100` + phoneCanary[1:] + `","message_id":"250608400856100864","from":"***77","to":"***00","guid":"a100f-***00"}`
	if string(e.Data) != want || e.Subject != "channel/sms/incoming/250608400856100864" {
		t.Errorf("%s: %s, want %s", e.Subject, e.Data, want)
	}
}
