package api_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir"
	"weir/api"
	"weir/channels"
	"weir/channels/all"
	"weir/web"
	"weir/web/webtest"
)

func TestChannelTypes_DescribeEverySetting(t *testing.T) {
	t.Parallel()
	r := webtest.New(t, func(o *web.Options) { o.Directory = channels.NewDirectory(all.Types(nil), "http://weir.test", nil) })
	list := webtest.Into[api.ChannelTypeList](t, r.Do("GET", "/v1/channel-types", ""), 200)
	found := map[string]api.ChannelTypeView{}
	for _, v := range list.ChannelTypes {
		found[v.Type] = v
		if v.Summary == "" || len(v.SetUp) == 0 || len(v.Settings) == 0 {
			t.Errorf("%s is not described: %+v", v.Type, v)
		}
	}
	password := found["nuntium"].Settings[3]
	if password.Key != "password" || !password.Secret || password.Required || password.Help == "" {
		t.Errorf("%+v", password)
	}
	if k := found["kannel"].Settings[5]; k.Default != "sent" || len(k.Values) != 2 {
		t.Errorf("%+v", k)
	}
	if found["verboice"].Content != "voice" || found["twilio"].Content != "text" || len(list.Common) != len(channels.CommonSettings()) {
		t.Errorf("%+v", list)
	}
	templates := found["http"].Templates
	if len(templates) != 5 || !strings.Contains(templates[4].Value, "rest.nexmo.com") || strings.Join(templates[4].Secrets, " ") != "api_secret" || strings.Join(templates[4].Values, " ") != "api_key from" {
		t.Errorf("%+v", templates)
	}
}

// Scenario 388: numbers of a template keep their digits; a whole number that programs could change is refused.
func TestChannels_NumbersOfSettingsKeepTheirDigits(t *testing.T) {
	t.Parallel()
	r := webtest.New(t, func(o *web.Options) { o.Directory = channels.NewDirectory(all.Types(nil), "http://weir.test", nil) })
	settings := func(ids string) string {
		return `{"type":"http","settings":{"burst":2e1,"rate_per_second":10,"template":{"answer":[{"fate":"completed","status":"2xx"}],"send":{"json":{"ids":` + ids + `,"to":"{to}"},"url":"https://gateway.example/send"}}}}`
	}
	const ids, more = `[9007199254740993,12345678901234567890,1.10,1e3,-0]`, `[18446744073709551617,0.30]`
	for _, step := range []struct{ method, body, want string }{
		{"PUT", settings(ids), ids}, {"PATCH", `{"name":"a title"}`, ids}, {"PATCH", settings(more), more},
	} {
		if a := r.Do(step.method, "/v1/channels/gateway", step.body); a.Status/100 != 2 || !strings.Contains(a.Body, `"ids":`+step.want) {
			t.Errorf("%s %s: %d %s", step.method, step.body, a.Status, a.Body)
		}
		if a := r.Do("GET", "/v1/channels/gateway", ""); !strings.Contains(a.Body, `"ids":`+step.want) {
			t.Errorf("after %s: %s", step.method, a.Body)
		}
	}
	for _, number := range []string{"9007199254740993", "12345678901234567890", "20.5", "1e400"} {
		if a := r.Do("PATCH", "/v1/channels/gateway", `{"settings":{"burst":`+number+`}}`); a.Status != http.StatusUnprocessableEntity {
			t.Errorf("burst %s: %d %s", number, a.Status, a.Body)
		}
		if a := r.Do("PATCH", "/v1/channels/gateway", `{"capacity":`+number+`}`); a.Status != http.StatusUnprocessableEntity {
			t.Errorf("capacity %s: %d %s", number, a.Status, a.Body)
		}
	}
}

