package callbacks_test

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"weir"
	"weir/channels"
	"weir/channels/all"
	"weir/channels/httpgateway"
	"weir/people"
	"weir/web"
	"weir/web/webtest"
)

// providerNotice is what a provider reports by itself of a person; says is STOP or START.
type providerNotice struct {
	path, contentType string
	body              func(says string) string
	lifts             bool // it reports people who are back, too
}

const formType = "application/x-www-form-urlencoded"

// providerNotices are those of every type and template that has one, from the sender 15550001234.
func providerNotices() map[string]providerNotice {
	form := func(fields ...string) string {
		v := url.Values{}
		for i := 0; i < len(fields); i += 2 {
			v.Set(fields[i], fields[i+1])
		}
		return v.Encode()
	}
	return map[string]providerNotice{
		"twilio": {"incoming", formType, func(says string) string {
			return form("MessageSid", "SM0000000000000000000000000000000"+map[string]string{"STOP": "1", "START": "2"}[says], "From", "+15550001234", "Body", "a word of the account", "OptOutType", says)
		}, true},
		"africastalking": {"consent", formType, func(string) string { return form("senderId", "HEALTH", "phoneNumber", "+15550001234") }, false},
		"vonage": {"report", formType, func(string) string {
			return form("msisdn", "15550001234", "to", "HEALTH", "messageId", "m", "client-ref", "7-1z-2.0", "status", "failed", "err-code", "9")
		}, false},
		"telegram": {"incoming", "application/json", func(says string) string {
			status := map[string]string{"STOP": "kicked", "START": "member"}[says]
			return `{"update_id": ` + map[string]string{"STOP": "7", "START": "8"}[says] + `, "my_chat_member": {"chat": {"id": 15550001234, "type": "private"}, "new_chat_member": {"status": "` + status + `"}}}`
		}, true},
	}
}

// A provider that reports a refusal over a channel that was deleted is heard: the secret proves who
// calls. The refusal counts for all purposes, as a stop word does. That the person is back takes
// back nothing there.
func TestConsent_NoticesOfEveryProviderToADeletedChannelCount(t *testing.T) {
	t.Parallel()
	notices := providerNotices()
	for _, typ := range all.Types(nil) {
		for _, o := range typ.Templates {
			var has map[string]any
			if err := json.Unmarshal(httpgateway.Template(o.Name), &has); err != nil {
				t.Fatal(err)
			}
			if _, ok := notices[o.Name]; has["consent"] != nil != ok {
				t.Errorf("the template %s reports refusals: %v; in this table: %v", o.Name, has["consent"] != nil, ok)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(notices)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := notices[name]
			r := webtest.New(t, func(o *web.Options) { o.Directory = channels.NewDirectory(all.Types(nil), "http://weir.test", nil) })
			settings, typ := template(name), "http"
			if name == "twilio" {
				settings, typ = typeSamples()[0].settings, name
			}
			old := r.Channel("a", typ, func(c *weir.Channel) { c.Settings = settings })
			r.Do("DELETE", "/v1/channels/a", "")
			r.Channel("a", typ, func(c *weir.Channel) { c.Settings = settings })
			says := func(word string) {
				req := httptest.NewRequestWithContext(t.Context(), "POST", webtest.CallbackPath(old, n.path), strings.NewReader(n.body(word)))
				req.Header.Set("Content-Type", n.contentType)
				req.Header.Set("X-Telegram-Bot-Api-Secret-Token", "w")
				if g := r.Serve(req); g.Status != 200 {
					t.Errorf("%s: %d %s", word, g.Status, g.Body)
				}
			}
			steps := []string{"STOP", "STOP"} // providers repeat what they report
			if n.lifts {
				steps = append(steps, "START")
			}
			for _, word := range steps {
				says(word)
				list := r.Said()
				if len(list) != 1 || list[0].Status != people.Refused || list[0].Purpose != people.AllPurposes || list[0].Source != people.FromProvider || list[0].By != "a" || !strings.HasSuffix(list[0].Address, "15550001234") {
					t.Fatalf("after %s it is recorded that %+v", word, list)
				}
			}
			if r.Counter("weir_callbacks_total", "type", typ, "result", "deleted") == 0 {
				t.Error("not counted as those of a deleted channel")
			}
		})
	}
}
