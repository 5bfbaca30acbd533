package dashboard_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/api"
	"weir/channels"
	"weir/channels/all"
	"weir/router/routertest"
)

// gateway is a provider of type nuntium with one password.
type gateway struct {
	*httptest.Server
	asked atomic.Int64
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.asked.Add(1)
		if _, password, _ := r.BasicAuth(); password != providerCanary {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"name":"sms","enabled":true}`))
	}))
	t.Cleanup(g.Close)
	return g
}

// whole is the form of a page as a browser sends it back, with its hidden fields.
func whole(page answer) url.Values {
	form := filledIn(page)
	for _, in := range regexp.MustCompile(`<input type="hidden"[^>]*>`).FindAllString(page.body, -1) {
		form.Set(attribute(in, "name"), attribute(in, "value"))
	}
	for _, values := range form {
		for i := range values {
			values[i] = html.UnescapeString(values[i])
		}
	}
	return form
}

// with returns a form with other values: pairs of name and value.
func with(form url.Values, fields ...string) url.Values {
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}

func (r *rig) channelView(name string) api.ChannelView {
	r.t.Helper()
	var ch api.ChannelView
	r.api("GET", "/v1/channels/"+name, "", &ch)
	return ch
}

// In a language other than English, a page about a kind of channel has no English sentence of the type.
func TestChannelForm_SpeaksTheLanguageOfItsReader(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin", "contacts:read")
	b := r.login("channels:admin")
	types := all.Types(routertest.New(time.Now))
	for _, language := range []string{"es", "fr", "pt"} {
		for i := range types {
			kinds := append([]channels.Template{{}}, types[i].Templates...)
			for j := range kinds {
				query := url.Values{"type": {types[i].Name}}
				english := types[i].SetUp
				if kinds[j].Name != "" {
					query.Set("template", kinds[j].Name)
					english = kinds[j].SetUp
				}
				for _, s := range append(channels.CommonSettings(), types[i].Settings...) {
					english = append(english, s.Help)
				}
				page := b.get("/channels/_new?"+query.Encode(), "Accept-Language", language).want(200)
				for _, text := range english {
					page.hasNot(html.EscapeString(strings.TrimSuffix(text[1:], ".")) + ".") // without its first letter, which may be a capital
				}
			}
		}
	}
}

// Scenario 310.
func TestChannelForm_AnEmptyInstallationLeadsToTheFirstChannel(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin", "contacts:read")
	g := newGateway(t)
	b := r.login("channels:admin")
	b.get("/").want(200).has("No channels yet", `<a class="button primary" href="/channels/_new">Create a channel</a>`, `id="new-channel"`)
	b.get("/limits/_new").want(200).has(`href="/channels/_new"`)
	b.get("/channels/_new").want(200).has("verboice", "nuntium", "kannel", "twilio_voice", "workers", "http · vonage", "http · telegram", `/channels/_new?template=vonage&amp;type=http`, `<span aria-current="page">New channel</span>`)
	b.get("/channels/_new?type=nothing").want(404)
	page := b.get("/channels/_new?type=nuntium").want(200).has("In Nuntium, create an application", `type="password"`, "Base URL", "delivered (default)", `<option value="confirmed">`).hasNot("aria-invalid", `id="asked"`)
	form := with(whole(page), "name", "sms", "title", "Our <texts>", "capacity", "7", "set-rate_per_second", "5", "set-base_url", g.URL, "set-account", "demo", "set-application", "weir", "set-channel", "sms", "set-password", providerCanary, "set-final_state", "confirmed", "set-at_least_once", "true", "do", "save")
	if to := b.post("/channels/_new", form).want(303).header.Get("Location"); to != "/channels/sms" {
		t.Errorf("it leads to %q", to)
	}
	b.get("/channels/sms").want(200).has("Channel sms is created.", `id="edit"`, `id="setup"`).hasNot(providerCanary)
	ch := r.channelView("sms")
	if ch.Name != "Our <texts>" || ch.Capacity != 7 || ch.Settings["rate_per_second"] != 5.0 || ch.Settings["final_state"] != "confirmed" || ch.Settings["at_least_once"] != true || len(ch.Secrets) != 1 || len(ch.Settings) != 7 {
		t.Errorf("%+v", ch)
	}
	b.get("/channels/sms/setup").want(200).has("/callbacks/sms/", "readonly", "In Nuntium, create an application").hasNot(providerCanary)
	r.soon(func() bool { return strings.Contains(b.get("/audit").want(200).body, "put-channel") })
}

func TestChannelForm_AllMistakesAreShownAtOnceBesideTheirFields(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin")
	r.channel("taken")
	b := r.login("channels:admin")
	wrong := []string{"title", strings.Repeat("ä", 201), "capacity", "many", "set-rate_per_second", "1.5", "set-base_url", "nowhere<b>", "set-account", "kept", "set-password", providerCanary, "set-burst", "x"}
	page := b.post("/channels/_new", with(url.Values{"type": {"nuntium"}, "name": {"Not good"}, "do": {"save"}}, wrong...)).want(422)
	for _, field := range []string{"name", "title", "capacity", "set-rate_per_second", "set-base_url", "set-channel", "set-burst"} {
		page.has(`id="` + field + `-wrong"`)
	}
	page.has("Nothing was saved. Correct the marked fields", `value="nowhere&lt;b&gt;"`, `value="kept"`, `value="Not good"`, "Enter it again: secrets are not sent back.", "<details open>").hasNot(`role="alert"`, providerCanary, "<b>")
	// Several that concern more than one setting come with those of one.
	b.post("/channels/_new", url.Values{"type": {"nuntium"}, "name": {"sms"}, "set-account": {"a"}}).want(422).has(`id="set-base_url-wrong"`, `id="set-channel-wrong"`, `id="set-password-wrong"`).hasNot(`id="name-wrong"`)
	b.post("/channels/_new", url.Values{"type": {"nuntium"}, "name": {"taken"}}).want(422).has(`id="name-wrong"`, "already", `id="set-account-wrong"`)
	good := with(url.Values{"type": {"nuntium"}, "name": {"taken"}}, "set-base_url", "http://127.0.0.1:1", "set-account", "other", "set-application", "b", "set-channel", "c", "set-password", "p")
	b.post("/channels/_new", good).want(409).has(`id="name-wrong"`).hasNot(`id="set-account-wrong"`)
	if ch := r.channelView("taken"); ch.Settings["account"] != "a" {
		t.Errorf("it was replaced: %+v", ch)
	}
	b.post("/channels/_new", url.Values{"type": {"nothing"}}).want(404)
	b.get("/").want(200).hasNot(`id="channel-sms"`, `id="channel-_new"`)
}

// Scenario 310, of a template.
func TestChannelForm_TemplatesAskForWhatTheyNeed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin")
	b := r.login("channels:admin")
	page := b.get("/channels/_new?type=http&template=africastalking").want(200).has(`id="value-username"`, `id="value-from"`, `id="secret-api_key"`, "api.africastalking.com", "Take the username")
	b.post("/channels/_new", with(whole(page), "name", "sms", "do", "save")).want(422).has(`id="value-username-wrong"`, `id="value-from-wrong"`, `id="secret-api_key-wrong"`).hasNot(`id="set-template-wrong"`, `role="alert"`)
	b.post("/channels/_new", with(whole(page), "name", "sms", "value-username", "u", "value-from", "x", "secret-api_key", providerCanary, "set-template", `{"send":{}}`)).want(422).has(`id="set-template-wrong"`, "Send/", "Answer:").hasNot(providerCanary)
	b.post("/channels/_new", with(whole(page), "name", "sms", "value-username", "ministry", "value-from", "HEALTH", "secret-api_key", providerCanary)).want(303)
	ch := r.channelView("sms")
	values, _ := ch.Settings["values"].(map[string]any)
	if ch.Type != "http" || values["username"] != "ministry" || len(ch.Secrets) != 1 {
		t.Errorf("%+v", ch)
	}
	edit := b.get("/channels/sms/edit").want(200).has("ministry", "api.africastalking.com", `id="set-secrets-set"`).hasNot(providerCanary)
	b.post("/channels/sms/edit", with(whole(edit), "set-values", `{"username":"other","from":"x"}`)).want(303)
	if values, _ := r.channelView("sms").Settings["values"].(string); !strings.Contains(values, "other") {
		t.Errorf("%+v", r.channelView("sms").Settings)
	}
}

// Scenario 311.
func TestChannelForm_TestsTheConnectionAndStoresNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin")
	g := newGateway(t)
	b := r.login("channels:admin")
	good := func() url.Values {
		return with(url.Values{"type": {"nuntium"}, "do": {"test"}}, "set-base_url", g.URL, "set-account", "demo", "set-application", "weir", "set-channel", "sms", "set-password", providerCanary)
	}
	b.post("/channels/_new", good()).want(200).has(`id="asked"`, "would take contacts", "Nothing was saved", `value="demo"`).hasNot(providerCanary, "aria-invalid")
	b.post("/channels/_new", with(good(), "set-password", "wrong")).want(200).has("would not work: credentials refused")
	before := g.asked.Load()
	b.post("/channels/_new", with(good(), "set-account", "", "set-password", "")).want(422).has("The provider was not asked.", `id="set-account-wrong"`, `id="set-password-wrong"`)
	if g.asked.Load() != before {
		t.Error("the provider was asked")
	}
	b.get("/").want(200).has("No channels yet")

	// A stored secret is used, and goes nowhere else.
	r.api("PUT", "/v1/channels/sms", `{"type":"nuntium","paused":true,"settings":{"base_url":"`+g.URL+`","account":"a","application":"b","channel":"c","password":"`+providerCanary+`"}}`, nil)
	edit := func() url.Values { return with(whole(b.get("/channels/sms/edit").want(200)), "do", "test") }
	b.post("/channels/sms/edit", with(edit(), "set-channel", "other")).want(200).has("would take contacts", `value="other"`)
	if ch := r.channelView("sms"); ch.Settings["channel"] != "c" {
		t.Errorf("it was stored: %+v", ch)
	}
	elsewhere := newGateway(t)
	b.post("/channels/sms/edit", with(edit(), "set-base_url", elsewhere.URL)).want(422).has(`id="set-password-wrong"`, "Must be given again")
	if elsewhere.asked.Load() > 0 {
		t.Error("another provider was asked")
	}
}

func TestChannelForm_EditKeepsWhatIsNotChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin")
	b := r.login("channels:admin")
	r.api("PUT", "/v1/channels/sms", `{"type":"nuntium","name":"Texts","capacity":7,"paused":true,"settings":{"base_url":"http://127.0.0.1:1","account":"a","application":"b","channel":"c","password":"`+providerCanary+`","at_least_once":true,"burst":3,"rate_per_second":9}}`, nil)
	page := b.get("/channels/sms/edit").want(200).has(`id="set-password-set"`, `value="Texts"`, `id="to-setup"`, "checked").hasNot(providerCanary, `id="name"`, `id="set-token-set"`)
	b.post("/channels/sms/edit", whole(page)).want(303)
	before := r.channelView("sms")
	if len(before.Secrets) != 1 || before.Settings["burst"] != 3.0 || before.Capacity != 7 {
		t.Errorf("%+v", before)
	}
	form := whole(b.get("/channels/sms/edit"))
	form.Del("set-at_least_once")
	b.post("/channels/sms/edit", with(form, "capacity", "8", "title", "", "set-burst", "")).want(303)
	ch := r.channelView("sms")
	_, burst := ch.Settings["burst"]
	if _, atLeastOnce := ch.Settings["at_least_once"]; burst || atLeastOnce || ch.Capacity != 8 || ch.Name != "" || ch.Settings["account"] != "a" || len(ch.Secrets) != 1 || !ch.Paused {
		t.Errorf("%+v", ch)
	}
	// Another secret in the place of the first.
	form = whole(b.get("/channels/sms/edit"))
	b.post("/channels/sms/edit", with(form, "set-token", "new")).want(422).has(`id="set-token-wrong"`)
	b.post("/channels/sms/edit", with(form, "set-token", "new", "set-password-remove", "true")).want(303)
	if ch := r.channelView("sms"); len(ch.Secrets) != 1 || ch.Secrets[0] != "token" {
		t.Errorf("%+v", ch)
	}
	b.get("/channels/none/edit").want(404)
	b.post("/channels/sms/edit", url.Values{"title": {"x"}}).want(400).has("incomplete")
}

// Scenario 312.
func TestChannelForm_ReportsWhatSomebodyElseChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin")
	r.channel("sms")
	b := r.login("channels:admin")
	form := with(whole(b.get("/channels/sms/edit").want(200)), "title", "Mine <b>", "set-from", "+15550001111")
	r.api("PATCH", "/v1/channels/sms", `{"name":"Theirs","capacity":33,"paused":false}`, nil)
	page := b.post("/channels/sms/edit", form).want(409).has("changed meanwhile", `id="changed"`, "<dt>Capacity</dt><dd>33</dd>", "<dt>Title</dt><dd>Theirs</dd>", "<dt>Paused</dt><dd>no</dd>", `value="Mine &lt;b&gt;"`, `value="+15550001111"`, `value="33"`).hasNot("<b>")
	if ch := r.channelView("sms"); ch.Name != "Theirs" {
		t.Errorf("%+v", ch)
	}
	b.post("/channels/sms/edit", whole(page)).want(303)
	if ch := r.channelView("sms"); ch.Name != "Mine <b>" || ch.Capacity != 33 || ch.Settings["from"] != "+15550001111" || ch.Paused {
		t.Errorf("%+v", ch)
	}
}

// Scenario 313: what a channel is tried with is the form of every contact, filled in.
func TestChannelContact_IsSentOnceAndLeadsToItsPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin contacts:read contacts:write pii:read", "contacts:read")
	r.channel("sms")
	b := r.login("channels:admin contacts:read contacts:write pii:read")
	b.get("/channels/sms").want(200).has(`id="try" href="/channels/sms/contact"`)
	b.get("/channels/none/contact").want(404)
	at := b.get("/channels/sms/contact").want(303).header.Get("Location")
	if at != "/contacts/_new?channel=sms&messages=This+is+a+test.&priority=high" {
		t.Errorf("it leads to %q", at)
	}
	if french := b.get("/channels/sms/contact", "Accept-Language", "fr").want(303).header.Get("Location"); !strings.Contains(french, "Ceci+est+un+test.") {
		t.Errorf("in French it leads to %q", french)
	}
	form := whole(b.get(at).want(200).has(`<option value="sms" selected>sms</option>`, `<option value="high" selected>`, ">This is a test.</textarea>"))
	b.post("/contacts/_new", with(form, "channel", "sms", "to", "nobody", "messages", "")).want(422).has(`id="to-wrong"`, `id="messages-wrong"`, `value="nobody"`, "Nothing was sent.")
	form = with(form, "to", numberCanary, "messages", "Hello <you>")
	to := b.post("/contacts/_new", form).want(303).header.Get("Location")
	if again := b.post("/contacts/_new", form).want(303).header.Get("Location"); again != to || !strings.HasPrefix(to, "/contacts/") || strings.Contains(to, numberCanary[1:]) {
		t.Errorf("it leads to %q, then to %q", to, again)
	}
	page := b.get(to).want(200).has("has this key already", `id="contact"`)
	if strings.Contains(page.title(), numberCanary[1:]) {
		t.Errorf("the title is %q", page.title())
	}
	var c api.ContactView
	r.api("GET", "/v1"+to, "", &c)
	if c.To != numberCanary || c.Priority != "high" || len(c.Messages) != 1 || c.Messages[0] != "Hello <you>" {
		t.Errorf("%+v", c)
	}
	r.api("PUT", "/v1/channels/calls", `{"type":"verboice","paused":true,"settings":{"base_url":"http://127.0.0.1:1","channel":"c","token":"p"}}`, nil)
	at = b.get("/channels/calls/contact").want(303).header.Get("Location")
	form = whole(b.get(at).want(200).has("<details open><summary>Call", "&lt;Response&gt;&lt;Say&gt;This is a test.&lt;/Say&gt;&lt;/Response&gt;</textarea>"))
	b.post("/contacts/_new", with(form, "channel", "calls", "to", numberCanary, "twiml", "")).want(422).has(`id="call-wrong"`)
	b.post("/contacts/_new", with(form, "to", numberCanary, "twiml", "<Response")).want(422).has(`id="twiml-wrong"`, "&lt;Response")
	b.post("/contacts/_new", with(form, "to", numberCanary, "twiml", "", "call_flow_id", "7")).want(303)
}

// A link fills in the form of a contact, but no address and no key.
func TestContactNew_LinksFillInNoAddress(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read contacts:write")
	r.channel("sms")
	b := r.login("contacts:read contacts:write")
	b.get("/contacts/_new?channel=sms&priority=reply&messages=one&messages=two&twiml=three&to=four&key=five&labels=a%3Dsix&once=seven").want(200).
		has(`<option value="sms" selected>sms</option>`, `<option value="reply" selected>`, ">one</textarea>", ">two</textarea>", ">three</textarea>").hasNot(`"four"`, `"five"`, "a=six", `"seven"`)
}

func TestChannelForm_NeedsItsScopes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin", "contacts:read", "contacts:read contacts:write")
	r.channel("sms")
	reader := r.login("contacts:read")
	reader.get("/").want(200).hasNot("/channels/_new")
	reader.get("/channels/sms").want(200).hasNot(`id="edit"`, `id="setup"`, `id="try"`)
	for _, path := range []string{"/channels/_new", "/channels/sms/edit"} {
		reader.get(path).want(403)
		reader.post(path, url.Values{"type": {"nuntium"}, "do": {"test"}}).want(403)
	}
	for _, path := range []string{"/channels/sms/setup", "/channels/sms/contact"} {
		reader.get(path).want(403)
	}
	r.login("contacts:read contacts:write").get("/channels/sms").want(200).has(`id="try"`).hasNot(`id="edit"`)
	b := r.login("channels:admin")
	b.get("/channels/sms").want(200).hasNot(`id="try"`)
}

// A browser that sends the form from a script gets its main part, with the message.
func TestChannelForm_FragmentsHoldTheMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin")
	b := r.login("channels:admin")
	b.post("/channels/_new", url.Values{"type": {"nuntium"}}, "Weir-Fragment", "1").want(422).has("Nothing was saved.", "data-stay").hasNot("<html")
}

// Scenario 380.
func TestChannel_ACallbackAtAMistypedAddressIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin", "contacts:read")
	r.api("PUT", "/v1/channels/sms", `{"type":"kannel","settings":{"sendsms_url":"http://127.0.0.1:1/","username":"u","password":"p"}}`, nil)
	b := r.login("channels:admin")
	b.get("/channels/sms").want(200).hasNot(`id="stray-callback"`)
	var at api.CallbackView
	r.api("GET", "/v1/channels/sms/callback", "", &at)
	if len(at.ByHand) != 1 || at.ByHand[0] != (api.CallbackAddress{URL: at.URL + "/incoming", For: "Messages from people"}) {
		t.Errorf("%+v", at)
	}
	b.get("/channels/sms/setup").want(200).has("Messages from people", html.EscapeString(at.ByHand[0].URL)+"</textarea>")
	to, err := url.Parse(at.URL)
	if err != nil {
		t.Fatal(err)
	}
	secret := path.Base(to.Path)
	w := httptest.NewRecorder()
	if r.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", to.Path+"/incomming/"+secret+"?from=1&text=STOP", nil)); w.Code != 404 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	b.get("/channels/sms").want(200).has(`id="stray-callback"`, "ends in /incomming/…,").hasNot(secret)
	for language, words := range map[string]string{"es": "Llegó una notificación", "fr": "Une notification est arrivée", "pt": "Uma notificação chegou"} {
		b.get("/channels/sms", "Accept-Language", language).want(200).has(words)
	}
	r.api("PATCH", "/v1/channels/sms", `{"name":"Texts"}`, nil)
	b.get("/channels/sms").want(200).hasNot(`id="stray-callback"`)
}
