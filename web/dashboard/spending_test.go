package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"weir/api"
)

// accepting starts a provider that accepts every message, and returns its address.
func (r *rig) accepting() string {
	r.t.Helper()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("X-Nuntium-Token", "t")
		if strings.HasPrefix(q.URL.Path, "/api/") {
			_, _ = w.Write([]byte(`{"name":"b","enabled":true}`))
		}
	}))
	r.t.Cleanup(provider.Close)
	return provider.URL
}

func (r *rig) price(channel string) api.Price {
	r.t.Helper()
	var p api.PriceView
	r.api("GET", "/v1/prices/"+channel, "", &p)
	return p.Price
}

// priceForm is a form of a price as a browser sends it: pairs of name and value.
func priceForm(fields ...string) url.Values {
	form := url.Values{"currency": {""}, "per_attempt": {""}, "per_segment": {""}, "per_minute": {""}, "minutes": {""}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}

// Scenario 340.
func TestSpending_IsAddedUpByChannelAndSurvey(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read", "people:admin")
	reader := r.login("contacts:read")
	reader.get("/limits").want(200).has(`id="to-spending" href="/spending"`)
	reader.get("/spending").want(200).has("Nothing was spent.", "No limit counts money yet.", "No channel has a price yet.", `<a href="/limits">Shared limits</a>`)
	provider := r.accepting()
	for name, price := range map[string]string{"texts": `{"currency":"USD","per_attempt":"0.001","per_segment":"0.01"}`, "far": `{"currency":"EUR","per_attempt":"2"}`} {
		r.api("PUT", "/v1/channels/"+name, `{"type":"nuntium","capacity":9,"settings":{"base_url":"`+provider+`","account":"a","application":"b","channel":"c","password":"p"}}`, nil)
		r.api("PUT", "/v1/prices/"+name, price, nil)
	}
	r.api("PUT", "/v1/channels/free", `{"type":"nuntium","paused":true,"settings":{"base_url":"http://127.0.0.1:1","account":"a","application":"b","channel":"c","password":"p"}}`, nil)
	r.api("PUT", "/v1/limits/account", `{"channels":["texts"],"currency":"USD","money_per_day":"20"}`, nil)
	r.api("PUT", "/v1/limits/gateway", `{"channels":["texts"],"per_second":70}`, nil)
	r.api("POST", "/v1/channels/texts/contacts", `{"contacts":[
		{"key":"1","to":"+15550100001","messages":["one"],"survey":"flu<b>"},
		{"key":"2","to":"+15550100002","messages":["two"],"survey":"flu<b>"},
		{"key":"3","to":"+15550100003","messages":["three"]}]}`, nil)
	r.api("POST", "/v1/channels/far/contacts", `{"contacts":[{"key":"4","to":"+15550100004","messages":["four"]}]}`, nil)
	r.soon(func() bool {
		page := reader.get("/spending").want(200).body
		return strings.Contains(page, "<dd>2.00 EUR</dd>") && strings.Contains(page, "<dd>0.033 USD</dd>")
	})
	reader.get("/spending").has(
		`<tr><th scope="row"><a href="/channels/far">far</a></th><td>–</td><td class="number">2.00</td><td>EUR</td></tr>`,
		`<a href="/channels/texts">texts</a></th><td>–</td><td class="number">0.011</td><td>USD</td>`,
		`<td>flu&lt;b&gt;</td><td class="number">0.022</td><td>USD</td>`,
		`<a id="limit-account" href="/limits/account">account</a></dt><dd>0.033 of 20 USD today</dd>`,
		"Without a price: free.",
	).hasNot("limit-gateway", "/edit", "<b>", `href="/prices`)
	other := r.login("people:admin")
	other.get("/spending").want(403)
	for _, path := range []string{"/prices/texts/edit", "/prices/texts/delete"} {
		reader.get(path).want(403)
		reader.post(path, priceForm("currency", "USD", "per_attempt", "9")).want(403).has("channels:admin")
	}
	if p := r.price("texts"); p.PerAttempt != "0.001" {
		t.Errorf("it is %+v", p)
	}
}

func TestSpending_PricesAreSetAndDeleted(t *testing.T) {
	t.Parallel()
	r := newLimitRig(t, "channels:admin")
	b := r.login("channels:admin")
	b.get("/spending").want(200).has(`id="set-texts" href="/prices/texts/edit"`)
	form := filledIn(b.get("/prices/texts/edit").want(200).has("Price of channel texts", `action="/prices/texts/edit"`).hasNot("aria-invalid", `id="delete"`, "prefix"))
	form.Set("currency", " usd ")
	form.Set("per_minute", "0.014")
	form.Set("minutes", "3")
	if to := b.post("/prices/texts/edit", form).want(303).header.Get("Location"); to != "/spending" {
		t.Errorf("it leads to %q", to)
	}
	b.get("/spending").want(200).has("The price of channel texts is saved.", `id="edit-texts" href="/prices/texts/edit"`, `<td class="number">0.014</td><td class="number">3</td>`, `id="set-other"`).hasNot(`id="set-texts"`)
	if p := r.price("texts"); p.Currency != "USD" || p.PerMinute != "0.014" || p.Minutes != 3 || p.PerAttempt != "" {
		t.Errorf("it is %+v", p)
	}
	b.get("/prices/none/edit").want(404)
	b.post("/prices/none/edit", form).want(404)
	b.get("/prices/other/delete").want(404)

	// A limit that counts the currency keeps it.
	r.api("PUT", "/v1/limits/account", `{"channels":["texts"],"currency":"USD","money":"20"}`, nil)
	b.post("/prices/texts/edit", priceForm("currency", "EUR", "per_minute", "0.5")).want(409).has("Nothing was saved.", "the limit account counts USD over channel texts", `value="EUR"`, `value="0.5"`)
	b.get("/prices/texts/delete").want(200).has("Delete the price of channel texts", "0.014", "What was spent stays counted.")
	b.post("/prices/texts/delete", nil).want(409).has("the limit account counts USD over channel texts")
	r.api("DELETE", "/v1/limits/account", "", nil)
	r.price("texts")
	if to := b.post("/prices/texts/delete", nil).want(303).header.Get("Location"); to != "/spending" {
		t.Errorf("it leads to %q", to)
	}
	b.get("/spending").want(200).has("The price of channel texts is deleted.", "No channel has a price yet.")
	r.soon(func() bool { return strings.Contains(b.get("/audit").want(200).body, "delete-price") })
}

func TestSpending_FormOfAPriceKeepsPrefixesAndNamesEveryMistake(t *testing.T) {
	t.Parallel()
	r := newLimitRig(t, "channels:admin")
	b := r.login("channels:admin")
	b.post("/prices/texts/edit", priceForm()).want(422).has(`id="currency-wrong"`, `id="per_attempt-wrong"`, "Enter at least one of the three amounts.").hasNot(`role="alert"`)
	r.api("PUT", "/v1/prices/texts", `{"currency":"USD","per_segment":"0.01","prefixes":[{"prefix":"+254","per_segment":"0.02"},{"prefix":"+44","per_attempt":"0.03"}]}`, nil)
	b.post("/prices/texts/edit", priceForm("currency", "dollars", "per_attempt", "1,5", "per_segment", "<b>", "per_minute", "-1", "minutes", "241")).want(422).has(
		"Nothing was saved. Correct the marked fields", `id="currency-wrong"`, `id="per_attempt-wrong"`, `id="per_segment-wrong"`, `id="per_minute-wrong"`, `id="minutes-wrong"`,
		`value="DOLLARS"`, `value="1,5"`, `value="&lt;b&gt;"`, `value="-1"`, `value="241"`, "and 2 prefixes, which <code>weir price put</code> sets", `id="delete"`).hasNot(`role="alert"`, "<b>")
	if p := r.price("texts"); p.PerSegment != "0.01" || len(p.Prefixes) != 2 {
		t.Errorf("it is %+v", p)
	}
	form := filledIn(b.get("/prices/texts/edit").want(200).has("and 2 prefixes"))
	form.Set("per_segment", "0.015")
	b.post("/prices/texts/edit", form).want(303)
	if p := r.price("texts"); p.PerSegment != "0.015" || len(p.Prefixes) != 2 || p.Prefixes[0] != (api.PrefixPrice{Prefix: "+254", PerSegment: "0.02"}) {
		t.Errorf("it is %+v", p)
	}
	b.get("/prices/texts/delete").want(200).has("<dt>Prefixes</dt><dd>2</dd>")
}
