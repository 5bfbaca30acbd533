package kannel_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/channels"
	"weir/channels/kannel"
	"weir/channels/kannel/simulator"

	"github.com/google/go-cmp/cmp"
)

// request makes a raw request to the simulator.
func (w *world) request(method, target, body string, header ...string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://kannel.test"+target, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// GET takes its parameters from the query.
func TestSimulator_TakesGET(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
		q := url.Values{
			"username": {"weir"}, "password": {password}, "to": {"+1555"}, "text": {"hello é"}, "dlr-mask": {"31"}, "dlr-url": {base + "/dlr/7-1-1/0?state=%d&x=%F0%%d"},
		}
		status, body := w.request("GET", simulator.SendPath+"?"+q.Encode(), "")
		if status != 202 || body != "0: Accepted for delivery" {
			t.Fatalf("answered %d %s", status, body)
		}
		w.after(time.Second)
		if got := w.sim.Records().Messages[0]; got.Text != "hello é" || got.From != "100" {
			t.Errorf("message %+v", got)
		}
		// Percent signs are escapes, and only their doubles stay.
		if diff := cmp.Diff([]string{"/dlr/7-1-1/0?state=8&x=0%d", "/dlr/7-1-1/0?state=1&x=0%d"}, w.heard); diff != "" {
			t.Error(diff)
		}
		q.Del("to")
		if status, body = w.request("GET", simulator.SendPath+"?"+q.Encode(), ""); status != 400 || body != "Missing receiver number, rejected" {
			t.Errorf("answered %d %s", status, body)
		}
	})
}

// A path of ours with a percent sign survives Kannel's escapes.
func TestSimulator_KeepsPercentSignsOfCallbackURLs(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
		d, err := kannel.Type().New(channels.Config{Settings: basicSettings(), CallbackURL: "http://weir.test/callbacks/sms/" + secret + "/a%20d%C3%A9", HTTP: w.client})
		if err != nil {
			t.Fatal(err)
		}
		d.Send(w.t.Context(), attempt(1, "hello"))
		w.after(time.Second)
		if len(w.heard) != 2 || !strings.HasPrefix(w.heard[0], "/a%20d%C3%A9/dlr/7-1-2/0?state=8&") {
			t.Errorf("heard %v", w.heard)
		}
	})
}

// A type of text without a charset is read as ISO-8859-1, any other as it is.
func TestSimulator_ReadsBodiesByTheirCharset(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"text/plain": "Ã©", "text/plain; charset=utf-8": "é", "application/octet-stream": "é", "": "é", "application/json": "",
	} {
		inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
			status, _ := w.request("POST", simulator.SendPath, "é", "Content-Type", kind,
				"X-Kannel-Username", "weir", "X-Kannel-Password", password, "X-Kannel-To", "1555", "X-Kannel-Coding", "0")
			got := ""
			if m := w.sim.Records().Messages; len(m) > 0 {
				got = m[0].Text
			}
			if got != want || (status == 202) != (want != "") {
				t.Errorf("%s: %d %q", kind, status, got)
			}
		})
	}
}

// Reports are repeated only if Kannel is configured to, and until 200 or 202: 204
// counts as a failure.
func TestSimulator_RepeatsReports(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		retries int
		answers []int
		calls   int
		taken   int
	}{
		"once":          {0, []int{503}, 1, 0},
		"200":           {3, []int{200}, 1, 1},
		"202":           {3, []int{202}, 1, 1},
		"204":           {3, []int{204, 204, 204, 204}, 4, 0},
		"later":         {3, []int{503, 404, 200}, 3, 1},
		"400 is no end": {1, []int{400, 200}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := simulator.Options{Outcomes: []string{simulator.Sent}, Retries: tt.retries, RetryDelay: time.Minute}
			inWorld(t, o, basicSettings(), func(w *world) {
				w.status = func(n int) int { return tt.answers[n-1] }
				w.send(attempt(1, "hello"))
				w.after(time.Hour)
				if r := w.sim.Records().Reports; len(w.heard) != tt.calls || r.Taken != tt.taken || r.Lost != 1-tt.taken {
					t.Errorf("%d calls, %+v", len(w.heard), r)
				}
			})
		})
	}
}

