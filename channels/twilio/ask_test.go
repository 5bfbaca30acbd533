package twilio_test

import (
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/twilio"
	"weir/channels/twilio/simulator"

	"github.com/google/go-cmp/cmp"
)

func TestQuery_FindsTheEndOfAMessage(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string]weir.Report{
		"delivered": {Outcome: weir.Completed}, "sent": {Outcome: weir.Completed}, "silent": {Outcome: weir.Completed},
		"undelivered=30005": {Outcome: weir.Failed, Reason: channels.NumberNotUsable}, "failed=21610": {Outcome: weir.Failed, Reason: channels.OptedOut},
	} {
		t.Run(outcome, func(t *testing.T) {
			t.Parallel()
			inWorld(t, twilio.Type(), simulator.Options{Outcomes: []string{outcome}, QueueTime: time.Minute}, textSettings(), func(w *world) {
				a := attempt("hello")
				a.ProviderRef = w.send(a).ProviderRef
				if diff := cmp.Diff(channels.Answer{Status: channels.Underway, ProviderRef: a.ProviderRef}, w.ask(a)); diff != "" {
					t.Error(diff)
				}
				w.after(2 * time.Minute)
				want.Attempt = ref
				if diff := cmp.Diff(channels.Answer{Status: channels.Finished, ProviderRef: a.ProviderRef, Reports: []weir.Report{want}}, w.ask(a)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestQuery_FindsTheEndOfACall(t *testing.T) {
	t.Parallel()
	inWorld(t, twilio.VoiceType(), simulator.Options{TalkTime: 90 * time.Second, Faults: []string{"drop@status"}}, textSettings(), func(w *world) {
		a := callAttempt()
		a.ProviderRef = w.send(a).ProviderRef
		w.after(time.Minute)
		if diff := cmp.Diff(channels.Answer{Status: channels.Underway, ProviderRef: a.ProviderRef}, w.ask(a)); diff != "" {
			t.Error(diff)
		}
		w.after(2 * time.Minute)
		want := weir.Report{Attempt: ref, Part: weir.WholeContact, Outcome: weir.Completed, ProviderRef: a.ProviderRef, Result: weir.Result{CallSeconds: 90}}
		if diff := cmp.Diff(channels.Answer{Status: channels.Finished, ProviderRef: a.ProviderRef, Reports: []weir.Report{want}}, w.ask(a)); diff != "" {
			t.Error(diff)
		}
	})
}

// The create was accepted and its answer lost, and no callback comes.
func TestQuery_FindsWhatALostAnswerCreated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		voice  bool
		fault  string
		before func(w *world)
		after  func(w *world)
		change func(a *channels.Attempt)
		wait   time.Duration
		want   channels.QueryStatus
	}{
		"found":            {false, "cut@send", nil, nil, nil, time.Second, channels.Finished},
		"found, call":      {true, "cut@send", nil, nil, nil, time.Second, channels.Finished},
		"not there yet":    {false, "reset@send", nil, nil, nil, 119 * time.Second, channels.QueryFailed},
		"absent":           {false, "reset@send", nil, nil, nil, 121 * time.Second, channels.Absent},
		"call, too early":  {true, "reset@send", nil, nil, nil, time.Minute, channels.QueryFailed},
		"call, absent":     {true, "reset@send", nil, nil, nil, 3 * time.Minute, channels.Absent},
		"an older one":     {false, "reset@send:#2", func(w *world) { w.send(attempt("hello")); w.after(time.Hour) }, nil, nil, 3 * time.Minute, channels.Absent},
		"two":              {false, "cut@send:#1", nil, func(w *world) { w.send(attempt("hello")) }, nil, 3 * time.Minute, channels.CannotTell},
		"two calls":        {true, "cut@send:#1", nil, func(w *world) { w.send(callAttempt()) }, nil, 3 * time.Minute, channels.CannotTell},
		"another text":     {false, "reset@send:#1", nil, func(w *world) { w.send(attempt("good-bye")) }, nil, 3 * time.Minute, channels.CannotTell},
		"another, too":     {false, "cut@send:#1", nil, func(w *world) { w.send(attempt("good-bye")) }, nil, 3 * time.Minute, channels.Finished},
		"without plus":     {false, "cut@send", nil, nil, func(a *channels.Attempt) { a.To = number[1:] }, 3 * time.Minute, channels.Finished},
		"list fails":       {false, "reset@send,status=500@list", nil, nil, nil, 3 * time.Minute, channels.QueryFailed},
		"list is slow":     {false, "reset@send,hang@list", nil, nil, nil, 3 * time.Minute, channels.QueryFailed},
		"no known begin":   {false, "reset@send", nil, nil, func(a *channels.Attempt) { a.ClaimedAt = time.Time{} }, 3 * time.Minute, channels.CannotTell},
		"odd reference":    {false, "cut@send", nil, nil, func(a *channels.Attempt) { a.ProviderRef = "17" }, time.Second, channels.CannotTell},
		"not known to get": {false, "reset@send", nil, nil, func(a *channels.Attempt) { a.ProviderRef = sid }, time.Minute, channels.QueryFailed},
		"known no more":    {false, "reset@send", nil, nil, func(a *channels.Attempt) { a.ProviderRef = sid }, 3 * time.Minute, channels.Finished},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			typ := twilio.Type()
			if tt.voice {
				typ = twilio.VoiceType()
			}
			inWorld(t, typ, simulator.Options{Faults: []string{tt.fault, "drop@status"}}, textSettings(), func(w *world) {
				if tt.before != nil {
					tt.before(w)
				}
				a := attempt("hello")
				if tt.voice {
					a = callAttempt()
				}
				if got := w.send(a); got.Status != channels.Unclear {
					t.Fatalf("got %+v", got)
				}
				if tt.after != nil {
					tt.after(w)
				}
				if tt.change != nil {
					tt.change(&a)
				}
				w.after(tt.wait)
				got := w.ask(a)
				if got.Status != tt.want {
					t.Errorf("got %+v", got)
				}
				keepsSecrets(t, got.Reason)
			})
		})
	}
}

// A contact is sent no second time if only its first messages are certain; the rest
// is reported as failed or looked for.
func TestQuery_SeveralMessagesAreNotSentAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		faults []string
		ref    string // last part of the reference
		want   string // outcomes of the parts
		know   channels.QueryStatus
	}{
		"all":             {nil, ",SM00000000000000000000000000000003", "completed completed completed", channels.Finished},
		"third refused":   {[]string{"status=401@send:#3"}, ",-", "completed completed failed", channels.Finished},
		"second not sent": {[]string{"status=429@send:#2"}, ",-,-", "completed failed failed", channels.Finished},
		"second unclear":  {[]string{"cut@send:#2"}, ",?,-", "completed completed failed", channels.Finished},
		"second absent":   {[]string{"reset@send:#2"}, ",?,-", "completed failed failed", channels.Finished},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, twilio.Type(), simulator.Options{Faults: append(tt.faults, "drop@status")}, textSettings(), func(w *world) {
				a := attempt("a", "b", "c")
				s := w.send(a)
				if s.Status != channels.Accepted || !strings.HasSuffix(s.ProviderRef, tt.ref) {
					t.Fatalf("got %+v", s)
				}
				a.ProviderRef = s.ProviderRef
				w.after(3 * time.Minute)
				answer := w.ask(a)
				var got []string
				for i, r := range answer.Reports {
					if r.Part != i {
						t.Errorf("part %d: got %d", i, r.Part)
					}
					got = append(got, string(r.Outcome))
				}
				if strings.Join(got, " ") != tt.want || answer.Status != tt.know {
					t.Errorf("got %+v", answer)
				}
			})
		})
	}
	inWorld(t, twilio.Type(), simulator.Options{}, textSettings(), func(w *world) {
		if got := w.send(attempt(strings.Split(strings.Repeat("a", 15), "")...)); got.Status != channels.Refused {
			t.Errorf("fifteen: got %+v", got)
		}
		if got := w.send(attempt()); got.Status != channels.Refused {
			t.Errorf("none: got %+v", got)
		}
	})
	// Two messages of one contact with the same text cannot be told apart.
	for _, faults := range []string{"drop@status", "drop@status,reset@send:#2"} {
		inWorld(t, twilio.Type(), simulator.Options{Faults: []string{faults}}, textSettings(), func(w *world) {
			a := attempt("a", "a")
			w.send(a)
			w.after(3 * time.Minute)
			if got := w.ask(a); got.Status != channels.CannotTell {
				t.Errorf("repeated, %s: got %+v", faults, got)
			}
		})
	}
}

