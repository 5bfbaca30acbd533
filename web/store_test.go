package web_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/api"
)

// direct is a broker that only stores.
type direct struct {
	*memory
	store weir.Accepter
}

func (d direct) Accept(ctx context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error) {
	return d.store.Accept(ctx, ch.ID, specs)
}

// TestStore_BehavesAsTheFakesDo: the store behaves as the fakes do.
func TestStore_BehavesAsTheFakesDo(t *testing.T) {
	t.Parallel()
	store := storetest.SQLite(t)
	r := newRig(t, func(o *web.Options) {
		o.Store, o.Broker = store, direct{o.Broker.(*memory), store}
	})
	into[api.ChannelView](t, r.do("PUT", "/v1/channels/a", goodTexts), 201)
	v := into[api.ChannelView](t, r.do("PUT", "/v1/channels/a", strings.Replace(goodTexts, `"capacity":5`, `"capacity":7`, 1)), 200)
	if v.Capacity != 7 || v.Settings["base_url"] != "http://p.test" || v.Settings["token"] != nil {
		t.Errorf("%+v", v)
	}
	full := `{"key":"k","to":"+15559998877","priority":"reply","survey":"s","labels":{"a":"ü"},"messages":["CANARY-text"],"not_after":"2099-01-01T00:00:00Z"}`
	list := into[api.AcceptedList](t, r.do("POST", "/v1/channels/a/contacts", batch(full, text(""), text(""))), 202)
	again := into[api.AcceptedList](t, r.do("POST", "/v1/channels/a/contacts", batch(full)), 202)
	if again.Contacts[0].ID != list.Contacts[0].ID || !again.Contacts[0].Duplicate {
		t.Errorf("%+v", again)
	}
	one := into[api.ContactView](t, r.do("GET", "/v1/contacts/"+list.Contacts[0].ID, ""), 200)
	if one.Channel != "a" || one.To != phoneCanary || one.Priority != "reply" || one.Labels["a"] != "ü" || one.State != "queued" || len(one.Attempts) != 0 {
		t.Errorf("%+v", one)
	}
	var ids []string
	for cursor, pages := "", 0; pages < 10; pages++ {
		page := into[api.ContactList](t, r.do("GET", "/v1/contacts?channel=a&limit=2&cursor="+cursor, ""), 200)
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
	r.refuses(t, "GET", "/v1/contacts?cursor=nonsense", refused{mistakes: []mistake{{"/cursor", "format"}}})
	if g := r.do("DELETE", "/v1/channels/a", ""); g.status != 409 {
		t.Errorf("deleted with open contacts: %d", g.status)
	}
	r.overAStoreCallbacks(t, store)
}

func (r *rig) overAStoreCallbacks(t *testing.T, store api.Store) {
	t.Helper()
	into[api.ChannelView](t, r.do("PUT", "/v1/channels/b", goodTexts), 201)
	ch, err := store.Channel(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if g := r.call("", callbackPath(ch, "incoming?guid=g&from=15559998877&body=x"), "", ""); g.status != 200 || g.body != "[]" {
			t.Errorf("%d %s", g.status, g.body)
		}
	}
	if v := into[api.IncomingList](t, r.do("GET", "/v1/channels/b/incoming", ""), 200); len(v.Incoming) != 1 {
		t.Errorf("%+v", v)
	}
	if g := r.do("DELETE", "/v1/channels/b", ""); g.status != 204 {
		t.Errorf("%d %s", g.status, g.body)
	}
	if g := r.call("", callbackPath(ch, "incoming?guid=h"), "", ""); g.status != 200 || r.results("texts")["deleted"] != 1 {
		t.Errorf("callback of a deleted channel: %d %v", g.status, r.results("texts"))
	}
	if g := r.do("GET", "/v1/channels/b", ""); g.status != 404 {
		t.Errorf("%d", g.status)
	}
}
