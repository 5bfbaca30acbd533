package dashboard_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"weir"
)

// queue queues contacts with the keys prefix-0, prefix-1 and so on.
func (r *rig) queue(channel, prefix string, n int) {
	r.t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"key":"%s-%d","to":"+1555%07d","messages":["=1+1"],"survey":"s"}`, prefix, i, i)
	}
	r.api("POST", "/v1/channels/"+channel+"/contacts", `{"contacts":[`+b.String()[1:]+`]}`, nil)
}

// open counts the contacts of a channel that are not done.
func (r *rig) openContacts(channel string) (n int) {
	r.t.Helper()
	for _, c := range r.contactsOf(channel) {
		if c.State != weir.Done.String() {
			n++
		}
	}
	return n
}

// Scenario 316: contacts are canceled by selection or by the filter of the list, counted before;
// what was queued after the count stays.
func TestContactsBulk_CancelsWhatWasCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read contacts:write")
	r.channel("texts")
	r.channel("other")
	r.queue("texts", "a", 120)
	r.queue("other", "b", 3)
	b := r.login("contacts:read contacts:write")
	list := b.get("/contacts?channel=texts&state=queued").want(200).has(`href="/contacts/_cancel?channel=texts&amp;state=queued"`, `name="contact"`, `id="cancel-selected"`).hasNot(`id="requeue-selected"`)
	list.has(`name="back" value="/contacts?channel=texts&amp;state=queued"`)

	// Selected ones, as the form of the list sends them.
	ids := r.contactsOf("texts")
	path := "/contacts/_cancel?" + url.Values{"back": {"/contacts?channel=texts"}, "contact": {ids[0].ID, ids[1].ID, ids[1].ID}}.Encode()
	b.get(path).want(200).has("Cancel 2 contacts", "2 contacts wait, and end as canceled at once")
	to := b.post(path, nil).want(http.StatusSeeOther).header.Get("Location")
	if to != "/contacts?channel=texts" {
		t.Errorf("it leads to %q", to)
	}
	b.get(to).has("2 contacts are canceled.")
	if n := r.openContacts("texts"); n != 118 {
		t.Fatalf("%d contacts are open", n)
	}
	// An empty selection is not everything.
	for _, path := range []string{"/contacts/_cancel?back=%2Fcontacts", "/contacts/_cancel?back=%2Fcontacts&all=true", "/contacts/_cancel", "/contacts/_cancel?chanel=texts", "/contacts/_cancel?all=false", "/dead-letters/requeue?back=%2Fcontacts"} {
		b.get(path).want(422).has("no contact is selected")
		b.post(path, nil).want(422)
	}
	b.get("/contacts/_cancel?contact=nonsense&back=%2Fcontacts").want(422)
	b.get("/contacts/_cancel?state=done").want(422).has("contacts that are done cannot be canceled")
	b.get("/contacts/_cancel?channel=none").want(404)

	// By the filter: 119 with the one that the rig made.
	question := b.get("/contacts/_cancel?channel=texts").want(200).has("Cancel 119 contacts")
	r.queue("texts", "late", 2)
	until := hidden(question, "until")
	b.post("/contacts/_cancel?channel=texts", url.Values{"until": {until}}).want(http.StatusSeeOther)
	b.get("/contacts?channel=texts").has("119 contacts are canceled.")
	if n := r.openContacts("texts"); n != 2 {
		t.Errorf("%d contacts of the channel are open, want those queued after the count", n)
	}
	if n := r.openContacts("other"); n != 3 {
		t.Errorf("%d contacts of the other channel are open", n)
	}
	b.get("/contacts/_cancel?channel=texts&survey=none").want(200).has("No contact that is not done")
	b.get("/contacts/_cancel?q=b-1&channel=other").want(200).has("Cancel 1 contact")
	b.get("/contacts").has(`href="/contacts/_cancel?all=true"`)
	b.get("/contacts/_cancel?all=true").want(200).has("Cancel 6 contacts") // with one that the rig made
}

// Exports have every row of the filter, mask numbers without pii:read, and begin no formula.
func TestContactsBulk_ListsAreExported(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read", "contacts:read pii:read", "channels:admin")
	r.channel("texts")
	r.channel("other")
	r.queue("texts", "a", 1000)
	r.queue("texts", "b", 10)
	reader := r.login("contacts:read")
	reader.get("/contacts?channel=texts").want(200).has(`href="/contacts/_export.csv?channel=texts"`)
	rows := csvOf(t, reader.get("/contacts/_export.csv?channel=texts").want(200))
	if len(rows) != 1012 || rows[0][0] != "id" || rows[0][3] != "to" {
		t.Fatalf("%d rows, header %v", len(rows), rows[0])
	}
	seen := map[string]bool{}
	for _, row := range rows[1:] {
		seen[row[0]] = true
		if row[1] != "texts" || !strings.HasPrefix(row[3], "***") || strings.HasPrefix(row[20], "=") {
			t.Fatalf("row %v", row)
		}
	}
	if len(seen) != 1011 {
		t.Errorf("%d contacts are in the file", len(seen))
	}
	full := r.login("contacts:read pii:read").get("/contacts/_export.csv?channel=texts&q=k-1").want(200)
	if rows := csvOf(t, full); len(rows) != 2 || rows[1][3] != "'"+numberCanary {
		t.Errorf("rows %v", rows)
	}
	if got := full.header.Get("Content-Disposition"); got != `attachment; filename="contacts.csv"` {
		t.Errorf("disposition %q", got)
	}
	if rows := csvOf(t, reader.get("/contacts/_export.csv?channel=texts&outcome=failed").want(200)); len(rows) != 1 {
		t.Errorf("an empty list has the rows %v", rows)
	}
	reader.get("/contacts/_export.csv?channel=none").want(404).has("there is no channel")
	reader.get("/contacts/_export.csv?from=nonsense").want(422)
	if rows := csvOf(t, reader.get("/dead-letters/export.csv").want(200)); len(rows) != 1 || rows[0][0] != "at" {
		t.Errorf("dead letters %v", rows)
	}
	reader.get("/audit/export.csv").want(403)
	admin := r.login("channels:admin")
	admin.get("/audit").want(200).has(`href="/audit/export.csv"`)
	if rows := csvOf(t, admin.get("/audit/export.csv").want(200)); len(rows) < 1 || rows[0][3] != "action" {
		t.Errorf("audit log %v", rows)
	}
}

func csvOf(t *testing.T, a answer) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(a.body, "\ufeff"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