func TestCancel_WorksUntilItIsTooLate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		voice   bool
		options simulator.Options
		wait    time.Duration
		ref     string
		want    channels.Cancellation
		reports string // after the request
	}{
		"message, queued": {false, simulator.Options{QueueTime: time.Minute}, 0, "", channels.Cancellation{Canceled: true}, "canceled"},
		"message, sent":   {false, simulator.Options{}, time.Second, "", channels.Cancellation{Reason: "it is too late to cancel it"}, "completed completed"},
		"call, queued":    {true, simulator.Options{QueueTime: time.Minute}, 0, "", channels.Cancellation{Canceled: true}, ""},
		"call, ringing":   {true, simulator.Options{RingTime: time.Minute}, time.Second, "", channels.Cancellation{Canceled: true}, "- - canceled"},
		"call, answered":  {true, simulator.Options{TalkTime: time.Minute}, time.Second, "", channels.Cancellation{Reason: "it is too late to cancel it"}, "- - - completed"},
		"call, over":      {true, simulator.Options{}, time.Second, "", channels.Cancellation{Reason: "it is too late to cancel it"}, "- - - completed"},
		"unknown":         {true, simulator.Options{}, time.Second, "-", channels.Cancellation{Reason: "the call is not known at the provider"}, "- - - completed"},
		"elsewhere":       {true, simulator.Options{}, time.Second, "CA" + strings.Repeat("f", 32), channels.Cancellation{Failed: true, Reason: "not found at the provider"}, "- - - completed"},
		"provider fails": {true, simulator.Options{QueueTime: time.Hour, Faults: []string{"status=500@cancel"}}, 0, "",
			channels.Cancellation{Failed: true, Reason: "provider error"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			typ, a := twilio.Type(), attempt("hello")
			if tt.voice {
				typ, a = twilio.VoiceType(), callAttempt()
			}
			inWorld(t, typ, tt.options, textSettings(), func(w *world) {
				a.ProviderRef = w.send(a).ProviderRef
				if tt.ref != "" {
					a.ProviderRef = tt.ref
				}
				w.after(tt.wait)
				got := w.driver.Cancel(w.t.Context(), a)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				w.after(2 * time.Minute)
				if got := w.outcomes(); got != tt.reports {
					t.Errorf("reported %q, want %q", got, tt.reports)
				}
			})
		})
	}
}

