package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

const northScopes = "contacts:read@north- contacts:write@north- channels:admin@north- surveys:admin@north- surveys:admin@sms pii:read"

// twoProjects is a Weir with a channel and a survey of each of two projects, and a channel for both.
func twoProjects(t *testing.T, more ...string) *rig {
	t.Helper()
	r := newRig(t, append([]string{northScopes}, more...)...)
	for _, name := range []string{"north-texts", "south-texts", "sms"} {
		r.channel(name)
	}
	for _, name := range []string{"north", "south"} {
		r.api("PUT", "/v1/surveys/"+name+"-poll", strings.ReplaceAll(`{"schedule":{"time_zone":"UTC","weekdays":["mon"],"windows":[{"from":"09:00","to":"18:00"}]},"modes":{"sms":{"channel":"NAME"}},"arms":[{"modes":["sms"]}],"questionnaires":{"main":{"sms":[{"messages":["Hello"]}]}}}`, "NAME", name+"-texts"), nil)
		r.api("POST", "/v1/channels/"+name+"-texts/contacts", `{"contacts":[{"key":"`+name+`-1","to":"+15550001","messages":["hi"]}]}`, nil)
	}
	return r
}

// Scenario 355: a team sees its own channels and surveys, with the buttons for what it may do, and nothing of others.
func TestProjects_PagesShowOnlyWhatTheLimitsReach(t *testing.T) {
	t.Parallel()
	r := twoProjects(t)
	b := r.login(northScopes)
	for path, own := range map[string]string{"/": "north-texts", "/contacts": "north-texts", "/surveys": "north-poll", "/surveys/_calendar": "", "/spending": "north-texts", "/dead-letters": "", "/channels/north-texts": "north-texts", "/surveys/north-poll": "north-poll", "/contacts/_new": "north-texts"} {
		b.get(path).want(200).has(own).hasNot("south")
	}
	b.get("/").has(`id="resume-north-texts"`, `id="to-spending"`).hasNot(`id="to-limits"`, `href="/audit"`, `href="/webhooks"`)
	b.get("/channels/north-texts").has(`id="edit"`, `id="delete"`, `id="try"`)
	b.get("/surveys/north-poll").has(`id="edit"`)
	for _, path := range []string{"/channels/south-texts", "/channels/south-texts/edit", "/channels/south-texts/pause", "/channels/sms", "/surveys/south-poll", "/surveys/south-poll/respondents", "/surveys/south-poll/results.csv", "/prices/south-texts/edit", "/live/channels/south-texts"} {
		b.get(path).want(403).has("begin with north-")
	}
	for _, path := range []string{"/limits", "/limits/_new", "/audit"} {
		b.get(path).want(403)
	}
	b.post("/channels/south-texts/pause", nil).want(403)
	b.post("/search", url.Values{"q": {"texts"}}).want(303)
	b.post("/search", url.Values{"q": {"south"}}).want(200).has("Nothing is found")
}

// A form that has no channel to choose from says why.
func TestProjects_FormsWithoutAChannelSayWhy(t *testing.T) {
	t.Parallel()
	const scopes = "contacts:read contacts:write@west- surveys:admin@west-"
	r := twoProjects(t, scopes)
	for _, path := range []string{"/contacts/_new", "/surveys/_new"} {
		r.login(scopes).get(path).want(200).has(`id="no-channels"`, "no channel whose name begins with west-").hasNot("south-texts")
		r.login(northScopes).get(path).want(200).hasNot(`id="no-channels"`)
	}
}

