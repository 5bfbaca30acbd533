package kannel_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/kannel"
	"weir/channels/kannel/simulator"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func refusal(reason string) channels.SendResult {
	return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: reason}
}

func unclear(reason string, answered bool) channels.SendResult {
	return channels.SendResult{Status: channels.Unclear, Reason: reason, ChannelFault: true, Answered: answered}
}

func notSent(reason string) channels.SendResult {
	return channels.SendResult{Status: channels.NotSent, Reason: reason, ChannelFault: true}
}

var accepted = channels.SendResult{Status: channels.Accepted}

func TestSend_EachFaultHasItsResult(t *testing.T) {
	t.Parallel()
	later := notSent("provider unavailable")
	later.RetryAfter = time.Second
	tests := map[string]struct {
		fault    string
		options  simulator.Options
		settings weir.Settings
		to       string
		want     channels.SendResult
		stored   int
	}{
		"fine":               {want: accepted, stored: 1},
		"link down":          {options: simulator.Options{Links: []simulator.Link{{ID: "A", State: simulator.Reconnecting}}}, want: accepted, stored: 1},
		"link stopped":       {options: simulator.Options{Links: []simulator.Link{{ID: "A", State: simulator.Dead}}}, want: refusal("number not usable")},
		"not routable":       {options: simulator.Options{Links: []simulator.Link{{ID: "A", Prefixes: []string{"+2"}}}}, want: refusal("number not usable")},
		"unknown link":       {settings: weir.Settings{"smsc": "B"}, want: accepted, stored: 1},
		"not its link":       {options: simulator.Options{Links: []simulator.Link{{ID: "A", NamedOnly: true}}}, settings: weir.Settings{"smsc": "B"}, want: refusal("number not usable")},
		"no sender":          {options: simulator.Options{NoGlobalSender: true}, want: notSent("no sender: set from, or global-sender in Kannel")},
		"500 before":         {fault: "status=500@send", want: unclear("provider error", true)},
		"500 after":          {fault: "after=500@send", want: unclear("provider error", true), stored: 1},
		"502 of a proxy":     {fault: "after=502@send", want: unclear("gateway error", false), stored: 1},
		"503":                {fault: "status=503@send", want: later},
		"400":                {fault: "status=400@send", want: channels.SendResult{Status: channels.NotSent, Reason: "request refused"}},
		"403 of a proxy":     {fault: "status=403@send", want: notSent("request refused")},
		"202 without a word": {fault: "after=202@send", want: unclear("answer not understood", true), stored: 1},
		"200":                {fault: "after=200@send", want: unclear("answer not understood", true), stored: 1},
		"redirect":           {fault: "status=302@send", want: notSent("provider redirects")},
		"hang":               {fault: "hang@send", want: unclear("timeout", false)},
		"late":               {fault: "late=9s@send", want: accepted, stored: 1},
		"too late":           {fault: "late=11s@send", want: unclear("timeout", false), stored: 1},
		"cut":                {fault: "cut@send", want: unclear("connection cut", false), stored: 1},
		"reset":              {fault: "reset@send", want: unclear("connection cut", false)},
		"wrong password":     {settings: weir.Settings{"password": "wrong"}, want: notSent("credentials refused")},
		"wrong user":         {settings: weir.Settings{"username": "wrong"}, want: notSent("credentials refused")},
		"wrong path":         {settings: weir.Settings{"sendsms_url": "http://kannel.test/sendsms"}, want: notSent("not found at the provider")},
		"no server":          {settings: weir.Settings{"sendsms_url": "http://elsewhere.test/"}, want: notSent("connection refused")},
		"not a number":       {to: "hello", want: refusal("number not usable")},
		"two numbers":        {to: "+1555 0001", want: accepted, stored: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.options.Faults = []string{tt.fault}
			inWorld(t, tt.options, basicSettings(tt.settings), func(w *world) {
				a := attempt(1, "hello")
				if tt.to != "" {
					a.To = tt.to
				}
				got := w.send(a)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				keepsSecrets(t, got.Reason)
				if n := len(w.sim.Records().Messages); n != tt.stored {
					t.Errorf("stored %d messages, want %d", n, tt.stored)
				}
			})
		})
	}
}

