package nuntium_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/channels/nuntium/simulator"

	"github.com/google/go-cmp/cmp"
)

const (
	user     = "acme/weir"
	sendPath = "/acme/weir/send_ao.json"
)

func (w *world) states(token string) []string {
	w.t.Helper()
	_, _, body := w.request("GET", "/acme/weir/get_ao.json?token="+token, user, password, "")
	var list []map[string]any
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		w.t.Fatalf("%v: %s", err, body)
	}
	var out []string
	for _, m := range list {
		out = append(out, fmt.Sprintf("%v %v", m["channel"], m["state"]))
	}
	return out
}

// How Nuntium handles special messages.
func TestSimulator_RoutesAsNuntium(t *testing.T) {
	t.Parallel()
	const number = `"to":"sms://15550001"`
	tests := map[string]struct {
		body     string
		want     []string
		acks     int
		vanished int
	}{
		"plain":                     {`{` + number + `}`, []string{"main delivered"}, 1, 0},
		"an array":                  {`[{` + number + `},{"to":"sms://+15550002"}]`, []string{"main delivered", "main delivered"}, 2, 0},
		"explicit channel":          {`{` + number + `,"channel":"second"}`, []string{"second delivered"}, 1, 0},
		"explicit, unknown":         {`{` + number + `,"channel":"nowhere"}`, nil, 0, 1},
		"explicit, disabled":        {`{` + number + `,"channel":"off"}`, nil, 0, 1},
		"explicit, of another":      {`{` + number + `,"channel":"foreign"}`, nil, 0, 1},
		"explicit, other protocol":  {`{` + number + `,"channel":"chat"}`, nil, 0, 1},
		"suggested":                 {`{` + number + `,"suggested_channel":"second"}`, []string{"second delivered"}, 1, 0},
		"suggested, unknown":        {`{` + number + `,"suggested_channel":"nowhere"}`, []string{"main delivered"}, 1, 0},
		"no protocol":               {`{"to":"15550001"}`, []string{"<nil> failed"}, 0, 0},
		"no number":                 {`{"to":"sms://12a4567"}`, []string{"<nil> failed"}, 0, 0},
		"no channel for it":         {`{"to":"fax://15550001"}`, []string{"<nil> failed"}, 0, 0},
		"bad number on a channel":   {`{"to":"sms://1","channel":"main"}`, []string{"<nil> failed"}, 0, 0},
		"broadcast":                 {`{` + number + `,"strategy":"broadcast"}`, []string{"<nil> broadcasted", "main delivered", "second delivered"}, 2, 0},
		"nothing":                   {`[]`, nil, 0, 0},
		"same guid twice in a row":  {`[{` + number + `,"guid":"g"},{` + number + `,"guid":"g"}]`, []string{"main delivered"}, 1, 0},
		"unroutable among the good": {`[{` + number + `,"channel":"nowhere"},{` + number + `}]`, []string{"main delivered"}, 1, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := simulator.Options{
				Outcomes: []string{simulator.Delivered},
				Channels: []simulator.Channel{
					{Name: "main", Enabled: true, Priority: 1}, {Name: "second", Enabled: true, Priority: 2}, {Name: "off"},
					{Name: "foreign", Enabled: true, Application: "other"}, {Name: "chat", Protocol: "xmpp", Enabled: true},
				},
			}
			inWorld(t, o, basicSettings(), func(w *world) {
				w.request("PUT", "/api/applications/me?account=acme", user, password, `{"delivery_ack":{"method":"get","url":"http://weir.test/callbacks/sms/`+secret+`/ack"}}`)
				status, header, body := w.request("POST", sendPath, user, password, tt.body)
				token := header.Get("X-Nuntium-Token")
				if status != 200 || body != "" || token == "" || header.Get("X-Nuntium-Guid") != "" {
					t.Errorf("answered %d %v %q", status, header, body)
				}
				w.after(time.Second)
				if diff := cmp.Diff(tt.want, w.states(token)); diff != "" {
					t.Error(diff)
				}
				r := w.sim.Records()
				if r.Vanished != tt.vanished || r.Acks.Taken != tt.acks {
					t.Errorf("records %+v", r)
				}
				for _, line := range w.sim.Tally().Snapshot() {
					if line.Active != 0 {
						t.Errorf("slots are left: %+v", line)
					}
				}
			})
		})
	}
}

