package nuntium_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/channels/nuntium/simulator"
	"weir/channels/simulation"

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

// What Nuntium does with messages that are special.
func TestSimulatorRoutes(t *testing.T) {
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

func TestSimulatorSendsOneWithItsNames(t *testing.T) {
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

func TestSimulatorCredentials(t *testing.T) {
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
		"nobody":                    {"GET", "/acme/weir/get_ao.json?token=x", "", "", 401},
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

// Nuntium leaves out of a channel what is blank or false.
func TestSimulatorShowsChannels(t *testing.T) {
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
		status, _, problem := w.request("PUT", "/api/channels/a.json", "acme", "acc0unt", `{"application":"nobody"}`)
		if status != 400 || !strings.Contains(problem, `"summary"`) || !strings.Contains(problem, `"properties"`) {
			t.Errorf("answered %d %s", status, problem)
		}
	})
}

// Acks are repeated after 1, 1, 5, 5, 5, 15, 30, 30 … minutes until taken.
func TestSimulatorRepeatsAcks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answers func(n int) int
		scale   float64
		want    []int // minutes
		taken   int
	}{
		"taken at once":    {func(int) int { return 200 }, 1, []int{0}, 1},
		"a redirect is ok": {func(int) int { return 302 }, 1, []int{0}, 1},
		"400 ends it":      {func(int) int { return 400 }, 1, []int{0}, 0},
		"400 ends it late": {func(n int) int { return []int{500, 401, 400}[n-1] }, 1, []int{0, 1, 2}, 0},
		"never taken":      {func(int) int { return 404 }, 1, []int{0, 1, 2, 7, 12, 17, 32, 62, 92}, 0},
		"taken in the end": {func(n int) int { return map[bool]int{true: 200, false: 503}[n == 4] }, 1, []int{0, 1, 2, 7}, 1},
		"in half the time": {func(int) int { return 500 }, 0.5, []int{0, 0, 1, 3, 6, 8, 16, 31, 46, 61, 76, 91}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := simulator.Options{Outcomes: []string{simulator.Delivered}, TimeScale: tt.scale}
			inWorld(t, o, basicSettings(), func(w *world) {
				w.answers = tt.answers
				w.prepare()
				w.driver.Send(w.t.Context(), attempt(1, "hello"))
				w.after(100 * time.Minute)
				var got []int
				for _, d := range w.instants() {
					got = append(got, int(d/time.Minute))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				if r := w.sim.Records().Acks; r.Taken != tt.taken || r.Sent != len(tt.want) {
					t.Errorf("counted %+v", r)
				}
			})
		})
	}
}

// The ack of the first message is refused and comes after that of the second.
func TestSimulatorAcksOvertake(t *testing.T) {
	t.Parallel()
	o := simulator.Options{Outcomes: []string{simulator.Confirmed}, DeliverTime: time.Second, ConfirmTime: time.Second}
	inWorld(t, o, basicSettings(), func(w *world) {
		var states []string
		w.answers = func(n int) int {
			states = append(states, w.raw[n-1].PostForm.Get("state"))
			return map[bool]int{true: 500, false: 200}[n == 1]
		}
		w.prepare()
		w.driver.Send(w.t.Context(), attempt(1, "hello"))
		w.after(time.Hour)
		if diff := cmp.Diff([]string{"delivered", "confirmed", "delivered"}, states); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSimulatorAckEchoesAttributes(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{Outcomes: []string{simulator.Failed}}, basicSettings(), func(w *world) {
		w.request("PUT", "/api/applications/me?account=acme", user, password,
			`{"delivery_ack":{"method":"get","url":"http://weir.test/callbacks/sms/`+secret+`/ack?mine=1","user":"u","password":"p"}}`)
		w.request("POST", sendPath, user, password,
			`{"to":"sms://15550001","guid":"g","token":"t","channel":"sms","respondent_id":7,"tags":["a","b"],"none":null}`)
		w.after(time.Second)
		want := url.Values{
			"mine": {"1"}, "guid": {"g"}, "channel": {"sms"}, "state": {"failed"},
			"explicit_channel": {"sms"}, "respondent_id": {"7"}, "tags[]": {"a", "b"},
		}
		if len(w.raw) != 1 || w.raw[0].Method != "GET" {
			t.Fatalf("called back by %v", w.raw)
		}
		if diff := cmp.Diff(want, w.raw[0].URL.Query()); diff != "" {
			t.Error(diff)
		}
		if name, word, _ := w.raw[0].BasicAuth(); name != "u" || word != "p" {
			t.Errorf("credentials %q %q", name, word)
		}
	})
}

// The answer to a person's message is a way to send: JSON is routed, any other
// text goes to the person.
func TestSimulatorSendsWhatIncomingIsAnswered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		contentType, body string
		want              simulator.IncomingRecord
	}{
		"empty":      {"text/plain", "", simulator.IncomingRecord{ContentType: "text/plain"}},
		"empty list": {"application/json", "[]", simulator.IncomingRecord{ContentType: "application/json"}},
		"the trap":   {"text/plain", "OK", simulator.IncomingRecord{ContentType: "text/plain", Replies: 1, Texted: "OK"}},
		"HTML too":   {"text/html", "<p>", simulator.IncomingRecord{ContentType: "text/html", Replies: 1, Texted: "<p>"}},
		"one":        {"application/json", `{"body":"next"}`, simulator.IncomingRecord{ContentType: "application/json", Replies: 1}},
		"two":        {"application/json; charset=utf-8", `[{"body":"a"},{"body":"b"}]`, simulator.IncomingRecord{ContentType: "application/json; charset=utf-8", Replies: 2}},
		"broken":     {"application/json", `{"body":`, simulator.IncomingRecord{ContentType: "application/json"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
				stop := w.net.serve("app.test:80", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
					rw.Header().Set("Content-Type", tt.contentType)
					_, _ = rw.Write([]byte(tt.body))
				}))
				defer stop()
				w.request("PUT", "/api/applications/me?account=acme", user, password, `{"interface":{"type":"http_get_callback","url":"http://app.test/in"}}`)
				status, _, _ := w.request("POST", "/_simulator/incoming", "", "", `{"from":"15550009","to":"4000","body":"yes","guid":"g1"}`)
				w.after(time.Second)
				tt.want.GUID = "g1"
				if diff := cmp.Diff([]simulator.IncomingRecord{tt.want}, w.sim.Records().Incoming); diff != "" || status != 202 {
					t.Error(status, diff)
				}
				if got := w.states("g1"); len(got) != tt.want.Replies {
					t.Errorf("messages %v under the incoming message's guid", got)
				}
				_, _, body := w.request("GET", "/acme/weir/get_ao.json?token=g1", user, password, "")
				if tt.want.Replies > 0 && (!strings.Contains(body, `"to":"sms://15550009"`) || !strings.Contains(body, `"reply_to":"g1"`)) {
					t.Errorf("replies %s", body)
				}
			})
		})
	}
}

