package nuntium_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/channels/nuntium/simulator"
	"weir/channels/simulation"

	"github.com/google/go-cmp/cmp"
)

// Acks are repeated after 1, 1, 5, 5, 5, 15, 30, 30 … minutes until accepted.
func TestSimulator_RepeatsAcks(t *testing.T) {
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
				w.answer(tt.answers)
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

// The ack of the first state is refused and comes after that of the second.
func TestSimulator_AcksOvertake(t *testing.T) {
	t.Parallel()
	o := simulator.Options{Outcomes: []string{simulator.Confirmed}, DeliverTime: time.Second, ConfirmTime: time.Second}
	inWorld(t, o, basicSettings(), func(w *world) {
		var states []string
		w.answer(func(n int) int {
			states = append(states, w.raw[n-1].PostForm.Get("state"))
			return map[bool]int{true: 500, false: 200}[n == 1]
		})
		w.prepare()
		w.driver.Send(w.t.Context(), attempt(1, "hello"))
		w.after(time.Hour)
		if diff := cmp.Diff([]string{"delivered", "confirmed", "delivered"}, states); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSimulator_AckEchoesAttributes(t *testing.T) {
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

// The answer to a person's message can send: JSON is routed, any other text goes
// to the person.
func TestSimulator_SendsWhatIncomingIsAnswered(t *testing.T) {
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
				stop := w.net.Serve("app.test", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
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
func TestSimulator_RepeatsIncoming(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
		w.answer(func(n int) int { return map[bool]int{true: 503, false: 0}[n < 3] })
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

// The simulator detects senders that send too much or twice.
func TestSimulator_ShowsExcessAndDoubles(t *testing.T) {
	t.Parallel()
	o := simulator.Options{Outcomes: []string{simulator.Confirmed}, DeliverTime: time.Second, ConfirmTime: time.Second}
	inWorld(t, o, basicSettings(), func(w *world) {
		w.prepare()
		w.driver.Send(w.t.Context(), attempt(1, "a", "b"))
		w.driver.Send(w.t.Context(), attempt(2, "a")) // one more than a capacity of 2 allows
		w.driver.Send(w.t.Context(), attempt(2, "a")) // again under its guid: harmless
		got := w.sim.Tally().Line("sms")
		if got.Active != 3 || got.PeakActive != 3 || got.Sent != 3 || got.Doubled != 0 || w.sim.Records().Repeated != 1 {
			t.Errorf("line %+v, records %+v", got, w.sim.Records())
		}
		w.answer(func(int) int {
			if active := w.sim.Tally().Line("sms").Active; active != 0 {
				t.Errorf("an ack came while %d slots were taken", active)
			}
			return 0
		})
		w.after(1500 * time.Millisecond)
		if got := w.sim.Tally().Line("sms"); got.Active != 0 || got.Finished != 3 || got.PeakActive != 3 {
			t.Errorf("line %+v", got)
		}
		before := w.sim.Records().Alike
		w.driver.Send(w.t.Context(), attempt(3, "a")) // the same text to the same person under another name
		if got := w.sim.Records().Alike - before; got != 1 {
			t.Errorf("%d messages alike", got)
		}
	})
}

func TestSimulator_ShowsAndForgetsItsRecords(t *testing.T) {
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
		w.driver.Send(w.t.Context(), attempt(1, "hello")) // no record of it is left
		w.after(time.Minute)
		if got := w.sim.Records(); got.Stored != 1 || got.Acks.Taken != 2 {
			t.Errorf("after the reset: %+v", got)
		}
	})
}

func TestSimulator_RefusesWrongRules(t *testing.T) {
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

// With PurgeAfter messages are gone after that time, and what was counted stays.
func TestSimulator_PurgesMessages(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{PurgeAfter: time.Hour}, basicSettings(), func(w *world) {
		w.prepare()
		w.driver.Send(w.t.Context(), attempt(1, "hello"))
		if _, _, err := w.sim.Receive(simulator.Incoming{From: "+15550009", To: "4000", Body: "yes"}); err != nil {
			t.Fatal(err)
		}
		w.after(59 * time.Minute)
		if r := w.sim.Records(); r.Stored != 1 || len(r.Incoming) != 0 {
			t.Errorf("before: %+v", r)
		}
		w.after(2 * time.Minute)
		if r := w.sim.Records(); r.Stored != 0 || r.Acks.Taken == 0 || w.sim.Tally().Snapshot()[0].Sent != 1 {
			t.Errorf("after: %+v, %+v", r, w.sim.Tally().Snapshot())
		}
	})
}
