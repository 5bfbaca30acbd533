package dashboard_test

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/api"
)

const aLimit = `{"title":"One <b>account","channels":["texts","reminders"],"in_flight":50,"per_second":20,"new_people_per_day":1000}`

// newLimitRig starts a rig with channels that can share limits.
func newLimitRig(t *testing.T, scopes ...string) *rig {
	t.Helper()
	r := newRig(t, scopes...)
	r.addLimitChannels()
	return r
}

func (r *rig) addLimitChannels() {
	r.t.Helper()
	for _, name := range []string{"texts", "reminders", "other"} {
		r.api("PUT", "/v1/channels/"+name, `{"type":"nuntium","paused":true,"settings":{"base_url":"http://127.0.0.1:1","account":"a","application":"b","channel":"c","password":"p"}}`, nil)
	}
}

func (r *rig) limit(name string) api.Limit {
	r.t.Helper()
	var l api.LimitView
	r.api("GET", "/v1/limits/"+name, "", &l)
	return l.Limit
}

// limitForm is a form of a limit as a browser sends it: pairs of name and value. A name that
// appears again adds a value.
func limitForm(fields ...string) url.Values {
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	for _, name := range []string{"name", "title", "in_flight", "per_second", "new_people_per_day"} {
		if !form.Has(name) {
			form.Set(name, "")
		}
	}
	return form
}

func TestLimits_AreListedWithTheirUse(t *testing.T) {
	t.Parallel()
	r := newLimitRig(t, "contacts:read", "channels:admin", "people:admin")
	r.login("contacts:read").get("/limits").want(200).has("No shared limits yet", `<span aria-current="page">Shared limits</span>`)
	r.api("PUT", "/v1/limits/portfolio", aLimit, nil)
	r.api("PUT", "/v1/limits/gateway", `{"channels":["texts"],"per_second":7}`, nil)
	reader := r.login("contacts:read")
	reader.get("/").want(200).has(`id="to-limits" href="/limits"`)
	reader.get("/limits").want(200).has("One &lt;b&gt;account", `href="/limits/gateway"`, `href="/channels/texts"`, `href="/channels/reminders"`, "0 of 50", `<td class="number">20</td>`, "0 of 1,000", "–").hasNot(`id="new"`, "/edit", "<b>")
	reader.get("/limits/portfolio").want(200).has("One &lt;b&gt;account", "0 of 50", "<dd>20</dd>", "0 of 1,000", `href="/channels/reminders"`).hasNot("/edit", "/delete", "<form method=\"post\" action=\"/limits")
	for _, path := range []string{"/limits/_new", "/limits/portfolio/edit", "/limits/portfolio/delete"} {
		reader.get(path).want(403)
		reader.post(path, limitForm("name", "other", "channels", "texts", "in_flight", "1")).want(403).has("channels:admin")
	}
	r.limit("portfolio")
	r.login("channels:admin").get("/limits").want(200).has(`id="new"`, `href="/limits/portfolio/edit"`)
	reader.get("/limits/none").want(404).has("there is no limit")
	other := r.login("people:admin")
	other.get("/").want(200).hasNot(`href="/limits"`)
	other.get("/limits").want(403)

	// The page of a channel names its limits.
	reader.get("/channels/texts").want(200).has(`id="limit-portfolio" href="/limits/portfolio"`, "Contacts in flight: 0 of 50; Dispatches a second: 20; New people in 24 hours: 0 of 1,000", `id="limit-gateway"`)
	reader.get("/channels/reminders").want(200).has(`id="limit-portfolio"`).hasNot(`id="limit-gateway"`)
	reader.get("/channels/other").want(200).hasNot("limits-head")
}

