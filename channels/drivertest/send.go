package drivertest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// answering answers every request with a status, a body and headers.
func answering(raw Raw, header ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(rw http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		for i := 0; i < len(header); i += 2 {
			rw.Header().Set(header[i], header[i+1])
		}
		rw.WriteHeader(raw.Status)
		_, _ = io.WriteString(rw, raw.Body)
		return true
	}
}

func notSent(reason string) channels.SendResult {
	return channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: reason}
}

func unclear(reason string) channels.SendResult {
	return channels.SendResult{Status: channels.Unclear, ChannelFault: true, Reason: reason}
}

// sendCase is one way in which a dispatch goes.
type sendCase struct {
	fault  string // of the simulator's script, without the operation
	meddle func(http.ResponseWriter, *http.Request) bool
	change weir.Settings
	want   channels.SendResult // ProviderRef and Answered are not compared
	// taken is how many messages the provider has in the end, whatever its answer was.
	taken int
}

func (p Provider) sendCases() map[string]sendCase {
	limited := notSent(channels.RateLimited)
	limited.RetryAfter = 7 * time.Second
	unavailable := channels.SendResult{Status: p.Unavailable, ChannelFault: true, Reason: "provider unavailable", RetryAfter: time.Second}
	elsewhere := answering(Raw{302, ""}, "Location", "http://"+p.Host+"/other")
	return map[string]sendCase{
		"accepted":              {want: channels.SendResult{Status: channels.Accepted}, taken: 1},
		"accepted, slowly":      {fault: "late=9s", want: channels.SendResult{Status: channels.Accepted}, taken: 1},
		"refused":               {meddle: answering(p.Refusal), want: channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: p.RefusalReason}},
		"connection refused":    {change: p.elsewhere(), want: notSent("connection refused")},
		"credentials wrong":     {change: p.Unauthorized, want: notSent("credentials refused")},
		"not found":             {meddle: answering(Raw{404, "<html>"}), want: notSent("not found at the provider")},
		"unauthorized":          {meddle: answering(Raw{401, ""}), want: notSent("credentials refused")},
		"rate limited":          {meddle: answering(Raw{429, ""}), want: notSent(channels.RateLimited)},
		"rate limited, 7 s":     {meddle: answering(Raw{429, ""}, "Retry-After", "7"), want: limited},
		"bad request":           {meddle: answering(Raw{422, "<html>"}), want: channels.SendResult{Status: channels.NotSent, Reason: "request refused"}},
		"redirect":              {meddle: elsewhere, want: notSent("provider redirects")},
		"unavailable":           {fault: "status=503", want: unavailable},
		"500, not carried out":  {fault: "status=500", want: unclear("provider error")},
		"500, carried out":      {fault: "after=500", want: unclear("provider error"), taken: 1},
		"502 of a proxy":        {fault: "after=502", want: unclear("gateway error"), taken: 1},
		"504 of a proxy":        {fault: "after=504", want: unclear("gateway error"), taken: 1},
		"408 of a proxy":        {fault: "after=408", want: unclear("request refused"), taken: 1},
		"cut, not carried out":  {fault: "reset", want: unclear("connection cut")},
		"cut, carried out":      {fault: "cut", want: unclear("connection cut"), taken: 1},
		"slow, not carried out": {fault: "hang", want: unclear("timeout")},
		"slow, carried out":     {fault: "late=11s", want: unclear("timeout"), taken: 1},
	}
}

func sendResults(t *testing.T, p Provider) {
	for name, tt := range p.sendCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults []string
			if tt.fault != "" {
				faults = []string{tt.fault + "@" + p.Send}
			}
			p.run(t, Options{Faults: faults}, func(w *World) {
				w.Meddle(tt.meddle)
				got := w.Send(p.attempt(71))
				if tt.want.Status == channels.Accepted && p.Asks >= ByReference && got.ProviderRef == "" {
					t.Error("no reference")
				}
				p.keepsSecrets(t, got)
				got.ProviderRef, got.Answered = "", false
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				if n := p.taken(w); n != tt.taken {
					t.Errorf("the provider has %d, want %d", n, tt.taken)
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				// A driver does not retry by itself: a second request may be a second call.
				if w.requests > 1 {
					t.Errorf("%d requests for one dispatch", w.requests)
				}
			}, tt.change)
		})
	}
}

// Whatever a provider answers that the driver cannot read, the provider may have it.
func malformedAnswers(t *testing.T, p Provider) {
	for _, status := range []int{200, 201, 202} {
		for name, body := range map[string]string{
			"blank": "", "a page": "<html>hello</html>", "an object": "{}", "a list": "[]", "null": "null", "no text": "\xff\x00\xfe",
			"other types": `{"sid":5,"call_id":"x","code":"y","messages":7}`, "endless": strings.Repeat("x", 17<<20), "nested": strings.Repeat("[", 20_000),
		} {
			p.run(t, Options{}, func(w *World) {
				w.Meddle(answering(Raw{status, body}))
				want := channels.Unclear
				if body == "" {
					want = p.Blank
				}
				if got := w.Send(p.attempt(71)); got.Status != want {
					t.Errorf("%d with %s: got %+v", status, name, got)
				} else {
					p.keepsSecrets(t, got)
				}
			})
		}
	}
}