func TestChannelTest_AsksTheProviderAndStoresNothing(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	writes := r.Writes()
	ask := func(body string) api.ChannelTestView {
		t.Helper()
		return webtest.Into[api.ChannelTestView](t, r.Do("POST", "/v1/channels:test", body), 200)
	}
	if v := ask(`{"type":"texts","settings":{"base_url":"http://p.test","token":"` + webtest.ProviderCanary + `"}}`); v.State != string(weir.Up) || !v.Checked || v.Reason != "" {
		t.Errorf("%+v", v)
	}
	if v := ask(`{"type":"texts","settings":{"base_url":"http://p.test","token":"wrong"}}`); v.State != string(weir.Erring) || v.Reason != "credentials refused" {
		t.Errorf("%+v", v)
	}
	if v := ask(`{"type":"texts","settings":{"base_url":"http://p.test","token":"` + webtest.ProviderCanary + `","channel":"unchecked"}}`); v.State != string(weir.Up) || v.Checked {
		t.Errorf("%+v", v)
	}
	for body, want := range map[string]string{
		`{}`:                 "/type required",
		`{"type":"nothing"}`: "/type enum",
		`{"type":"texts","capacity":0,"settings":{"base_url":"x","other":1}}`: "/capacity range, /settings/base_url type, /settings/token required, /settings/other unknown",
	} {
		g := r.Do("POST", "/v1/channels:test", body)
		var wrong []string
		for _, e := range g.Problem(t).Errors {
			wrong = append(wrong, e.Pointer+" "+e.Code)
		}
		if g.Status != 422 || strings.Join(wrong, ", ") != want {
			t.Errorf("%s: %d %v", body, g.Status, wrong)
		}
	}
	if r.Writes() != writes || r.Do("GET", "/v1/channels/test", "").Status != 404 {
		t.Error("something was stored")
	}
}

// The secrets of a channel that exists go where they go already, and nowhere else.
func TestChannelTest_StoredSecretsStayAtTheirPlace(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "texts")
	if v := webtest.Into[api.ChannelTestView](t, r.Do("POST", "/v1/channels:test", `{"channel":"a","settings":{"channel":"other"}}`), 200); v.State != string(weir.Up) {
		t.Errorf("%+v", v)
	}
	if g := r.Do("POST", "/v1/channels:test", `{"channel":"a","settings":{"base_url":"http://elsewhere.test"}}`); g.Status != 422 || g.Problem(t).Errors[0].Pointer != "/settings/token" {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	if g := r.Do("POST", "/v1/channels:test", `{"channel":"a","type":"voice"}`); g.Status != 409 {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	if g := r.Do("POST", "/v1/channels:test", `{"channel":"none"}`); g.Status != 404 {
		t.Errorf("%d %s", g.Status, g.Body)
	}
}

func TestChannelTest_IsBoundedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := webtest.New(t)
		began := time.Now()
		v := webtest.Into[api.ChannelTestView](t, r.Do("POST", "/v1/channels:test", `{"type":"texts","settings":{"base_url":"http://p.test/slow","token":"x"}}`), 200)
		if v.State != string(weir.Erring) || v.Reason != "timeout" || time.Since(began) != 10*time.Second {
			t.Errorf("%+v after %s", v, time.Since(began))
		}
	})
}

func TestChannel_IsOnlyCreatedIfThatIsDemanded(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	webtest.Into[api.ChannelView](t, r.Do("PUT", "/v1/channels/a?create=true", webtest.GoodTexts), 201)
	g := r.Do("PUT", "/v1/channels/a?create=true", webtest.GoodTexts)
	if g.Status != 409 || g.Problem(t).Errors[0].Pointer != "/channel" {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	webtest.Into[api.ChannelView](t, r.Do("PUT", "/v1/channels/a", webtest.GoodTexts), 200)
}

func TestChannel_ChangesAreMadeToTheVersionThatIsDemanded(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	if g := r.Do("PUT", "/v1/channels/a", webtest.GoodTexts, "If-Match", "*"); g.Status != http.StatusPreconditionFailed {
		t.Errorf("without a channel: %d", g.Status)
	}
	tag := r.Do("PUT", "/v1/channels/a", webtest.GoodTexts).Header.Get("ETag")
	if got := r.Do("GET", "/v1/channels/a", "").Header.Get("ETag"); tag == "" || got != tag {
		t.Errorf("%q, then %q", tag, got)
	}
	changed := r.Do("PATCH", "/v1/channels/a", `{"capacity":15}`, "If-Match", tag)
	if changed.Status != 200 || changed.Header.Get("ETag") == tag {
		t.Errorf("%d %q", changed.Status, changed.Header.Get("ETag"))
	}
	for _, method := range []string{"PATCH", "PUT"} {
		body := map[string]string{"PATCH": `{"capacity":16}`, "PUT": webtest.GoodTexts}[method]
		if g := r.Do(method, "/v1/channels/a", body, "If-Match", tag); g.Status != http.StatusPreconditionFailed || g.Problem(t).Code != weir.CodePrecondition {
			t.Errorf("%s: %d %s", method, g.Status, g.Body)
		}
	}
	if v := webtest.Into[api.ChannelView](t, r.Do("GET", "/v1/channels/a", ""), 200); v.Capacity != 15 {
		t.Errorf("%+v", v)
	}
	webtest.Into[api.ChannelView](t, r.Do("PATCH", "/v1/channels/a", `{"capacity":17}`, "If-Match", "*"), 200)
}