// A token that reads everything and changes only its own sees buttons only there.
func TestProjects_ButtonsAreThereForWhatTheTokenMayChange(t *testing.T) {
	t.Parallel()
	const scopes = "contacts:read channels:admin@north- surveys:admin@north- contacts:write@north-"
	r := twoProjects(t, scopes)
	b := r.login(scopes)
	b.get("/").want(200).has("south-texts", `id="resume-north-texts"`).hasNot(`id="resume-south-texts"`)
	b.get("/channels/south-texts").want(200).hasNot(`id="edit"`, `id="delete"`, `id="try"`, `id="resume"`)
	b.get("/surveys/south-poll").want(200).hasNot(`id="edit"`, `id="launch"`)
	b.get("/surveys/north-poll").want(200).has(`id="edit"`, `id="launch"`)
	b.get("/surveys/south-poll/definition").want(200).hasNot(`id="edit"`)
	b.get("/channels/south-texts/edit").want(403).has("begin with north-")
	b.get("/limits").want(200).hasNot(`id="new"`)
	b.get("/contacts/_new").want(200).has("north-texts").hasNot("south-texts")
	list := b.get("/contacts?channel=south-texts").want(200)
	id := regexp.MustCompile(`href="(/contacts/[0-9][^"]+)"`).FindStringSubmatch(list.body)
	if id == nil {
		t.Fatal(list.body)
	}
	b.get(id[1]).want(200).hasNot(`id="cancel"`)
	b.post(id[1]+"/cancel", nil).want(404)
}

func TestProjects_FormsSayWhatNamesMustBeginWith(t *testing.T) {
	t.Parallel()
	r := twoProjects(t)
	b := r.login(northScopes)
	b.get("/channels/_new?type=nuntium").want(200).has("It begins with <code>north-</code>")
	for _, name := range []string{"south-more", "Not good"} {
		b.post("/channels/_new", url.Values{"type": {"nuntium"}, "name": {name}, "set-account": {"mine"}}).want(422).has(`id="name-wrong"`, `id="set-base_url-wrong"`, `value="mine"`, `value="`+name+`"`)
	}
	b.post("/channels/_new", url.Values{"type": {"nuntium"}, "name": {"south-more"}}).has("It must begin with north-: your scopes are limited to such names.")
	page := b.get("/surveys/_new").want(200).has("It begins with <code>north- or sms</code>", `<option value="sms">`, `<option value="north-texts">`).hasNot("south-texts")
	form := with(whole(page), "name", "south-more")
	b.post("/surveys/_new", form).want(422).has(`id="name-wrong"`, "It must begin with north- or sms", `value="south-more"`)
	b.post("/surveys/_new/json", url.Values{"name": {"south-more"}, "definition": {"{}"}}).want(422).has(`id="name-wrong"`, "north- or sms")
	b.post("/surveys/north-poll/clone", url.Values{"name": {"south-more"}}).want(422).has("north- or sms")
	b.post("/surveys/north-poll/clone", url.Values{"name": {"north-more"}}).want(303)
	b.post("/contacts/_new", url.Values{"channel": {"south-texts"}, "to": {"+15550001"}, "messages": {"x"}}).want(422).has(`id="channel-wrong"`, "begin with north-")
	r.visitorGone("south-more")
}

func TestProjects_LimitedTokensAreMadeOnThePage(t *testing.T) {
	t.Parallel()
	const scopes = "tokens:admin contacts:read surveys:admin contacts:write router"
	r := newRig(t, scopes)
	b := r.login(scopes)
	b.post("/tokens", url.Values{"name": {"north"}, "scopes": {"contacts:read", "router"}, "limit": {"North"}, "more": {"contacts:write@ router@x"}}).want(http.StatusUnprocessableEntity).
		has(`id="limit-wrong"`, `value="North"`, `id="more-wrong"`, "“contacts:write@” must have the beginning of names behind @, such as", "for the whole installation", `value="contacts:write@ router@x"`).hasNot(`id="scopes-wrong"`, `id="name-wrong"`)
	b.post("/tokens", url.Values{"name": {"north"}, "scopes": {"router"}, "limit": {"north-"}}).want(http.StatusUnprocessableEntity).has(`id="limit-wrong"`, "None of the chosen scopes can be limited").hasNot(`id="name-wrong"`)
	b.post("/tokens", url.Values{"name": {"north"}, "scopes": {"contacts:read", "router"}, "limit": {"north-"}, "more": {"surveys:admin@sms, contacts:write@sms"}}).want(200).has("It is shown once", "contacts:read@north-, router, surveys:admin@sms, contacts:write@sms")
}
