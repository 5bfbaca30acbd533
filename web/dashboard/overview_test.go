package dashboard_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestOverview_ChannelsThatNeedAttentionComeFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read")
	r.channel("b-paused")
	for _, name := range []string{"a-empty", "c-empty"} {
		r.api("PUT", "/v1/channels/"+name, `{"type":"nuntium","paused":true,"settings":{"base_url":"http://127.0.0.1:1","account":"a","application":"b","channel":"c","password":"p"}}`, nil)
	}
	p := r.login("contacts:read").get("/").want(200)
	var order []string
	for _, found := range regexp.MustCompile(`id="channel-([^"]*)"`).FindAllStringSubmatch(p.body, -1) {
		order = append(order, found[1])
	}
	if got := strings.Join(order, " "); got != "b-paused a-empty c-empty" {
		t.Errorf("order %s", got)
	}
	p.has("<p class=\"why\">Paused · 1 queued</p>", "<dt>Need attention</dt><dd>3</dd>", "<dt>Queued</dt><dd>1</dd>", "0 / 7")
}

func TestOverview_ShowsSurveysAndTheRouter(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read", "router pii:read", "router", "surveys:admin")
	r.channel("a")
	r.api("PUT", "/v1/surveys/spring", `{"title":"Spring <b>","schedule":{"time_zone":"UTC","weekdays":["mon","tue","wed","thu","fri","sat","sun"],"windows":[{"from":"00:00","to":"23:59"}]},"modes":{"sms":{"channel":"a"}},"arms":[{"modes":["sms"]}],
		"questionnaires":{"main":{"sms":[{"messages":["Hello"]}]}},"cutoff":10}`, nil)
	r.api("POST", "/v1/surveys/spring/respondents", `{"respondents":[{"phone":"+254700000001"},{"phone":"+254700000002"}]}`, nil)
	r.login("surveys:admin").get("/").want(200).hasNot("Active surveys")
	r.api("POST", "/v1/surveys/spring:launch", "", nil)

	reader := r.login("contacts:read").get("/").want(200)
	reader.has("Active surveys", `href="/surveys/spring"`, "Spring &lt;b&gt;", "<dt>counted</dt><dd>0 / 10</dd>", "<dt>respondents</dt><dd>2</dd>", "estimated end").hasNot("Router")
	r.login("router").get("/").want(200).hasNot("Active surveys", `id="router-head"`)
}

func TestOverview_ShowsTheRouterToItsScopesOnceItIsUsed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read", "router pii:read", "router")
	b := r.login("router pii:read")
	b.get("/").want(200).hasNot(`id="router-head"`) // the router is empty
	const version = "?api-version=2024-01-18-preview"
	r.api("PATCH", "/routing/distributionPolicies/d"+version, `{"mode":{"kind":"longestIdle"}}`, nil)
	r.api("PATCH", "/routing/queues/q"+version, `{"distributionPolicyId":"d"}`, nil)
	r.api("PATCH", "/routing/workers/w"+version, `{"capacity":1,"queues":["q"],"channels":[{"channelId":"voice","capacityCostPerJob":1}],"availableForOffers":false}`, nil)
	r.api("PATCH", "/routing/jobs/j"+version, `{"channelId":"voice","queueId":"q","priority":1}`, nil)
	b.get("/").want(200).has(`href="/router"`, "<dt>Jobs waiting</dt><dd>1</dd>", "<dt>Inactive</dt><dd>1</dd>", "<dt>Open offers</dt><dd>0</dd>", "cannot read channels")
	for _, scopes := range []string{"contacts:read", "router"} {
		r.login(scopes).get("/").want(200).hasNot(`id="router-head"`)
	}
}

// The first page has charts of all channels together, where there are channels and room.
func TestOverview_HasChartsOfAllChannels(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read", "router")
	b := r.login("contacts:read")
	b.get("/").want(200).hasNot("Last 6 hours, all channels")
	r.channel("a")
	b.get("/").want(200).has("Last 6 hours, all channels", "<figcaption>Contacts", "<figcaption>Finished, by outcome", "<caption>Queued at the end of each period</caption>")
	b.get("/?wall=1").want(200).hasNot("Last 6 hours, all channels")
	r.login("router").get("/").want(200).hasNot("Last 6 hours, all channels")
}

func TestOverview_WallStreamsItsOwnView(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read")
	r.channel("a")
	r.login("contacts:read").get("/?wall=1").want(200).has(`data-wall="1"`, `data-stream="/live/?wall=1"`)
}

// A wall has room for some channels; those in trouble come first.
func TestOverview_WallViewOmitsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	for i := range 14 {
		r.channel(fmt.Sprintf("c%02d", i))
	}
	b := r.login("admin")
	if n := strings.Count(b.get("/").want(200).body, "<article"); n != 14 {
		t.Errorf("%d cards, want 14", n)
	}
	page := b.get("/?wall=1").want(200).has("2 more", "2 of them need attention")
	// No contact waits on this channel, so channels with waiting contacts go first,
	// whatever their names.
	r.api("PUT", "/v1/channels/a", `{"type":"nuntium","paused":true,"settings":{"base_url":"http://127.0.0.1:1","account":"a","application":"b","channel":"c","password":"p"}}`, nil)
	b.get("/").want(200).has(`href="/channels/a"`)
	b.get("/?wall=1").want(200).has("3 more").hasNot(`href="/channels/a"`)
	if n := strings.Count(page.body, "<article"); n != 12 {
		t.Errorf("%d cards on the wall, want 12", n)
	}
}