func TestSend_GivesKannelWhatWasAsked(t *testing.T) {
	t.Parallel()
	o := simulator.Options{Links: []simulator.Link{{ID: "A", NamedOnly: true}, {ID: "B", NamedOnly: true}}}
	inWorld(t, o, basicSettings(weir.Settings{"from": "My Shop", "smsc": "B"}), func(w *world) {
		a := attempt(1, "hello [é]\nΩ €", "hello, שלום 😀")
		a.NotAfter = time.Now().Add(90*time.Minute + 59*time.Second)
		if got := w.send(a); got != accepted {
			t.Fatalf("got %+v", got)
		}
		want := []simulator.Message{
			{From: "My Shop", To: number, Text: a.Messages[0], Coding: 0, Validity: 90, Link: "B"},
			{From: "My Shop", To: number, Text: a.Messages[1], Coding: 2, Validity: 90, Link: "B"},
		}
		if diff := cmp.Diff(want, w.sim.Records().Messages); diff != "" {
			t.Error(diff)
		}
		a.NotAfter = time.Now().Add(time.Second) // 0 would be over at once
		w.send(a)
		if got := w.sim.Records().Messages[2].Validity; got != 1 {
			t.Errorf("validity %d", got)
		}
	})
}

func TestSend_RefusesAContactWithoutText(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
		for _, a := range []channels.Attempt{attempt(1), attempt(1, ""), attempt(1, "hello", "")} {
			if got := w.send(a); got != refusal("message not acceptable") {
				t.Errorf("got %+v", got)
			}
		}
		if n := len(w.sim.Records().Messages); n != 0 {
			t.Errorf("%d messages went out", n)
		}
	})
}

// Whatever Kannel answers and wherever that is cut, the driver draws a conclusion
// only from a whole answer; before that it never knows that a message was taken or
// refused, and assumes so of no answer that could be an acceptance.
func TestSend_DrawsConclusionsFromWholeAnswersOnly(t *testing.T) {
	t.Parallel()
	for whole, want := range map[string]channels.SendResult{
		kannelSays("202 Accepted", "0: Accepted for delivery"):                         accepted,
		kannelSays("202 Accepted", "3: Queued for later delivery"):                     accepted,
		kannelSays("202 Accepted", "Sent."):                                            accepted,
		kannelSays("202 Accepted", "Sent. Message splits: 2"):                          accepted,
		kannelSays("202 Accepted", "Welcome"):                                          unclear("answer not understood", true),
		kannelSays("403 Forbidden", "Authorization failed for sendsms"):                notSent("credentials refused"),
		kannelSays("403 Forbidden", "Not routable. Do not try again."):                 refusal("number not usable"),
		kannelSays("403 Forbidden", "<html>"):                                          notSent("request refused"),
		kannelSays("400 Bad Request", "Missing receiver number, rejected"):             refusal("number not usable"),
		kannelSays("400 Bad Request", "Number(s) has/have been denied by white- and"):  refusal("number not usable"),
		kannelSays("400 Bad Request", "Charset or body misformed, rejected"):           refusal("message not acceptable"),
		kannelSays("400 Bad Request", "Sender missing and no global set, rejected"):    notSent("no sender: set from, or global-sender in Kannel"),
		kannelSays("400 Bad Request", "DLR-URL field misformed, rejected"):             notSent("Kannel does not accept the address of reports"),
		kannelSays("400 Bad Request", "Coding field misformed, rejected"):              {Status: channels.NotSent, Reason: "request refused"},
		kannelSays("503 Service Unavailable", "Temporal failure, try again later."):    notSent("provider unavailable"),
		kannelSays("500 Internal Server Error", "Sending failed."):                     unclear("provider error", true),
		kannelSays("404 Not Found", "Unknown request."):                                notSent("not found at the provider"),
		kannelSays("202 Accepted", strings.Repeat("0: Accepted for delivery", 10_000)): unclear("answer too large", false),
	} {
		t.Run(whole[9:40], func(t *testing.T) {
			t.Parallel()
			if got := sendTo(t, whole); got != want {
				t.Errorf("whole: got %+v, want %+v", got, want)
			}
			for n := range min(len(whole), 400) {
				got := sendTo(t, whole[:n])
				if got.Status == channels.Accepted || got.Status == channels.Refused {
					t.Errorf("cut after %d bytes: %+v", n, got)
				}
				if got.Status != channels.Unclear && (want.Status == channels.Accepted || want.Status == channels.Unclear || n < len("HTTP/1.1 403")) {
					t.Errorf("cut after %d bytes: %+v", n, got)
				}
			}
		})
	}
}

func kannelSays(status, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nServer: Kannel/1.4.5\r\nContent-Length: %d\r\nContent-type: text/html\r\n\r\n%s", status, len(body), body)
}