func TestLimits_OneIsCreated(t *testing.T) {
	t.Parallel()
	r := newLimitRig(t, "channels:admin")
	b := r.login("channels:admin")
	form := filledIn(b.get("/limits/_new").want(200).has(`action="/limits/_new"`, `<span aria-current="page">New</span>`, `value="reminders"`).hasNot("aria-invalid", " checked"))
	for name, value := range map[string]string{"name": " portfolio ", "title": "Account", "in_flight": "50", "new_people_per_day": " 1000 "} {
		form.Set(name, value)
	}
	form["channels"] = []string{"texts", "reminders"}
	if to := b.post("/limits/_new", form).want(303).header.Get("Location"); to != "/limits/portfolio" {
		t.Errorf("it leads to %q", to)
	}
	b.get("/limits/portfolio").want(200).has("Limit portfolio is created.", "0 of 50", "0 of 1,000").hasNot("a second")
	if l := r.limit("portfolio"); l.Title != "Account" || !slices.Equal(l.Channels, []string{"texts", "reminders"}) || l.InFlight != 50 || l.PerSecond != 0 || l.NewPeoplePerDay != 1000 {
		t.Errorf("it is %+v", l)
	}
	// The same name again would replace it.
	b.post("/limits/_new", limitForm("name", "portfolio", "title", "other", "channels", "other", "per_second", "many")).want(422).has(`id="name-wrong"`, "name already", `id="per_second-wrong"`, `value="other" checked`)
	if again := r.limit("portfolio"); again.Title != "Account" {
		t.Errorf("it is %+v", again)
	}
	r.soon(func() bool { return strings.Contains(b.get("/audit").want(200).body, "put-limit") })
}

func TestLimits_EveryMistakeIsShownAtOnceBesideItsField(t *testing.T) {
	t.Parallel()
	r := newLimitRig(t, "channels:admin")
	r.api("PUT", "/v1/limits/portfolio", aLimit, nil)
	b := r.login("channels:admin")
	wrong := []string{"title", strings.Repeat("ä", 201), "channels", "texts", "channels", "gone<b>", "channels", "lost", "in_flight", "0", "per_second", "many", "new_people_per_day", "1.5"}
	check := func(page answer) {
		t.Helper()
		for _, field := range []string{"title", "channels", "in_flight", "per_second", "new_people_per_day"} {
			page.has(`id="` + field + `-wrong"`)
		}
		page.has("Nothing was saved. Correct the marked fields", `value="texts" checked`, `value="gone&lt;b&gt;" checked`, "&#34;lost&#34; does not exist", "does not exist any more", `value="many"`, `value="1.5"`).hasNot(`role="alert"`, `value="other" checked`, "<b>", "at least one of")
	}
	check(b.post("/limits/_new", limitForm(append(wrong, "name", "Portfolio!")...)).want(422).has(`id="name-wrong"`, `value="Portfolio!"`))
	check(b.post("/limits/_new", limitForm(append(wrong, "name", "new")...)).want(422).hasNot(`id="name-wrong"`))
	check(b.post("/limits/portfolio/edit", limitForm(wrong...)).want(422).hasNot(`id="name"`))
	b.post("/limits/_new", limitForm("name", "all")).want(422).has(`id="name-wrong"`, "is not all", "Choose at least one channel, or name a survey below.", `id="in_flight-wrong"`, "Enter at least one limit, of these three or of money.")
	b.post("/limits/No!/edit", limitForm("title", "kept", "channels", "texts", "in_flight", "1")).want(422).has(`role="alert"`, "<code>/name</code>", `value="kept"`)
	b.get("/limits").want(200).hasNot(`id="limit-new"`, `id="limit-all"`)
}

func TestLimits_EditKeepsWhatIsNotChanged(t *testing.T) {
	t.Parallel()
	r := newLimitRig(t, "channels:admin")
	r.api("PUT", "/v1/limits/portfolio", aLimit, nil)
	b := r.login("channels:admin")
	form := filledIn(b.get("/limits/portfolio/edit").want(200).has(`value="One &lt;b&gt;account"`, `value="texts" checked`).hasNot(`id="name"`, `value="other" checked`))
	form.Set("title", "Account")
	b.post("/limits/portfolio/edit", form).want(303)
	b.get("/limits/portfolio").want(200).has("Limit portfolio is changed.")
	l := r.limit("portfolio")
	slices.Sort(l.Channels)
	if l.Title != "Account" || !slices.Equal(l.Channels, []string{"reminders", "texts"}) || l.InFlight != 50 || l.PerSecond != 20 || l.NewPeoplePerDay != 1000 {
		t.Errorf("it is %+v", l)
	}
	form.Set("in_flight", "")
	form["channels"] = []string{"other"}
	b.post("/limits/portfolio/edit", form).want(303)
	if l := r.limit("portfolio"); l.InFlight != 0 || l.PerSecond != 20 || !slices.Equal(l.Channels, []string{"other"}) {
		t.Errorf("it is %+v", l)
	}
	// A channel that was deleted has to be taken out.
	r.api("DELETE", "/v1/channels/other", "", nil)
	form = filledIn(b.get("/limits/portfolio/edit").want(200).has(`value="other" checked`, "does not exist any more"))
	b.post("/limits/portfolio/edit", form).want(422).has(`id="channels-wrong"`, "does not exist")
	b.get("/limits/none/edit").want(404)
}

