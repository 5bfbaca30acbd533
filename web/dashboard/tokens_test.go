package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"
)

// A token is made, shown once and revoked; mistakes are beside their fields.
func TestTokens_AreMadeAndRevoked(t *testing.T) {
	t.Parallel()
	r := newRig(t, "tokens:admin contacts:read", "contacts:read")
	r.login("contacts:read").get("/tokens").want(403)
	b := r.login("tokens:admin contacts:read")
	b.get("/tokens").want(200).has("of the tests", `value="contacts:read"`).hasNot(`value="pii:read"`)
	b.post("/tokens", url.Values{"name": {"  "}, "days": {"x"}}).want(http.StatusUnprocessableEntity).
		has("No token was created", `id="scopes-wrong"`, `id="days-wrong"`, `value="x"`)
	b.post("/tokens", url.Values{"name": {"team <1>"}, "days": {"0"}, "scopes": {"contacts:read"}}).want(http.StatusUnprocessableEntity).
		has(`id="days-wrong"`, `value="team &lt;1&gt;"`, `value="contacts:read" checked`).hasNot(`id="name-wrong"`)
	b.post("/tokens", url.Values{"name": {"more"}, "scopes": {"pii:read"}}).want(403)

	p := b.post("/tokens", url.Values{"name": {"team <1>"}, "days": {"30"}, "scopes": {"contacts:read"}}).want(200).has("It is shown once", "team &lt;1&gt;")
	found := regexp.MustCompile(`<code id="made">(weir_([a-z0-9]+)_[a-z0-9]+)</code>`).FindStringSubmatch(p.body)
	if found == nil {
		t.Fatal(p.body)
	}
	b.get("/tokens").want(200).has(found[2]).hasNot(found[1])
	other := r.visitor()
	other.post("/login", url.Values{"token": {found[1]}}).want(303)
	other.get("/").want(200)

	b.get("/tokens/" + found[2] + "/revoke").want(200).has("cannot be undone")
	b.post("/tokens/"+found[2]+"/revoke", nil).want(303)
	b.get("/tokens").has("is revoked")
	other.get("/").want(303)
}