// A dispatch ends with its context, and is not the channel's fault if we give it up.
func deadlines(t *testing.T, p Provider) {
	p.run(t, Options{Faults: []string{"hang@" + p.Send}}, func(w *World) {
		ctx, cancel := context.WithCancel(w.Context())
		time.AfterFunc(time.Second, cancel)
		if got := w.Driver.Send(ctx, p.attempt(71)); got.Status != channels.Unclear || got.ChannelFault || got.Reason != "given up by us" {
			t.Errorf("given up: got %+v", got)
		}
		began := time.Now()
		got := w.Send(p.attempt(72))
		if d := time.Since(began); d != timeout || got.Status != channels.Unclear || got.Reason != "timeout" {
			t.Errorf("after %v: got %+v", d, got)
		}
	})
	p.run(t, Options{}, func(w *World) {
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		got := w.Driver.Send(ctx, p.attempt(71))
		if n := p.taken(w); n > 0 || got.Status != channels.Unclear && got.Status != channels.NotSent || got.ChannelFault {
			t.Errorf("given up before: got %+v, the provider has %d", got, n)
		}
		a := p.attempt(72)
		a.NotAfter = time.Now().Add(-time.Minute)
		if got := w.Send(a); got.Status == channels.Refused && (got.Outcome != weir.Expired || got.Reason != channels.WindowClosed || p.taken(w) > 0) {
			t.Errorf("window closed: got %+v, the provider has %d", got, p.taken(w))
		}
	})
}

// Of several messages some may be at the provider: the contact is then not dispatched
// again as a whole, and asking never reports that there is nothing.
func severalMessages(t *testing.T, p Provider) {
	if p.voice() {
		return
	}
	for _, fault := range []string{"cut", "reset", "status=429", "status=500", "after=500", "status=401", "late=11s"} {
		for n := 1; n <= 3; n++ {
			rule := fmt.Sprintf("%s@%s:#%d", fault, p.Send, n)
			p.run(t, Options{Faults: []string{rule, p.Reports("drop")}}, func(w *World) {
				a := NewAttempt(71, "a", "b", "c")
				got := w.Send(a)
				has := p.taken(w)
				if has > 0 && (got.Status == channels.NotSent || got.Status == channels.Refused) || got.Status == channels.Accepted && has == 0 {
					t.Errorf("%s: the provider has %d, got %+v", rule, has, got)
				}
				p.keepsSecrets(t, got)
				a.ProviderRef = got.ProviderRef
				w.After(p.Settles + time.Minute)
				answer := w.Query(a)
				if answer.Status == channels.Absent && has > 0 && !answer.Partial {
					t.Errorf("%s: the provider has %d, asked: %+v", rule, has, answer)
				}
				if done := completed(answer.Reports); done > has || p.Asks == ByContact && answer.Status == channels.Finished && done != has {
					t.Errorf("%s: the provider has %d, asked: %+v", rule, has, answer)
				}
			})
		}
	}
	p.run(t, Options{}, func(w *World) {
		a := p.attempt(71)
		a.Messages = nil
		if got := w.Send(a); got.Status != channels.Refused || got.Outcome != weir.Failed || got.Reason == "" || p.taken(w) > 0 {
			t.Errorf("no message: got %+v", got)
		}
	})
}

func completed(reports []weir.Report) int {
	n := 0
	for _, r := range reports {
		if r.Outcome == weir.Completed {
			n++
		}
	}
	return n
}

// Whatever happens to its requests, one Send makes no call and no message twice.
func neverDoubles(t *testing.T, p Provider) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := 1
		if !p.voice() {
			parts = rapid.IntRange(1, 4).Draw(rt, "parts")
		}
		var rules []string
		for i := range parts {
			fault := rapid.SampledFrom([]string{"", "status=500", "status=503", "status=429", "after=500", "after=502", "after=200", "cut", "reset", "hang=30s", "late=11s"}).Draw(rt, "fault")
			if fault != "" {
				rules = append(rules, fmt.Sprintf("%s@%s:#%d", fault, p.Send, i+1))
			}
		}
		p.run(t, Options{Faults: rules}, func(w *World) {
			a := p.attempt(71)
			if !p.voice() {
				a.Messages = strings.Split("abcd"[:parts], "")
			}
			got := w.Send(a)
			w.After(2 * time.Minute)
			line := w.sim.Tally().Line(p.Line)
			if line.Doubled != 0 || line.Taken > parts || line.Active != 0 {
				rt.Errorf("line %+v", line)
			}
			if got.Status == channels.NotSent && line.Taken != 0 || got.Status == channels.Accepted && line.Taken == 0 {
				rt.Errorf("%+v with %d at the provider", got, line.Taken)
			}
		})
	})
}

// Wrong settings are found before the first contact, or when the status is asked for.
func prepareAndStatus(t *testing.T, p Provider) {
	for name, tt := range map[string]struct {
		change weir.Settings
		meddle func(http.ResponseWriter, *http.Request) bool
		reason string
	}{
		"right":              {nil, nil, ""},
		"credentials wrong":  {p.Unauthorized, nil, "credentials refused"},
		"connection refused": {p.elsewhere(), nil, "connection refused"},
		"provider fails":     {nil, answering(Raw{500, ""}), "provider error"},
		"a page":             {nil, answering(Raw{200, "<html>hello</html>"}), "answer not understood"},
	} {
		p.run(t, Options{}, func(w *World) {
			w.Meddle(tt.meddle)
			ctx, cancel := context.WithTimeout(w.Context(), timeout)
			defer cancel()
			err := w.Driver.Prepare(ctx)
			if name == "right" && err != nil {
				t.Errorf("%s: %v", name, err)
			} else if err != nil {
				p.keepsSecrets(t, err)
			}
			status := w.Driver.Status(ctx)
			p.keepsSecrets(t, status)
			want := channels.Status{Health: weir.Up}
			if tt.reason != "" {
				want = channels.Status{Health: weir.Erring, Reason: tt.reason}
			}
			if diff := cmp.Diff(want, status); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if n := p.taken(w); n > 0 {
				t.Errorf("%s: the provider has %d", name, n)
			}
		}, tt.change)
	}
}
