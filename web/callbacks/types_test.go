package callbacks_test

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/channels"
	"weir/channels/all"
	"weir/channels/httpgateway"
	"weir/internal/race"
	"weir/router/routertest"
	"weir/web"
	"weir/web/webtest"
)

// arrival is a callback that a provider makes at a declared path.
type arrival struct {
	path  string // with an attempt
	query url.Values
	form  url.Values
	json  string
}

func (a arrival) body() (body, contentType string) {
	if a.form != nil {
		return a.form.Encode(), "application/x-www-form-urlencoded"
	}
	return a.json, "application/json"
}

// typeSample is a channel of a type, and a callback of each of its paths that arrives with these
// settings.
type typeSample struct {
	typ      string
	settings weir.Settings
	arrivals map[string]arrival
}

func template(name string) weir.Settings {
	return weir.Settings{"template": string(httpgateway.Template(name)), "values": `{"from": "HEALTH", "username": "u", "api_key": "k"}`, "secrets": `{"api_key": "k", "api_secret": "k", "password": "p", "token": "t", "webhook": "w"}`}
}

func typeSamples() []typeSample {
	const sid = "SM00000000000000000000000000000001"
	account := weir.Settings{"account_sid": "AC" + sid[2:], "api_key": "SK" + sid[2:], "api_secret": "x", "unsigned_callbacks": true, "from": "+15550100100"}
	status := url.Values{"MessageSid": {sid}, "MessageStatus": {"delivered"}}
	return []typeSample{
		{"twilio", account, map[string]arrival{
			"incoming":                 {form: url.Values{"MessageSid": {sid}, "From": {"+15550001"}, "Body": {"STOP"}, "OptOutType": {"STOP"}}},
			"message/{attempt}":        {path: "message/ATTEMPT", form: status},
			"message/{attempt}/{part}": {path: "message/ATTEMPT/0", form: status},
		}},
		{"twilio_voice", account, map[string]arrival{"call/{attempt}": {path: "call/ATTEMPT", form: url.Values{"CallSid": {"CA" + sid[2:]}, "CallStatus": {"busy"}}}}},
		{"nuntium", weir.Settings{"base_url": "https://p.example", "account": "a", "application": "b", "password": "c", "channel": "d"}, map[string]arrival{
			"ack":      {form: url.Values{"guid": {"REF.0"}, "state": {"delivered"}}},
			"incoming": {form: url.Values{"guid": {"g"}, "from": {"sms://15550001"}, "body": {"STOP"}}},
		}},
		{"kannel", weir.Settings{"sendsms_url": "https://p.example", "username": "a", "password": "b"}, map[string]arrival{
			"dlr/{attempt}/{part}": {path: "dlr/ATTEMPT/0", query: url.Values{"state": {"1"}, "receipt": {""}}},
			"incoming":             {query: url.Values{"id": {"g"}, "from": {"+15550001"}, "text": {"STOP"}}},
		}},
		{"verboice", weir.Settings{"base_url": "https://p.example", "token": "a", "channel": "b"}, map[string]arrival{
			"status/{attempt}": {path: "status/ATTEMPT", query: url.Values{"CallStatus": {"completed"}, "CallSid": {"7"}}},
		}},
		{"http", template("kannel"), map[string]arrival{
			"report/{attempt}":        {path: "report/ATTEMPT", query: url.Values{"state": {"1"}}},
			"report/{attempt}/{part}": {path: "report/ATTEMPT/0", query: url.Values{"state": {"1"}}},
			"incoming":                {query: url.Values{"id": {"g"}, "from": {"+15550001"}, "text": {"STOP"}}},
		}},
		{"http", template("infobip"), map[string]arrival{"report": {json: `{"results": [{"messageId": "ATTEMPT.0", "status": {"groupName": "DELIVERED"}}]}`}}},
		{"http", template("africastalking"), map[string]arrival{"consent": {form: url.Values{"senderId": {"HEALTH"}, "phoneNumber": {"+15550001"}}}}},
		{"workers", weir.Settings{"queue": "q"}, nil},
	}
}

