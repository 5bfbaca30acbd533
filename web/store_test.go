package web_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/persistence/storetest"
	"weir/web"
	"weir/web/api"
	"weir/web/webtest"
)

// TestStore_BehavesAsTheFakesDo: the store behaves as the fakes do.
func TestStore_BehavesAsTheFakesDo(t *testing.T) {
	t.Parallel()
	store := storetest.SQLite(t)
	r := webtest.New(t, func(o *web.Options) {
		o.Store, o.Broker = store, webtest.Direct{Memory: o.Broker.(*webtest.Memory), Store: store}
	})
	webtest.Into[api.ChannelView](t, r.Do("PUT", "/v1/channels/a", webtest.GoodTexts), 201)
	v := webtest.Into[api.ChannelView](t, r.Do("PUT", "/v1/channels/a", strings.Replace(webtest.GoodTexts, `"capacity":5`, `"capacity":7`, 1)), 200)
	if v.Capacity != 7 || v.Settings["base_url"] != "http://p.test" || v.Settings["token"] != nil {
		t.Errorf("%+v", v)
	}
	full := `{"key":"k","to":"+15559998877","priority":"reply","survey":"s","labels":{"a":"ü"},"messages":["CANARY-text"],"not_after":"2099-01-01T00:00:00Z"}`
	list := webtest.Into[api.AcceptedList](t, r.Do("POST", "/v1/channels/a/contacts", webtest.Batch(full, webtest.Text(""), webtest.Text(""))), 202)
	again := webtest.Into[api.AcceptedList](t, r.Do("POST", "/v1/channels/a/contacts", webtest.Batch(full)), 202)
	if again.Contacts[0].ID != list.Contacts[0].ID || !again.Contacts[0].Duplicate {
		t.Errorf("%+v", again)
	}
	one := webtest.Into[api.ContactView](t, r.Do("GET", "/v1/contacts/"+list.Contacts[0].ID, ""), 200)
	if one.Channel != "a" || one.To != webtest.PhoneCanary || one.Priority != "reply" || one.Labels["a"] != "ü" || one.State != "queued" || len(one.Attempts) != 0 {
		t.Errorf("%+v", one)
	}
	var ids []string
	for cursor, pages := "", 0; pages < 10; pages++ {
		page := webtest.Into[api.ContactList](t, r.Do("GET", "/v1/contacts?channel=a&limit=2&cursor="+cursor, ""), 200)
		for _, c := range page.Contacts {
			ids = append(ids, c.ID)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if d := cmp.Diff([]string{list.Contacts[0].ID, list.Contacts[1].ID, list.Contacts[2].ID}, ids); d != "" {
		t.Errorf("pages (-want +got):\n%s", d)
	}
	r.Refuses(t, "GET", "/v1/contacts?cursor=nonsense", webtest.Refused{Mistakes: []webtest.Mistake{{Pointer: "/cursor", Code: "format"}}})
	if g := r.Do("DELETE", "/v1/channels/a", ""); g.Status != 409 {
		t.Errorf("deleted with open contacts: %d", g.Status)
	}
	r.OverAStoreCallbacks(t, store)
}
