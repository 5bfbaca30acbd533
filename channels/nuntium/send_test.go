package nuntium_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/nuntium/simulator"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Both kinds of credentials send the same messages, in their order, with ids
// derived from the contact alone.
func TestSend_NamesMessagesByContact(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]weir.Settings{
		"password": basicSettings(weir.Settings{"from": "4000"}), "token": bearerSettings(weir.Settings{"from": "4000"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, simulator.Options{QueueTime: time.Hour}, settings, func(w *world) {
				got := w.driver.Send(w.t.Context(), attempt(71, "hello <1> & é", "hello 2"))
				if diff := cmp.Diff(channels.SendResult{Status: channels.Accepted, ProviderRef: "7-1z"}, got); diff != "" {
					t.Fatal(diff)
				}
				_, _, body := w.request("GET", "/acme/weir/get_ao.json?token=7-1z", "acme/weir", password, "")
				var list []map[string]any
				if err := json.Unmarshal([]byte(body), &list); err != nil {
					t.Fatal(err)
				}
				var want []map[string]any
				for i, text := range []string{"hello <1> & é", "hello 2"} {
					guid := fmt.Sprintf("7-1z.%d", i)
					want = append(want, map[string]any{
						"from": "sms://4000", "to": "sms://15550001234", "body": text, "guid": guid, "weir_guid": guid,
						"explicit_channel": "sms", "channel": "sms", "channel_kind": "qst_server", "state": "pending",
					})
				}
				if diff := cmp.Diff(want, list); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestSend_EachFaultHasItsResult(t *testing.T) {
	t.Parallel()
	unclear := func(reason string, answered bool) channels.SendResult {
		return channels.SendResult{Status: channels.Unclear, Reason: reason, ChannelFault: true, Answered: answered}
	}
	notSent := func(reason string) channels.SendResult {
		return channels.SendResult{Status: channels.NotSent, Reason: reason, ChannelFault: true}
	}
	later := func(reason string) channels.SendResult {
		s := notSent(reason)
		s.RetryAfter = time.Second
		return s
	}
	accepted := channels.SendResult{Status: channels.Accepted, ProviderRef: "7-1"}
	tests := map[string]struct {
		fault    string
		settings weir.Settings
		to       string
		want     channels.SendResult
		stored   int
	}{
		"fine":               {want: accepted, stored: 2},
		"500 before":         {fault: "status=500@send", want: unclear("provider error", true)},
		"500 after":          {fault: "after=500@send", want: unclear("provider error", true), stored: 2},
		"502 of a proxy":     {fault: "after=502@send", want: unclear("gateway error", false), stored: 2},
		"503":                {fault: "status=503@send", want: later("provider unavailable")},
		"429":                {fault: "status=429@send", want: later("rate limited")},
		"400":                {fault: "status=400@send", want: channels.SendResult{Status: channels.NotSent, Reason: "request refused"}},
		"413":                {fault: "status=413@send", want: channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: "request refused"}},
		"redirect":           {fault: "status=302@send", want: notSent("provider redirects")},
		"hang":               {fault: "hang@send", want: unclear("timeout", false)},
		"late":               {fault: "late=9s@send", want: accepted, stored: 2},
		"too late":           {fault: "late=11s@send", want: unclear("timeout", false), stored: 2},
		"cut":                {fault: "cut@send", want: unclear("connection cut", false), stored: 2},
		"reset":              {fault: "reset@send", want: unclear("connection cut", false)},
		"wrong password":     {settings: weir.Settings{"password": "wrong"}, want: notSent("credentials refused")},
		"no server":          {settings: weir.Settings{"base_url": "http://elsewhere.test"}, want: notSent("connection refused")},
		"not Nuntium":        {settings: weir.Settings{"base_url": "http://weir.test"}, want: notSent("not found at the provider")},
		"a page":             {settings: weir.Settings{"base_url": "http://page.test"}, want: unclear("answer not understood", true)},
		"empty page":         {settings: weir.Settings{"base_url": "http://blank.test"}, want: accepted},
		"another account":    {settings: weir.Settings{"account": "other"}, want: notSent("credentials refused")},
		"not a number":       {to: "hello", want: channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: "the address is not a phone number"}},
		"number with spaces": {to: "+1 (555) 000-1234", want: accepted, stored: 2},
		"crash half-way":     {fault: "crash", want: unclear("provider error", true), stored: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := simulator.Options{Faults: []string{tt.fault}}
			if tt.fault == "crash" {
				o.Faults, o.Outcomes = nil, []string{"crash:#2"}
			}
			inWorld(t, o, basicSettings(tt.settings), func(w *world) {
				ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
				defer cancel()
				defer w.net.Serve("page.test", page("<html>"))()
				defer w.net.Serve("blank.test", page("\n"))()
				a := attempt(1, "hello 1", "hello 2")
				if tt.to != "" {
					a.To = tt.to
				}
				got := w.driver.Send(ctx, a)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				keepsSecrets(t, got.Reason)
				if r := w.sim.Records(); r.Stored != tt.stored {
					t.Errorf("stored %d messages, want %d", r.Stored, tt.stored)
				}
			})
		})
	}
}

func page(text string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(text)) })
}