func TestLimits_MoneyIsSetAndShown(t *testing.T) {
	t.Parallel()
	r := newLimitRig(t, "channels:admin")
	b := r.login("channels:admin")
	fill := limitForm("name", "budget", "channels", "texts", "surveys", "health-2026\r\nflu", "currency", "usd", "money", "2500", "money_per_day", "200.50")
	b.post("/limits/_new", fill).want(422).has(`id="channels-wrong"`, "has no price in USD", "health-2026\r\nflu", `value="200.50"`)
	r.api("PUT", "/v1/prices/texts", `{"currency":"USD","per_segment":"0.01"}`, nil)
	b.post("/limits/_new", fill).want(303)
	b.get("/limits/budget").want(200).has("0.00 of 2500 USD in all", "0.00 of 200.50 USD today", "<li>flu</li>").hasNot("this month")
	b.get("/limits").want(200).has("0.00 of 200.50 USD today", "of health-2026, flu")
	form := filledIn(b.get("/limits/budget/edit").want(200))
	form.Set("money_per_month", "1000")
	b.post("/limits/budget/edit", form).want(303)
	if l := r.limit("budget"); l.Money != "2500" || l.MoneyPerDay != "200.50" || l.MoneyPerMonth != "1000" || l.Currency != "USD" || !slices.Equal(l.Surveys, []string{"health-2026", "flu"}) {
		t.Errorf("it is %+v", l)
	}
	form.Set("money_per_day", "1,5")
	form.Set("money_per_month", "0")
	form.Set("currency", "")
	form.Set("in_flight", "5")
	b.post("/limits/budget/edit", form).want(422).has(`id="money_per_day-wrong"`, `id="money_per_month-wrong"`, `id="currency-wrong"`, `id="in_flight-wrong"`, `value="1,5"`).hasNot(`role="alert"`)
}

func TestLimits_OneIsDeleted(t *testing.T) {
	t.Parallel()
	r := newLimitRig(t, "channels:admin")
	r.api("PUT", "/v1/limits/portfolio", aLimit, nil)
	b := r.login("channels:admin")
	b.get("/limits/portfolio").want(200).has(`href="/limits/portfolio/delete" data-dialog`)
	b.get("/limits/portfolio/delete").want(200).has("Delete limit portfolio", "texts, reminders", "Contacts in flight: 0 of 50")
	r.limit("portfolio")
	if to := b.post("/limits/portfolio/delete", nil).want(303).header.Get("Location"); to != "/limits" {
		t.Errorf("it leads to %q", to)
	}
	b.get("/limits").want(200).has("Limit portfolio is deleted.").hasNot(`id="limit-portfolio"`)
	b.get("/limits/portfolio").want(404)
	b.get("/limits/portfolio/delete").want(404)
	b.post("/limits/portfolio/delete", nil).want(404)
}

// TestLimit_EveryNumberGoesAllTheWay names the place that was forgotten when a limit got a number: the API takes it as what is limited, the
// form asks for it, and the pages show it. That claims are bounded by it is for the rules to show.
func TestLimit_EveryNumberGoesAllTheWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin", "channels:read", "metrics:read")
	r.addLimitChannels()
	b := r.login("channels:admin")
	var wanted []string
	for i, bound := range new(api.Limit).Bounds() {
		name, n := "of-"+bound.Member, strconv.Itoa(17+i)
		r.api("PUT", "/v1/limits/"+name, `{"channels":["texts"],"`+bound.Member+`":`+n+`}`, nil)
		var view map[string]any
		r.api("GET", "/v1/limits/"+name, "", &view)
		if view[bound.Member] != float64(17+i) {
			t.Errorf("%s is %v", bound.Member, view[bound.Member])
		}
		b.get("/limits/" + name + "/edit").want(200).has(`name="` + bound.Member + `" type="number"`)
		b.get("/limits/" + name).want(200).has(n)
		b.get("/limits").want(200).has(n)
		wanted = append(wanted, n+" "+bound.Words)
	}
	r.audit(wanted...)
}
