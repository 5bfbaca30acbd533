package dashboard_test

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/api"
	"weir/internal/polling"
)

// keysOf returns the keys of the contacts that a page lists, in the order of the
// page.
func keysOf(t *testing.T, r *rig, page string) []string {
	t.Helper()
	var all api.ContactList
	r.api("GET", "/v1/contacts?limit=1000", "", &all)
	keys := map[string]string{}
	for i := range all.Contacts {
		keys[all.Contacts[i].ID] = all.Contacts[i].Key
	}
	var list []string
	for _, found := range regexp.MustCompile(`id="contact-([^"]+)"`).FindAllStringSubmatch(page, -1) {
		list = append(list, keys[found[1]])
	}
	return list
}

// soon waits until look returns true, for at most 20 seconds.
func (r *rig) soon(look func() bool) {
	r.t.Helper()
	if !polling.Until(20*time.Second, 50*time.Millisecond, look) {
		r.t.Fatal("waited in vain")
	}
}

// threeContacts queues three contacts on two channels in turn, and cancels the
// second.
func threeContacts(r *rig) {
	r.channel("a")
	r.channel("b")
	var list api.AcceptedList
	for i, channel := range []string{"b", "a", "b"} {
		r.api("POST", "/v1/channels/"+channel+"/contacts", fmt.Sprintf(`{"contacts":[{"key":"n-%d","to":"+1555000%04d","messages":["hello"]}]}`, i, i), &list)
		if i == 1 {
			r.api("DELETE", "/v1/contacts/"+list.Contacts[0].ID, "", nil)
		}
	}
}

func TestContacts_PageListsTheNewestFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read")
	threeContacts(r)
	b := r.login("contacts:read")
	page := b.get("/contacts").want(200).has(`<th scope="col">Channel</th>`, `<td>b</td>`, `data-stream="/live/contacts"`, `<div id="list">`)
	if got := keysOf(t, r, page.body); !slices.Equal(got, []string{"n-2", "n-1", "n-0", "k-1", "k-1"}) {
		t.Errorf("listed %v", got)
	}
	ago := time.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04")
	for query, want := range map[string][]string{
		"time=finished&from=" + ago: {"n-1"}, "time=finished&until=" + ago: nil, "until=" + ago: nil, "channel=b&from=" + ago: {"n-2", "n-0", "k-1"}, "state=done": {"n-1"},
	} {
		if got := keysOf(t, r, b.get("/contacts?"+query).want(200).body); !slices.Equal(got, want) {
			t.Errorf("%s: listed %v, want %v", query, got, want)
		}
	}
	b.get("/contacts?from=" + ago).has(`value="` + ago + `"`)
	b.get("/contacts?from=soon").want(422).has("/from")
	server := r.serve()
	w := b.watch(server, "/live/contacts")
	defer server.Close()
	defer w.end()
	w.until("list", "contact-")
	var late api.AcceptedList
	r.api("POST", "/v1/channels/a/contacts", `{"contacts":[{"to":"+15550009","messages":["late"]}]}`, &late)
	w.until("list", late.Contacts[0].ID)
}

// A search by number needs a token that may see numbers. The number appears in no
// URL and no log, but the search is in the audit log.
func TestContacts_SearchByPhoneNumberLeavesNoTrace(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read", "contacts:read pii:read", "channels:admin")
	threeContacts(r)
	masked := r.login("contacts:read")
	masked.get("/contacts").want(200).hasNot("Phone number")
	masked.post("/contacts", url.Values{"number": {numberCanary}}).want(403)
	b := r.login("contacts:read pii:read")
	b.get("/contacts").want(200).has("Phone number")
	page := b.post("/contacts", url.Values{"number": {"1 (555) 999-8877"}}).want(200).has(numberCanary)
	if got := keysOf(t, r, page.body); !slices.Equal(got, []string{"k-1", "k-1"}) {
		t.Errorf("found %v", got)
	}
	if got := keysOf(t, r, b.post("/contacts", url.Values{"number": {"+15550000002"}, "channel": {"a"}}).want(200).body); got != nil {
		t.Errorf("found %v on another channel", got)
	}
	b.post("/contacts", url.Values{"number": {"no number"}}).want(422)
	digits := strings.TrimPrefix(numberCanary, "+")
	for _, link := range regexp.MustCompile(`(?:href|action|data-stream)="([^"]*)"`).FindAllStringSubmatch(page.body, -1) {
		if strings.Contains(link[1], digits) {
			t.Errorf("the number stands in %q", link[1])
		}
	}
	admin := r.login("channels:admin")
	r.soon(func() bool { return strings.Contains(admin.get("/audit").want(200).body, "search-contacts") })
	admin.get("/audit").hasNot(digits)
	if strings.Contains(r.logs.String(), digits) {
		t.Error("the log has the number")
	}
}

// Every field of a contact that is set is on its page; those without a place of
// their own are listed by name.
func TestContacts_PageListsItsFields(t *testing.T) {
	t.Parallel()
	r := newRig(t, "admin")
	r.channel("a")
	var queued struct {
		Contacts []struct{ ID string }
	}
	r.api("POST", "/v1/channels/a/contacts", `{"contacts":[{"key":"fields-1","to":"+15550100001","messages":["hello","again"],"priority":"high","labels":{"team":"<b>north"},"not_after":"2099-01-02T03:04:05Z"}]}`, &queued)
	r.login("admin").get("/contacts/"+queued.Contacts[0].ID).want(200).has("<dt>Key</dt><dd>fields-1</dd>", "<dt>Priority</dt><dd>high</dd>", "<dt>Slots</dt><dd>2</dd>",
		`<dt>Not after</dt><dd><time datetime="2099-01-02T03:04:05Z">`, "<dt>Recipient</dt>", "<dt>Label team</dt><dd>&lt;b&gt;north</dd>").hasNot("<dt>Id", "<dt>Attempts", "<dt>Not before")
}