// Messages wait for a link that is down and leave when it is back.
func TestSimulator_QueuesForALinkThatIsDown(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{Links: []simulator.Link{{ID: "A", State: simulator.Reconnecting}}}, basicSettings(), func(w *world) {
		w.send(attempt(1, "hello"))
		w.after(time.Hour)
		if n := len(w.reports()); n != 0 || w.sim.Tally().Line("A").Active != 1 {
			t.Fatalf("%d reports", n)
		}
		if status, body := w.request("POST", "/_simulator/links", "id=A&state=online", "Content-Type", "application/x-www-form-urlencoded"); status != 204 {
			t.Fatal(status, body)
		}
		w.after(time.Second)
		if n := len(w.reports()); n != 2 || w.sim.Tally().Line("A").Active != 0 {
			t.Errorf("%d reports", n)
		}
		for _, form := range []string{"id=B&state=online", "id=A&state=gone"} {
			if status, _ := w.request("POST", "/_simulator/links", form, "Content-Type", "application/x-www-form-urlencoded"); status != 400 {
				t.Errorf("%s was taken", form)
			}
		}
	})
}

// The simulator detects a client that sends twice, and forgets on reset.
func TestSimulator_ShowsDoublesAndForgetsOnReset(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{SendTime: time.Second}, basicSettings(), func(w *world) {
		w.send(attempt(1, "a", "b"))
		w.send(attempt(2, "a"))
		if got := w.sim.Tally().Line("SMSC"); got.PeakActive != 3 || got.Doubled != 1 || got.Sent != 2 {
			t.Errorf("line %+v", got)
		}
		if status, _ := w.request("POST", "/_simulator/reset", ""); status != 204 {
			t.Error(status)
		}
		w.after(time.Minute)
		_, body := w.request("GET", "/_simulator/kannel", "")
		if len(w.heard) != 0 || !strings.HasPrefix(body, `{"messages":[],`) {
			t.Errorf("heard %v, records %s", w.heard, body)
		}
		if status, _ := w.request("POST", "/_simulator/incoming", `{"from":"1","text":"yes"}`); status != 202 {
			t.Error(status)
		}
		if status, _ := w.request("POST", "/_simulator/incoming", `{"form":"1"}`); status != 400 {
			t.Error(status)
		}
	})
}

func TestSimulator_RefusesWrongRules(t *testing.T) {
	t.Parallel()
	for _, o := range []simulator.Options{
		{Outcomes: []string{"lost"}}, {Outcomes: []string{"failed=3"}}, {Outcomes: []string{"failed:2"}},
		{Faults: []string{"explode"}}, {Links: []simulator.Link{{ID: "A", State: "up"}}},
	} {
		if _, err := simulator.New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// A get-url as docs/providers.md has it, filled as Kannel fills it, brings each part of a message:
// numbers in international form, and every text.
func TestIncoming_RecipeOfTheDocumentsIsUnderstood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, wantFrom, wantTo string }{
		{"+254722123456", "+254722000000", "+254722123456", "+254722000000"},
		{"00254722123456", "00254722000000", "+254722123456", "+254722000000"},
		{"254722123456", "4000", "254722123456", "4000"},
	} {
		for _, text := range []string{"STOP", "100% & more; a=b + c", "%q?", "çık", "ja\nja"} {
			inWorld(t, simulator.Options{GlobalSender: c.to}, basicSettings(), func(w *world) {
				if err := w.sim.Receive(simulator.Incoming{From: c.from, Text: text, ID: "id-1"}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				got := w.readings[len(w.readings)-1].Incoming
				if len(got) != 1 || got[0].From != c.wantFrom || got[0].To != c.wantTo || got[0].Body != text || got[0].GUID != "id-1" {
					t.Errorf("%+v %q: %+v", c, text, got)
				}
			})
		}
	}
}