func TestSimulator_SendsOneWithItsAttributes(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
		form := url.Values{"to": {"sms://15550001"}, "body": {"hello"}, "guid": {"g"}, "token": {"t"}, "color": {"red"}}.Encode()
		for _, method := range []string{"GET", "POST"} {
			target, body := "/acme/weir/send_ao", form
			if method == "GET" {
				target, body = target+"?"+form, ""
			}
			status, header, _ := w.request(method, target, user, password, body)
			if status != 200 || header.Get("X-Nuntium-Guid") != "g" || header.Get("X-Nuntium-Token") != "t" || header.Get("X-Nuntium-Id") == "" {
				t.Errorf("%s answered %d %v", method, status, header)
			}
		}
		w.after(time.Second)
		if got := w.states("t"); len(got) != 1 || w.sim.Records().Repeated != 1 {
			t.Errorf("messages %v, records %+v", got, w.sim.Records())
		}
		_, _, body := w.request("GET", "/acme/weir/get_ao.json?token=t", user, password, "")
		if !strings.Contains(body, `"color":"red"`) || strings.Contains(body, `"token"`) || strings.Contains(body, "subject") {
			t.Errorf("listed as %s", body)
		}
	})
}

func TestSimulator_TakesXML(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
		body := `<messages><message id="g" from="sms://4000" to="sms://15550001" when="2026-01-01T00:00:00Z">` +
			`<text>hello</text><property name="token" value="t"/><property name="color" value="red"/></message></messages>`
		status, header, _ := w.request("POST", "/acme/weir/send_ao.xml", user, password, body)
		if status != 200 || header.Get("X-Nuntium-Token") != "t" {
			t.Errorf("answered %d %v", status, header)
		}
		w.after(time.Second)
		_, _, got := w.request("GET", "/acme/weir/get_ao.json?token=t", user, password, "")
		want := `[{"body":"hello","channel":"sms","channel_kind":"qst_server","color":"red","from":"sms://4000","guid":"g","state":"confirmed","to":"sms://15550001"}]`
		if strings.TrimSpace(got) != want {
			t.Errorf("listed as %s", got)
		}
		if status, _, _ := w.request("POST", "/acme/weir/send_ao.xml", user, password, "<messages>"); status != 500 {
			t.Errorf("half a document was answered %d", status)
		}
	})
}

func TestSimulator_ListsFiftyToAPage(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
		w.request("POST", sendPath, user, password, "["+strings.Repeat(`{"to":"sms://15550001","token":"t"},`, 119)+`{"to":"sms://15550001"}]`)
		w.after(time.Second)
		if got := w.states("t"); len(got) != 120 {
			t.Errorf("%d messages in one list", len(got))
		}
		for page, want := range []int{50, 50, 20, 0} {
			target := fmt.Sprintf("/api/ao_messages.json?account=acme&token=t&page=%d", page+1)
			_, header, body := w.request("GET", target, "bearer", bearer, "")
			if got := strings.Count(body, `"guid"`); got != want {
				t.Errorf("page %d has %d messages, want %d", page+1, got, want)
			}
			link := ""
			if page < 2 {
				link = fmt.Sprintf(`<http://nuntium.test/api/ao_messages.json?account=acme&page=%d&token=t>; rel="next"`, page+2)
			}
			if got := header.Get("Link"); got != link {
				t.Errorf("page %d: Link %s, want %s", page+1, got, link)
			}
		}
	})
}