// The fields of the answers are those of Twilio's documentation: price is null until it is known, and negative.
func TestQuery_ReportsWhatTwilioHasBilled(t *testing.T) {
	t.Parallel()
	for price, want := range map[string]weir.Cost{
		`"-0.00750"`: {Millionths: 7500, Currency: "USD"}, `"-0"`: {Currency: "USD"}, `null`: {}, `"0.5"`: {}, `"free"`: {}, `"-1e300"`: {}, `"NaN"`: {},
	} {
		for _, k := range []struct {
			typ       channels.Type
			sid, more string
			attempt   channels.Attempt
		}{
			{twilio.Type(), "SM" + strings.Repeat("a", 32), `"status": "delivered"`, attempt("hello")},
			{twilio.VoiceType(), "CA" + strings.Repeat("a", 32), `"status": "completed", "duration": "61"`, callAttempt()},
		} {
			body := `{"sid": "` + k.sid + `", "price": ` + price + `, "price_unit": "usd", ` + k.more + `}`
			k.attempt.ProviderRef = k.sid
			answer := driverOver(t, k.typ, answering{200, body}, textSettings()).Query(t.Context(), k.attempt)
			if len(answer.Reports) != 1 || answer.Reports[0].Result.Cost != want {
				t.Errorf("price %s: %+v, want %+v", price, answer, want)
			}
		}
	}
}
