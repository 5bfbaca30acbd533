package dashboard_test

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// The audit log shows what each change changed: secrets only as changed, numbers
// only with the scope to see them.
func TestLogs_AuditLogShowsChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin", "channels:admin pii:read", "contacts:read pii:read")
	r.channel("a")
	const secret = "CANARY-of-the-change"
	r.api("PATCH", "/v1/channels/a", `{"capacity":50,"name":"Call +15557654321","settings":{"password":"`+secret+`"}}`, nil)
	r.api("PATCH", "/v1/channels/a", `{"paused":false,"name":null}`, nil)
	r.api("PATCH", "/v1/channels/a", `{"paused":true}`, nil)
	r.login("contacts:read pii:read").post("/contacts", url.Values{"number": {numberCanary}, "channel": {"a"}}).want(200)
	b := r.login("channels:admin")
	r.soon(func() bool { return strings.Contains(b.get("/audit").want(200).body, "search-contacts") })
	squeezed := func(body string) string {
		for _, mark := range []string{"<del>", "</del>", "<ins>", "</ins>", `<span class="code">`, `<span class="quiet">`, "</span>"} {
			body = strings.ReplaceAll(body, mark, "")
		}
		return body
	}
	page := b.get("/audit").want(200)
	page.hasNot(secret, providerCanary, "15557654321", numberCanary)
	page.body = squeezed(page.body)
	page.has("capacity 7 → 50", "settings.password changed", "name none → Call ***21", "name Call ***21 → none", "paused true → false", "to none → ***77", "channel none → a")
	page = r.login("channels:admin pii:read").get("/audit").want(200)
	page.body = squeezed(page.body)
	page.has("name none → Call +15557654321").hasNot(secret, numberCanary)
	later := time.Now().UTC().Add(time.Hour).Format("2006-01-02T15:04")
	b.get("/audit?from="+later).want(200).has("No entries in this period", `value="`+later+`"`).hasNot("capacity")
	b.get("/audit?until=" + later).want(200).has("patch-channel")
	b.get("/audit?until=never").want(422)
}