func TestSimulator_ChecksCredentials(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		method, path, user, password string
		want                         int
	}{
		"application":               {"GET", "/acme/weir/get_ao.json?token=x", "acme/weir", password, 200},
		"application@account":       {"GET", "/acme/weir/get_ao.json?token=x", "weir@acme", password, 200},
		"another application":       {"GET", "/acme/other/get_ao.json?token=x", "acme/weir", password, 401},
		"another account":           {"GET", "/x/weir/get_ao.json?token=x", "acme/weir", password, 401},
		"account on a path":         {"GET", "/acme/weir/get_ao.json?token=x", "acme", "acc0unt", 401},
		"token on a path":           {"GET", "/acme/weir/get_ao.json?token=x", "bearer", bearer, 401},
		"other":                     {"GET", "/acme/weir/get_ao.json?token=x", "", "", 401},
		"account at the API":        {"GET", "/api/channels.json", "acme", "acc0unt", 200},
		"application at the API":    {"GET", "/api/channels.json", "acme/weir", password, 200},
		"token at the API":          {"GET", "/api/channels.json?account=acme", "bearer", bearer, 200},
		"token without account":     {"GET", "/api/channels.json", "bearer", bearer, 401},
		"wrong token":               {"GET", "/api/channels.json?account=acme", "bearer", "x", 401},
		"wrong account password":    {"GET", "/api/channels.json", "acme", "x", 401},
		"API query without token":   {"GET", "/api/ao_messages.json?account=acme", "bearer", bearer, 400},
		"me":                        {"GET", "/api/applications/me?account=acme", "bearer", bearer, 200},
		"not me":                    {"GET", "/api/applications/weir?account=acme", "bearer", bearer, 404},
		"account has no me":         {"GET", "/api/applications/me", "acme", "acc0unt", 401},
		"channel":                   {"GET", "/api/channels/sms.json?account=acme", "bearer", bearer, 200},
		"unknown channel":           {"GET", "/api/channels/x.json?account=acme", "bearer", bearer, 404},
		"account may change":        {"PUT", "/api/channels/shared.json", "acme", "acc0unt", 200},
		"token may change":          {"PUT", "/api/channels/shared.json?account=acme&application=-", "bearer", bearer, 200},
		"token as application":      {"PUT", "/api/channels/shared.json?account=acme", "bearer", bearer, 403},
		"application may not":       {"PUT", "/api/channels/shared.json?application=-", "acme/weir", password, 403},
		"application may change":    {"PUT", "/api/channels/sms.json", "acme/weir", password, 200},
		"malformed JSON":            {"POST", sendPath, "acme/weir", password, 500},
		"names of the accounts":     {"GET", "/api/accounts.json", "acme", "acc0unt", 200},
		"unknown path":              {"GET", "/acme/weir/send_fax", "acme/weir", password, 404},
		"account cannot send":       {"POST", "/api/ao_messages.json?account=acme", "acme", "acc0unt", 401},
		"application sends at API":  {"POST", "/api/ao_messages.json?account=acme", "acme/weir", password, 500},
		"account sees all messages": {"GET", "/api/ao_messages.json?token=x", "acme", "acc0unt", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := simulator.Options{Channels: []simulator.Channel{{Name: "sms", Application: "weir"}, {Name: "shared"}}}
			inWorld(t, o, basicSettings(), func(w *world) {
				body := ""
				switch tt.method {
				case "PUT":
					body = `{"enabled":true,"priority":3}`
				case "POST":
					body = `{"to":`
				}
				status, _, text := w.request(tt.method, tt.path, tt.user, tt.password, body)
				if status != tt.want {
					t.Errorf("answered %d %s, want %d", status, text, tt.want)
				}
			})
		})
	}
}

// Nuntium omits blank and false values of a channel.
func TestSimulator_ShowsChannels(t *testing.T) {
	t.Parallel()
	o := simulator.Options{Channels: []simulator.Channel{
		{Name: "a", Connected: true, Enabled: true}, {Name: "b", Kind: "smpp", Connected: true, Application: "weir"},
	}}
	inWorld(t, o, basicSettings(), func(w *world) {
		_, _, got := w.request("GET", "/api/channels.json", "acme", "acc0unt", "")
		want := `[{"name":"a","kind":"qst_server","protocol":"sms","enabled":true,"direction":"bidirectional","account":"acme"},` +
			`{"name":"b","kind":"smpp","protocol":"sms","direction":"bidirectional","application":"weir","connected":true,"account":"acme"}]`
		if strings.TrimSpace(got) != want {
			t.Errorf("got %s", got)
		}
		status, _, problem := w.request("PUT", "/api/channels/a.json", "acme", "acc0unt", `{"application":"other"}`)
		if status != 400 || !strings.Contains(problem, `"summary"`) || !strings.Contains(problem, `"properties"`) {
			t.Errorf("answered %d %s", status, problem)
		}
	})
}