// variants are other spellings of an address, as people type them.
func variants(declared, path string) map[string]string {
	capitals, literal := strings.Split(path, "/"), strings.Split(declared, "/")
	for i, s := range literal {
		if s[0] != '{' {
			capitals[i] = strings.ToUpper(s)
		}
	}
	out := map[string]string{
		"slash": path + "/", "slashes": path + "//", "doubled in front": "/" + path, "doubled within": strings.ReplaceAll(path, "/", "//"), "capitals": strings.Join(capitals, "/"),
		"one segment more": path + "/x", "prefixed": "weir/" + path, "no suffix": "", "another": "nonsense", "within": path + "x",
		"the secret again": "SECRET/" + path, "the whole address again": "https://user:hunter2@weir.test/callbacks/c0/SECRET/" + path, "a number": "tel/+15559876543/" + path,
	}
	if parent, _, deeper := strings.Cut(path, "/"); deeper {
		out["only the first"] = parent
	}
	for i, c := range strings.Split(declared, "{")[0] {
		if c != '/' {
			out["letter "+string(c)] = path[:i] + "q" + path[i+1:]
		}
	}
	return out
}

// A callback at a path that is typed with a slash or in capitals has the effect of the right one.
// At any other, nothing is lost in silence: the answer is 404, which names the right ones, and the
// log, a metric and the channel say so, without anything that could be a secret.
func TestCallbackPaths_OfEveryTypeAreServedOrRefusedAloud(t *testing.T) {
	race.Skip(t, "1,000 callbacks, one after the other")
	t.Parallel()
	types := all.Types(routertest.New(time.Now))
	for _, typ := range types {
		missing := map[string]bool{}
		for _, p := range typ.Callbacks {
			missing[p.Path] = true
		}
		for _, s := range typeSamples() {
			if s.typ == typ.Name {
				maps.DeleteFunc(missing, func(p string, _ bool) bool { _, ok := s.arrivals[p]; return ok })
			}
		}
		if len(missing) > 0 || !slices.ContainsFunc(typeSamples(), func(s typeSample) bool { return s.typ == typ.Name }) {
			t.Errorf("%s has no callback here for %v", typ.Name, missing)
		}
	}
	for _, s := range typeSamples() {
		typ := types[slices.IndexFunc(types, func(t channels.Type) bool { return t.Name == s.typ })]
		arrivals := s.arrivals
		if arrivals == nil {
			arrivals = map[string]arrival{"incoming": {}}
		}
		for declared, a := range arrivals {
			t.Run(s.typ+" "+declared, func(t *testing.T) {
				t.Parallel()
				if a.path == "" {
					a.path = declared
				}
				r := webtest.New(t, func(o *web.Options) { o.Directory = channels.NewDirectory(types, "http://weir.test", nil) })
				want := s.effect(r, &typ, a, a.path)
				if applied := want.results["applied"] > 0; applied != (s.arrivals != nil) {
					t.Fatalf("as declared it has the effect %+v", want)
				}
				for name, path := range variants(declared, a.path) {
					got := s.effect(r, &typ, a, path)
					same := cmp.Equal(want, got, cmp.AllowUnexported(effect{}))
					lenient := slices.Contains([]string{"slash", "slashes", "doubled in front", "doubled within", "capitals"}, name)
					if _, another := typ.CallbackPath(path); another && !lenient {
						continue // the path of other callbacks
					}
					if lenient && !same || !lenient && !got.refused {
						t.Errorf("%s (%s): %+v, as declared %+v", name, path, got, want)
					}
				}
			})
		}
	}
}

// effect is all that a callback has brought about.
type effect struct {
	status   int
	results  map[string]float64
	reports  []weir.Report // without the attempts
	incoming []weir.Incoming
	consents int
	refused  bool // 404, and everybody is told
}

