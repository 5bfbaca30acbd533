package dashboard_test

import (
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"weir/api"
	"weir/config"
	"weir/web/dashboard"
)

func TestPage_HasItsSecurityHeaders(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	r.channel("a")
	b := r.login("admin")
	css := regexp.MustCompile(`/assets/weir\.[0-9a-f]+\.css`).FindString(b.get("/").want(200).body)
	for path, status := range map[string]int{"/": 200, "/login": 303, "/channels/a": 200, "/channels/none": 404, "/channels/a/pause": 200, css: 200, "/assets/none.js": 404} {
		h := b.get(path).want(status).header
		policy := h.Get("Content-Security-Policy")
		for _, word := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(policy, word) || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: policy %q", path, policy)
			}
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: headers %v", path, h)
		}
	}
}

// Pages contain no inline script or style: the content security policy would block
// it.
func TestPage_HasNoInlineCode(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	r.channel("a")
	b := r.login("admin")
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script(?:>|[^>]*[^r]>)|https?://`)
	for _, path := range []string{"/", "/?wall=1", "/channels/a", "/channels/a/pause", "/channels/a/capacity", "/channels/a/delete", "/channels/none"} {
		p := b.get(path)
		for _, found := range inline.FindAllString(strings.ReplaceAll(p.body, "http://127.0.0.1:1", ""), -1) {
			t.Errorf("%s has %q", path, found)
		}
		for _, asset := range regexp.MustCompile(`(?:src|href)="(/assets/[^"]*)"`).FindAllStringSubmatch(p.body, -1) {
			got := b.get(asset[1]).want(200)
			if !strings.Contains(got.header.Get("Cache-Control"), "immutable") {
				t.Errorf("%s may not be kept", asset[1])
			}
		}
	}
}

func TestPage_IsBelowThePrefix(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, []string{"WEIR_PATH_PREFIX=/ops/weir"}, "router")
	r.channel("a")
	b := r.visitor()
	if to := b.get("/ops/weir/").want(303).header.Get("Location"); to != "/ops/weir/login" {
		t.Errorf("one is sent to %q", to)
	}
	b.post("/ops/weir/login", url.Values{"token": {adminToken}}).want(303)
	if to := b.post("/ops/weir/channels/a/resume", nil).want(303).header.Get("Location"); to != "/ops/weir/channels/a" {
		t.Errorf("an action leads to %q", to)
	}
	b.get("/ops/weir/v1/whoami", "Authorization", "Bearer "+adminToken).want(200).has("configured-1")
	b.get("/livez").want(200)
}

func TestPage_UnknownPathsAndMethodsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	b := r.login("admin")
	b.get("/nothing").want(404)
	b.get("/v1/nothing").want(404).has(`"code":"not_found"`)
	b.send("DELETE", "/channels/a", nil).want(405)
}

// A prefix that begins with the path of a page could not be told apart from it.
func TestPage_NoPrefixIsAPath(t *testing.T) {
	t.Parallel()
	d, err := dashboard.New(dashboard.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for pattern := range d.Routes() {
		_, path, _ := strings.Cut(pattern, " ")
		first := strings.Split(path, "/")[1]
		if first == "{$}" {
			continue
		}
		if _, _, err := config.Load([]string{"WEIR_PATH_PREFIX=/" + first}); err == nil {
			t.Errorf("/%s is allowed as a prefix, and the path of %s", first, pattern)
		}
	}
}

// The last crumb is the page itself, and no link.
func TestPage_LastCrumbIsThePage(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	r.channel("a")
	b := r.login("admin")
	var list api.ContactList
	r.api("GET", "/v1/contacts", "", &list)
	contact := "/contacts/" + list.Contacts[0].ID
	for path, last := range map[string]string{"/channels/a": "a", contact: list.Contacts[0].ID, contact + "/cancel": "Cancel", "/channels/a/pause": "Pause", "/router": "Router"} {
		b.get(path).want(200).has(`<li><span aria-current="page">` + last + `</span></li>` + "\n</ol></nav>")
	}
}

func TestPage_ErrorsNameTheirRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	b := r.login("admin")
	p := b.get("/channels/none").want(404).has("there is no channel none", "Not found")
	if id := p.header.Get("X-Request-Id"); id == "" || !strings.Contains(p.body, id) {
		t.Error("the page does not say under which name the log has it")
	}
	b.get("/channels/none", "Weir-Fragment", "1").want(404).has("there is no channel none").hasNot("<html")
}

