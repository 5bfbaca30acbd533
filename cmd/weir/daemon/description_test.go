package daemon_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/client"
	"weir/cmd/weir/daemon"
)

// TestDescription_InTheRepositoryIsCurrent checks that docs/openapi.json matches the
// code. The client package is generated from that file, and it is compared with
// the last release.
func TestDescription_InTheRepositoryIsCurrent(t *testing.T) {
	t.Parallel()
	now, err := daemon.Description()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != string(now) {
		t.Errorf("docs/openapi.json is not what the code says; make generate (-kept +now):\n%s", cmp.Diff(string(kept), string(now)))
	}
}

// TestClient_SpeaksToARunningWeirUnderAPrefix under a path prefix, which also applies to the
// API descriptions and their page.
func TestClient_SpeaksToARunningWeirUnderAPrefix(t *testing.T) {
	t.Parallel()
	env := environment(sqliteURL(t))
	env["WEIR_PATH_PREFIX"] = "/weir"
	r := newRig(t, env)
	c, err := client.New(client.Options{URL: r.url + "/weir"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ctx := t.Context()
	ch, err := c.PutChannel(ctx, "texts", client.ChannelBody{Type: "nuntium", Capacity: 5, Settings: map[string]any{
		"base_url": r.smsURL, "account": "demo", "application": "weir", "token": "token", "channel": "sms",
	}}, client.PutChannelParams{})
	if err != nil || ch.Capacity != 5 {
		t.Fatalf("%+v, %v", ch, err)
	}
	accepted, err := c.PostContacts(ctx, "texts", client.ContactsBody{Contacts: []client.ContactBody{{Key: "a", To: "+15550001", Messages: []string{"hello"}}}})
	if err != nil || len(accepted.Contacts) != 1 {
		t.Fatalf("%+v, %v", accepted, err)
	}
	r.eventually("the contact is done", func() bool {
		v, err := c.GetContact(ctx, accepted.Contacts[0].ID)
		return err == nil && v.State == "done" && v.Outcome == "completed"
	})
	if _, err := c.GetChannel(ctx, "none"); client.StatusOf(err) != 404 {
		t.Errorf("a channel that is not there: %v", err)
	}
	for _, path := range []string{"/docs", "/docs/style.css"} {
		if status := r.do("GET", "/weir"+path, nil, nil); status != 200 {
			t.Errorf("%s: %d", path, status)
		}
	}
	r.pagesUnder("/weir")
	var ours, routers, kept struct {
		Servers []struct{ URL string }
		Paths   map[string]any
	}
	r.do("GET", "/weir/openapi.json", nil, &ours)
	r.do("GET", "/weir/routing/openapi.json", nil, &routers)
	if len(ours.Servers) != 1 || len(routers.Servers) != 1 || ours.Servers[0].URL != "/weir" || routers.Servers[0].URL != "/weir" || routers.Paths["/routing/jobs/{jobId}"] == nil {
		t.Errorf("%v, %v, %d routes of the router", ours.Servers, routers.Servers, len(routers.Paths))
	}
	text, err := daemon.Description()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(kept.Paths)), slices.Sorted(maps.Keys(ours.Paths))); diff != "" {
		t.Errorf("a running Weir has other routes than the description in the repository (-kept +served):\n%s", diff)
	}
}

// pagesUnder follows the router's link to the next page under a prefix.
func (r *rig) pagesUnder(prefix string) {
	r.t.Helper()
	const version = "api-version=2024-01-18-preview"
	for _, id := range []string{"a", "b"} {
		if status := r.do("PATCH", prefix+"/routing/queues/"+id+"?"+version, map[string]any{}, nil); status != 201 {
			r.t.Fatalf("queue %s: %d", id, status)
		}
	}
	var page struct {
		Value    []struct{ ID string }
		NextLink string
	}
	r.do("GET", prefix+"/routing/queues?maxpagesize=1&"+version, nil, &page)
	rest, ok := strings.CutPrefix(page.NextLink, r.url+prefix+"/")
	if status := r.do("GET", prefix+"/"+rest, nil, &page); !ok || status != 200 || len(page.Value) != 1 || page.Value[0].ID != "b" {
		r.t.Errorf("nextLink %s: %d %+v", page.NextLink, status, page.Value)
	}
}