// effect makes a callback to a new channel.
func (s typeSample) effect(r *webtest.Rig, typ *channels.Type, a arrival, path string) (got effect) {
	r.T.Helper()
	before, log, reports, consents := r.Results(s.typ), len(r.Logs.String()), len(r.Reports), len(r.Said())
	name := fmt.Sprintf("c%d", len(r.All()))
	ch := r.Channel(name, s.typ, func(c *weir.Channel) { c.Settings = s.settings })
	ref := r.Contact(ch, weir.Progress{State: weir.Active, Attempt: 1}).Ref
	fill := strings.NewReplacer("ATTEMPT", ref.String()+"-1", "REF", ref.String(), "SECRET", ch.Secret).Replace
	body, contentType := a.body()
	at := webtest.CallbackPath(ch, fill(path))
	if a.query != nil {
		at += "?" + a.query.Encode()
	}
	method := "POST"
	if body == "" {
		method = "GET"
	}
	g := r.Call(method, at, fill(body), contentType)
	got = effect{status: g.Status, results: r.Results(s.typ), reports: slices.Clone(r.Reports[reports:]), incoming: r.Messages(ch), consents: len(r.Said()) - consents}
	for result, n := range before {
		if got.results[result] -= n; got.results[result] == 0 {
			delete(got.results, result)
		}
	}
	for i := range got.reports {
		got.reports[i].Attempt, got.reports[i].ProviderRef = weir.AttemptRef{}, ""
	}
	for i := range got.incoming {
		got.incoming[i].ID = 0
	}
	logged, shown := r.Logs.String()[log:], webtest.Into[map[string]any](r.T, r.Do("GET", "/v1/channels/"+name, ""), 200)
	_, hint := shown["stray_callback"]
	got.refused = g.Status == 404 && cmp.Equal(got.results, map[string]float64{"unknown_path": 1}) && len(got.reports)+len(got.incoming)+got.consents == 0 &&
		strings.Contains(logged, `msg="callback rejected: unknown path" channel=`+name+" ") && hint && strings.Contains(g.Body, typ.CallbackPaths())
	for _, hidden := range []string{ch.Secret, "hunter2", "5559876543"} {
		if strings.Contains(logged, hidden) || strings.Contains(g.Body, hidden) || strings.Contains(fmt.Sprint(shown), hidden) {
			r.T.Errorf("%s: the log, the answer or the channel shows %s: %s %s %v", path, hidden, g.Body, logged, shown)
		}
	}
	return got
}

// Without the secret or a signature, a path is neither named nor logged.
func TestCallbackPaths_StrangersLearnNothing(t *testing.T) {
	t.Parallel()
	types := all.Types(nil)
	r := webtest.New(t, func(o *web.Options) { o.Directory = channels.NewDirectory(types, "http://weir.test", nil) })
	ch := r.Channel("a", "twilio", func(c *weir.Channel) {
		c.Settings = weir.Settings{"account_sid": "AC00000000000000000000000000000001", "auth_token": "x", "from": "+15550100100"}
	})
	for at, status := range map[string]int{webtest.CallbackPath(ch, "incomming"): 403, webtest.CallbackPath(ch, ""): 403, "/callbacks/a/wrong/incomming": 404} {
		if g := r.Call("POST", at, "", ""); g.Status != status || strings.Contains(g.Body, "incoming") {
			t.Errorf("%d %s, want %d", g.Status, g.Body, status)
		}
	}
	if strings.Contains(r.Logs.String(), "incomming") || len(r.Results("twilio")) != 1 {
		t.Error(r.Results("twilio"), r.Logs)
	}
}

// What a provider sends besides is answered with success, so that it is not repeated, and counted;
// a callback without what it should hold is refused.
func TestCallbacks_GenuineButIrrelevantOnesAreCounted(t *testing.T) {
	t.Parallel()
	r := webtest.New(t, func(o *web.Options) { o.Directory = channels.NewDirectory(all.Types(nil), "http://weir.test", nil) })
	ch := r.Channel("a", "http", func(c *weir.Channel) { c.Settings = template("telegram") })
	irrelevant := []string{
		`"edited_message": {"chat": {"id": 15550001, "type": "private"}, "text": "STOP"}`, `"callback_query": {"id": "1", "data": "x"}`, `"channel_post": {"chat": {"id": -1, "type": "channel"}, "text": "x"}`,
		`"my_chat_member": {"chat": {"id": -5, "type": "group"}, "new_chat_member": {"status": "kicked"}}`, `"of_the_future": {}`,
	}
	for _, update := range append(irrelevant, `"message": {"chat": {"type": "private"}, "text": "from nobody"}`) {
		req := httptest.NewRequestWithContext(t.Context(), "POST", webtest.CallbackPath(ch, "incoming"), strings.NewReader(`{"update_id": 1, `+update+`}`))
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", "w")
		status := 200
		if strings.HasPrefix(update, `"message"`) {
			status = 400
		}
		if g := r.Serve(req); g.Status != status {
			t.Errorf("%s: %d", update, g.Status)
		}
	}
	if d := cmp.Diff(map[string]float64{"ignored": float64(len(irrelevant)), "invalid": 1}, r.Results("http")); d != "" || len(r.Messages(ch)) > 0 {
		t.Error(d, r.Messages(ch))
	}
}