func TestSend_RefusesAContactWithoutMessages(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
		got := w.driver.Send(w.t.Context(), attempt(1))
		if got.Status != channels.Refused || got.Outcome != weir.Failed {
			t.Errorf("got %+v", got)
		}
	})
}

// However a dispatch fails, dispatching the contact again sends every message
// exactly once.
func TestSend_DispatchingAgainNeverDoubles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.IntRange(1, 4).Draw(rt, "parts")
		faults := rapid.SliceOfN(rapid.SampledFrom([]string{
			"status=500", "status=503", "after=500", "after=502", "cut", "reset", "hang=30s", "late=11s", "",
		}), 1, 4).Draw(rt, "faults")
		crash := rapid.IntRange(1, 6).Draw(rt, "crash")
		inWorld(t, simulator.Options{Outcomes: []string{fmt.Sprintf("crash:#%d", crash)}}, basicSettings(), func(w *world) {
			a := attempt(1, strings.Split("abcd", "")[:parts]...)
			send := func(fault string) channels.SendResult {
				if err := w.sim.Faults().Set(fault); err != nil {
					t.Fatal(err)
				}
				a.ID.Number++
				ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
				defer cancel()
				return w.driver.Send(ctx, a)
			}
			for _, f := range faults {
				send(f)
			}
			for range 3 { // one may meet the crash
				send("")
			}
			w.after(time.Second)
			r, line := w.sim.Records(), w.sim.Tally().Line("sms")
			if r.Stored != parts || r.Alike != 0 || line.Sent != parts || line.Doubled != 0 || line.Active != 0 {
				rt.Errorf("records %+v, line %+v, want %d messages once", r, line, parts)
			}
			answer := w.driver.Query(w.t.Context(), a)
			if answer.Status != channels.Finished || len(answer.Reports) != parts {
				rt.Errorf("asked: %+v", answer)
			}
		})
	})
}

// Many contacts at once, each dispatched twice, with acks and queries in between.
func TestSend_ManyContactsAtOnceDoubleNothing(t *testing.T) {
	t.Parallel()
	const contacts = 100
	o := simulator.Options{Outcomes: []string{"failed:0.2", "twice:0.3"}, DeliverTime: time.Millisecond, Faults: []string{"cut@send:0.2", "duplicate@ack:0.3"}}
	inWorld(t, o, basicSettings(), func(w *world) {
		w.prepare()
		var all sync.WaitGroup
		for i := range contacts {
			all.Go(func() {
				a := attempt(weir.ContactID(i+1), fmt.Sprint("hello ", i), "and again")
				a.To = fmt.Sprintf("+1555%06d", i)
				w.driver.Send(w.t.Context(), a)
				w.driver.Send(w.t.Context(), a)
				w.driver.Query(w.t.Context(), a)
			})
		}
		all.Wait()
		w.after(time.Minute)
		ended := map[string]bool{}
		for _, r := range w.reports() {
			ended[fmt.Sprint(r.Attempt, r.Part)] = true
		}
		line := w.sim.Tally().Line("sms")
		if len(ended) != 2*contacts || line.Sent != 2*contacts || line.Doubled != 0 || line.Active != 0 || w.sim.Records().Alike != 0 {
			t.Errorf("%d messages ended, line %+v", len(ended), line)
		}
	})
}

func TestCancel_SaysThatItCannot(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
		if got := w.driver.Cancel(w.t.Context(), attempt(1, "a")); got.Canceled || got.Failed {
			t.Errorf("got %+v", got)
		}
	})
}