// An incoming message is repeated like an ack, under the same guid, and one
// whose guid is known is dropped.
func TestSimulatorRepeatsIncoming(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
		w.answers = func(n int) int { return map[bool]int{true: 503, false: 0}[n < 3] }
		w.prepare()
		for range 2 {
			w.request("POST", "/_simulator/incoming", "", "", `{"from":"15550009","body":"yes","guid":"g1"}`)
		}
		w.after(time.Hour)
		r := w.sim.Records()
		if len(w.readings) != 1 || w.readings[0].Incoming[0].GUID != "g1" || r.IncomingRepeated != 1 || r.IncomingCalls.Retried != 2 {
			t.Errorf("readings %+v, records %+v", w.readings, r)
		}
		if status, _, _ := w.request("POST", "/_simulator/incoming", "", "", `{"form":"1"}`); status != 400 {
			t.Errorf("a wrong message was answered %d", status)
		}
	})
}

// The simulator convicts those who send too much or twice.
func TestSimulatorConvicts(t *testing.T) {
	t.Parallel()
	o := simulator.Options{Outcomes: []string{simulator.Confirmed}, DeliverTime: time.Second, ConfirmTime: time.Second}
	inWorld(t, o, basicSettings(), func(w *world) {
		w.prepare()
		w.driver.Send(w.t.Context(), attempt(1, "a", "b"))
		w.driver.Send(w.t.Context(), attempt(2, "a")) // one more than a capacity of 2 allows
		w.driver.Send(w.t.Context(), attempt(2, "a")) // again under its guid: harmless
		got := w.sim.Tally().Line("sms")
		if got.Active != 3 || got.MostActive != 3 || got.Sent != 3 || got.Doubled != 0 || w.sim.Records().Repeated != 1 {
			t.Errorf("line %+v, records %+v", got, w.sim.Records())
		}
		w.answers = func(int) int {
			if active := w.sim.Tally().Line("sms").Active; active != 0 {
				t.Errorf("an ack came while %d slots were taken", active)
			}
			return 0
		}
		w.after(1500 * time.Millisecond)
		if got := w.sim.Tally().Line("sms"); got.Active != 0 || got.Finished != 3 || got.MostActive != 3 {
			t.Errorf("line %+v", got)
		}
		before := w.sim.Records().Alike
		w.driver.Send(w.t.Context(), attempt(3, "a")) // the same text to the same person under another name
		if got := w.sim.Records().Alike - before; got != 1 {
			t.Errorf("%d messages alike", got)
		}
	})
}

func TestSimulatorControl(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{DeliverTime: time.Second}, basicSettings(), func(w *world) {
		w.prepare()
		w.driver.Send(w.t.Context(), attempt(1, "hello"))
		_, _, body := w.request("GET", "/_simulator/records", "", "", "")
		var records struct{ Lines []simulation.LineReport }
		if err := json.Unmarshal([]byte(body), &records); err != nil || len(records.Lines) != 1 || records.Lines[0].Line != "sms" {
			t.Errorf("records %s", body)
		}
		w.request("POST", "/_simulator/reset", "", "", "")
		w.after(time.Minute)
		_, _, body = w.request("GET", "/_simulator/nuntium", "", "", "")
		var got simulator.Records
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(simulator.Records{Incoming: []simulator.IncomingRecord{}}, got); diff != "" {
			t.Error(diff)
		}
		w.driver.Send(w.t.Context(), attempt(1, "hello")) // nobody remembers it
		w.after(time.Minute)
		if got := w.sim.Records(); got.Stored != 1 || got.Acks.Taken != 2 {
			t.Errorf("after the reset: %+v", got)
		}
	})
}

func TestSimulatorRefusesWrongRules(t *testing.T) {
	t.Parallel()
	for _, o := range []simulator.Options{
		{Outcomes: []string{"lost"}}, {Outcomes: []string{"failed=3"}}, {Outcomes: []string{"failed:2"}},
		{Faults: []string{"explode"}}, {Faults: []string{"status=9"}},
	} {
		if _, err := simulator.New(o); err == nil {
			t.Errorf("%v was taken", o)
		}
	}
	if _, err := simulator.New(simulator.Options{}); err != nil {
		t.Error(err)
	}
}