// Input from outside is rendered as text everywhere.
func TestPage_HostileNamesAreText(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	const hostile = `<img src=x onerror=alert(1)>"'</title><script>alert(1)</script>`
	var name strings.Builder
	for _, c := range hostile {
		if c == '"' || c == '\\' {
			name.WriteByte('\\')
		}
		name.WriteRune(c)
	}
	r.api("PUT", "/v1/channels/a", `{"type":"nuntium","name":"`+name.String()+`","paused":true,"settings":{"base_url":"http://127.0.0.1:1","account":"a","application":"b","channel":"c","password":"p"}}`, nil)
	r.api("POST", "/v1/channels/a/contacts", `{"contacts":[{"key":"`+name.String()+`","survey":"<script>x</script>","to":"123","messages":["`+name.String()+`"]}]}`, nil)
	b := r.login("admin")
	for _, path := range []string{"/", "/channels/a", "/channels/a/delete"} {
		b.get(path).want(200).hasNot("<img", "<script>")
	}
	b.get("/channels/a").has("&lt;img src=x onerror=alert(1)&gt;")
}

// The API masks numbers; the dashboard shows what it receives.
func TestPage_NumbersNeedTheirScope(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read channels:admin", "contacts:read pii:read")
	r.channel("a")
	r.login("contacts:read channels:admin").get("/channels/a").want(200).has("***77").hasNot(numberCanary, numberCanary[1:])
	p := r.login("contacts:read pii:read").get("/channels/a").want(200).has(numberCanary[1:])
	if strings.Contains(p.title(), "5559") {
		t.Errorf("title %q", p.title())
	}
	if strings.Contains(r.logs.String(), numberCanary[1:]) {
		t.Error("the log has a number")
	}
}

func TestPage_SecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	r.channel("a")
	r.login("admin").get("/channels/a").want(200).has("account").hasNot(providerCanary, adminToken)
}

// A button is shown only to users who may use it, and without the scope its action
// is refused too.
func TestPage_ActionsNeedTheirScope(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read", "channels:admin", "router")
	r.channel("a")
	steps := []string{"/channels/a/resume", "/channels/a/capacity", "/channels/a/delete"}
	reader, admin := r.login("contacts:read"), r.login("channels:admin")
	for _, path := range steps {
		reader.get("/channels/a").want(200).hasNot(path)
		admin.get("/channels/a").want(200).has(path)
		reader.get(path).want(403)
		reader.post(path, url.Values{"capacity": {"3"}}).want(403).has("channels:admin")
		admin.get(path).want(200)
	}
	r.login("router").get("/").want(200).has("cannot read channels")
	r.login("router").get("/channels/a").want(403)
	var ch api.ChannelView
	r.api("GET", "/v1/channels/a", "", &ch)
	if !ch.Paused || ch.Capacity != 7 {
		t.Errorf("the channel changed: %+v", ch)
	}
}

func TestPage_ActionsChangeAChannel(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin")
	r.channel("a")
	b := r.login("channels:admin")
	var ch api.ChannelView
	now := func() api.ChannelView {
		ch = api.ChannelView{}
		r.api("GET", "/v1/channels/a", "", &ch)
		return ch
	}

	b.get("/channels/a/capacity").want(200).has(`value="7"`, "0 of 7 slots", "1 contact")
	b.post("/channels/a/capacity", url.Values{"capacity": {"12"}}).want(303)
	b.get("/channels/a").want(200).has("The capacity of channel a is 12.")
	b.get("/channels/a").hasNot("The capacity of channel a is 12.") // the message is shown once
	if now().Capacity != 12 {
		t.Errorf("capacity %d", ch.Capacity)
	}
	b.post("/channels/a/capacity", url.Values{"capacity": {"0"}}).want(422).has("nothing was changed", `value="0"`, `role="alert"`)
	b.post("/channels/a/capacity", url.Values{"capacity": {"many"}}).want(422).has("must be a whole number")

	b.post("/channels/a/resume", nil).want(303)
	if now().Paused {
		t.Error("it is paused still")
	}
	b.post("/channels/a/pause", nil).want(303)
	if !now().Paused {
		t.Error("it is not paused")
	}

	b.get("/channels/a/delete").want(200).has("open contacts")
	b.post("/channels/a/delete", nil).want(409).has("has open contacts")
	b.post("/channels/a/delete", url.Values{"cancel": {"true"}}).want(303)
}

// The script requests only the question, without the page around it.
func TestPage_QuestionsAreFragmentsForTheScript(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin")
	r.channel("a")
	b := r.login("channels:admin")
	b.get("/channels/a/pause").want(200).has("<html", "<h1 id=\"question\"")
	b.get("/channels/a/pause", "Weir-Fragment", "1").want(200).has("<h1 id=\"question\"", "data-close").hasNot("<html")
	b.cookies["weir_session"] = "x"
	b.get("/channels/a/pause", "Weir-Fragment", "1").want(401) // the script loads its page again
}