// sendTo sends one message to a server that reads the request, writes an answer and
// closes the connection.
func sendTo(t *testing.T, answer string) channels.SendResult {
	t.Helper()
	client, server := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = server.Close() }()
		if r, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(server, answer)
		}
	}()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return client, nil }}
	d, err := kannel.Type().New(channels.Config{Settings: basicSettings(), CallbackURL: base, HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	got := d.Send(t.Context(), attempt(1, "hello"))
	transport.CloseIdleConnections()
	_ = client.Close()
	<-done
	return got
}

// A contact of several messages is never begun again once Kannel has one of them:
// the messages that were certainly not sent fail, the others end by their reports.
func TestSend_NeverBeginsAgainOnceAMessageIsTaken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault  string
		want   channels.SendResult
		stored int
		asked  string // parts reported as failed
	}{
		"all":                   {"", accepted, 3, "cannot tell"},
		"first not":             {"status=503@send:#1", channels.SendResult{Status: channels.NotSent, Reason: "provider unavailable", ChannelFault: true, RetryAfter: time.Second}, 0, "cannot tell"},
		"first unclear":         {"cut@send:#1", unclear("connection cut", false), 1, "cannot tell"},
		"second not":            {"status=503@send:#2", channels.SendResult{Status: channels.Accepted, ProviderRef: "1/3"}, 1, "underway 1 2"},
		"second unclear":        {"cut@send:#2", channels.SendResult{Status: channels.Accepted, ProviderRef: "1/3?"}, 2, "underway 2"},
		"third unclear":         {"hang@send:#3", channels.SendResult{Status: channels.Accepted, ProviderRef: "2/3?"}, 2, "underway"},
		"third not, link alone": {"status=404@send:#3", channels.SendResult{Status: channels.Accepted, ProviderRef: "2/3"}, 2, "underway 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, simulator.Options{Faults: []string{tt.fault}}, basicSettings(), func(w *world) {
				a := attempt(1, "hello", "you", "there")
				got := w.send(a)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				if n := len(w.sim.Records().Messages); n != tt.stored {
					t.Errorf("stored %d", n)
				}
				a.ProviderRef = got.ProviderRef
				if s := asked(t, w.driver.Query(w.t.Context(), a)); s != tt.asked {
					t.Errorf("asked: %s, want %s", s, tt.asked)
				}
			})
		})
	}
}

func asked(t *testing.T, a channels.Answer) string {
	t.Helper()
	if a.Status == channels.CannotTell && len(a.Reports) == 0 {
		return "cannot tell"
	}
	if a.Status != channels.Underway || !a.Silent {
		t.Errorf("answer %+v", a)
	}
	s := "underway"
	for _, r := range a.Reports {
		if r.Outcome != weir.Failed || r.Attempt.Number != 2 || r.Reason == "" || r.At.IsZero() {
			t.Errorf("report %+v", r)
		}
		s += fmt.Sprint(" ", r.Part)
	}
	return s
}

// References that the driver did not make mean nothing.
func TestQuery_StrangeReferencesMeanNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
		for _, ref := range []string{"", "x", "0/3", "3/3", "4/3", "-1/3", "1/2", "01/3", "1/3??", "1", "1/", "/3", "1/3/", "999999999999999999999/3"} {
			a := attempt(1, "a", "b", "c")
			a.ProviderRef = ref
			if got := w.driver.Query(w.t.Context(), a); got.Status != channels.CannotTell || len(got.Reports) != 0 {
				t.Errorf("%q: %+v", ref, got)
			}
		}
		if got := w.driver.Cancel(w.t.Context(), attempt(1, "a")); got.Canceled || got.Failed || got.Reason == "" {
			t.Errorf("cancel: %+v", got)
		}
	})
}

// Whatever happens to its requests, one Send puts no message twice into Kannel.
func TestSend_NeverDoublesAMessage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.IntRange(1, 4).Draw(rt, "parts")
		faults := rapid.SliceOfN(rapid.SampledFrom([]string{
			"status=500", "status=503", "after=500", "after=502", "after=202", "cut", "reset", "hang=30s", "late=11s", "",
		}), parts, parts).Draw(rt, "faults")
		var rules []string
		for i, f := range faults {
			if f != "" {
				rules = append(rules, fmt.Sprintf("%s@send:#%d", f, i+1))
			}
		}
		inWorld(t, simulator.Options{Faults: rules}, basicSettings(), func(w *world) {
			got := w.send(attempt(1, strings.Split("abcd", "")[:parts]...))
			w.after(time.Minute)
			line := w.sim.Tally().Line("SMSC")
			if line.Doubled != 0 || line.Sent > parts || line.Active != 0 {
				rt.Errorf("line %+v", line)
			}
			if got == accepted && line.Sent != parts || got.Status == channels.NotSent && line.Sent != 0 {
				rt.Errorf("%+v with %d messages at Kannel", got, line.Sent)
			}
		})
	})
}

// A request that its caller gives up is unclear and no fault of the channel.
func TestSend_GivenUpIsUnclearAndNoFault(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{Faults: []string{"hang@send"}}, basicSettings(), func(w *world) {
		ctx, cancel := context.WithCancel(w.t.Context())
		go func() { synctest.Wait(); cancel() }()
		got := w.driver.Send(ctx, attempt(1, "hello"))
		if got.Status != channels.Unclear || got.ChannelFault {
			t.Errorf("got %+v", got)
		}
	})
}
