package drivertest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"

	"github.com/google/go-cmp/cmp"
)

// play dispatches an attempt and returns the reports of its callbacks, without their
// times.
func (p Provider) play(t *testing.T, a func() channels.Attempt, outcome string, faults ...string) []weir.Report {
	t.Helper()
	var reports []weir.Report
	p.run(t, Options{Outcomes: []string{outcome}, Faults: faults}, func(w *World) {
		if got := w.Send(a()); got.Status != channels.Accepted {
			w.Fatalf("got %+v", got)
		}
		w.After(10 * time.Minute)
		for _, c := range w.Callbacks() {
			if c.Err != nil {
				t.Errorf("callback %s %s: %v", c.Method, c.Target, c.Err)
			}
			for _, r := range c.Result.Reports {
				if !r.At.Equal(c.At) {
					t.Errorf("a report of %v arrived at %v", r.At, c.At)
				}
			}
		}
		reports = w.Reports()
	})
	for i := range reports {
		reports[i].At = time.Time{}
		p.keepsSecrets(t, reports[i])
	}
	return reports
}

// about reports whether a report is about an attempt: some providers have only the
// contact's name.
func about(r weir.Report, a weir.AttemptRef) bool {
	return r.Attempt.Ref == a.Ref && (r.Attempt.Number == a.Number || r.Attempt.Number == 0)
}

// last returns the outcome of the last report that has one.
func last(reports []weir.Report) weir.Outcome {
	out := weir.Outcome("")
	for _, r := range reports {
		if r.Outcome != "" {
			out = r.Outcome
		}
	}
	return out
}

func sorted(reports []weir.Report) []weir.Report {
	reports = slices.Clone(reports)
	slices.SortFunc(reports, func(a, b weir.Report) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	return reports
}

// callbacks report the end of their attempt, each by itself, in whatever order and
// however often they come.
func callbacks(t *testing.T, p Provider) {
	attempt := func() channels.Attempt { return p.attempt(71) }
	for word, want := range map[string]weir.Outcome{p.Completed: weir.Completed, p.Failed: weir.Failed} {
		once := p.play(t, attempt, word)
		if last(once) != want || len(once) < 1 {
			t.Errorf("%s: got %+v, want %s", word, once, want)
		}
		for _, r := range once {
			if !about(r, attempt().ID) || r.Part != 0 && r.Part != weir.WholeContact {
				t.Errorf("%s: got a report about %v, part %d", word, r.Attempt, r.Part)
			}
			if r.Outcome == weir.Failed && r.Reason == "" {
				t.Errorf("%s: got %+v without a reason", word, r)
			}
		}
		twice := append(slices.Clone(once), once...)
		for fault, want := range map[string][]weir.Report{
			"duplicate": twice, "delay=2m:#1": once, "delay=2m": once,
			"swap:#1": once, "drop": nil,
		} {
			if diff := cmp.Diff(sorted(want), sorted(p.play(t, attempt, word, p.Reports(fault)))); diff != "" {
				t.Errorf("%s with %s: %s", word, fault, diff)
			}
		}
		p.run(t, Options{Outcomes: []string{word}, Faults: []string{"cut@" + p.Send}}, func(w *World) {
			w.Send(attempt())
			w.After(10 * time.Minute)
			if got := w.Reports(); last(got) != want {
				t.Errorf("%s after a lost answer: got %+v", word, got)
			}
		})
	}
}

// A callback that was not taken is repeated by providers that do, and is then read as
// before.
func callbacksRepeated(t *testing.T, p Provider) {
	if !p.Repeats {
		return
	}
	p.run(t, Options{Outcomes: []string{p.Completed}}, func(w *World) {
		w.Answer(func(n int) int { return map[bool]int{true: http.StatusServiceUnavailable}[n <= 1] })
		w.Send(p.attempt(71))
		w.After(time.Hour)
		heard := w.Callbacks()
		if len(heard) < 2 || !heard[0].Refused {
			w.Fatalf("%d callbacks", len(heard))
		}
		if got := last(w.Reports()); got != weir.Completed {
			t.Errorf("got %s", got)
		}
	})
}

// callbacks of one address at the provider may be about any channel of the account: a
// report names the attempt that was dispatched, and whoever receives it decides.
func callbacksOfAnother(t *testing.T, p Provider) {
	for _, id := range []weir.AttemptRef{
		{Ref: weir.Ref{Channel: 9, ID: 71}, Number: 2}, {Ref: weir.Ref{Channel: 7, ID: 72}, Number: 2}, {Ref: weir.Ref{Channel: 7, ID: 71}, Number: 3},
	} {
		got := p.play(t, func() channels.Attempt { a := p.attempt(1); a.ID = id; return a }, p.Completed)
		if len(got) == 0 {
			t.Errorf("%v: no report", id)
		}
		for _, r := range got {
			if !about(r, id) {
				t.Errorf("%v: got a report about %v", id, r.Attempt)
			}
		}
	}
}

// captured returns a callback of an attempt that ended.
func (p Provider) captured(t *testing.T) (final Callback) {
	t.Helper()
	p.run(t, Options{Outcomes: []string{p.Completed}}, func(w *World) {
		w.Send(p.attempt(71))
		w.After(time.Minute)
		for _, c := range w.Callbacks() {
			if last(c.Result.Reports) != "" {
				final = c
			}
		}
	})
	if final.Path == "" {
		t.Fatal("no callback with an outcome")
	}
	return final
}

// parse gives a callback to a driver that cannot reach its provider.
func (p Provider) parse(t *testing.T, c channels.Callback) (channels.CallbackResult, error) {
	t.Helper()
	d := NewDriver(t, p.Type, p.Settings, &http.Client{Transport: nowhere{t}})
	got, err := d.ParseCallback(c)
	if err != nil {
		if diff := cmp.Diff(channels.CallbackResult{}, got); diff != "" {
			t.Errorf("an error and a result: %s", diff)
		}
		p.keepsSecrets(t, err)
	}
	return got, err
}

type nowhere struct{ t *testing.T }

func (n nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	n.t.Error("a request was made to read a callback")
	return nil, http.ErrServerClosed
}

// Requests that no provider makes are errors or nothing, never a report about an
// attempt that they do not name.
func strangeCallbacks(t *testing.T, p Provider) {
	good := p.captured(t)
	if got, err := p.parse(t, good.Callback); err != nil || cmp.Diff(good.Result, got) != "" {
		t.Fatalf("the same callback again: %+v, %v", got, err)
	}
	for name, tt := range map[string]struct {
		change func(c *channels.Callback)
		wrong  bool // an error; otherwise nothing
	}{
		"PUT":          {func(c *channels.Callback) { c.Method = http.MethodPut }, true},
		"DELETE":       {func(c *channels.Callback) { c.Method = http.MethodDelete }, true},
		"no method":    {func(c *channels.Callback) { c.Method = "" }, true},
		"no attempt":   {func(c *channels.Callback) { rename(c, "nobody") }, false},
		"longer":       {func(c *channels.Callback) { rename(c, "7-1z-2-9") }, false},
		"attempt zero": {func(c *channels.Callback) { rename(c, "7-1z-0") }, false},
		"no content":   {func(c *channels.Callback) { c.Query, c.Form, c.Body = nil, nil, nil }, true},
		"another path": {func(c *channels.Callback) { c.Path, c.Target = "nothing/here", "/callbacks/ch/"+Secret+"/nothing/here" }, false},
		"path climbs":  {func(c *channels.Callback) { c.Path += "/../../x" }, false},
	} {
		c := clone(good.Callback)
		tt.change(&c)
		got, err := p.parse(t, c)
		if len(got.Reports)+len(got.Incoming) > 0 || tt.wrong && err == nil {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	// More than any provider sends changes nothing, or is refused.
	c := clone(good.Callback)
	junk := strings.Repeat("x", 1<<20)
	for _, v := range []map[string][]string{c.Query, c.Form} {
		if v != nil {
			v["junk"] = []string{junk}
		}
	}
	c.Body = append(c.Body, "&junk="+junk...)
	if got, err := p.parse(t, c); err == nil && cmp.Diff(good.Result, got) != "" {
		t.Errorf("oversized: got %+v", got)
	}
}

// rename gives a callback's attempt another name, wherever it is.
func rename(c *channels.Callback, to string) {
	for _, from := range []string{"7-1z-2", "7-1z"} {
		c.Path = strings.ReplaceAll(c.Path, from, to)
		c.Target = strings.ReplaceAll(c.Target, from, to)
		c.Body = bytes.ReplaceAll(c.Body, []byte(from), []byte(to))
		for _, values := range []map[string][]string{c.Query, c.Form} {
			for _, list := range values {
				for i := range list {
					list[i] = strings.ReplaceAll(list[i], from, to)
				}
			}
		}
	}
}

func clone(c channels.Callback) channels.Callback {
	deep := func(in map[string][]string) map[string][]string {
		if in == nil {
			return nil
		}
		out := map[string][]string{}
		for k, v := range in {
			out[k] = slices.Clone(v)
		}
		return out
	}
	c.Query, c.Form, c.Header, c.Body = deep(c.Query), deep(c.Form), deep(c.Header), slices.Clone(c.Body)
	return c
}

// A signature covers the address, the content and the account: without it, or with
// anything changed, a callback is forged.
func forgedCallbacks(t *testing.T, p Provider) {
	good := p.captured(t)
	for name, change := range map[string]func(c *channels.Callback){
		"no headers":      func(c *channels.Callback) { c.Header = http.Header{} },
		"another address": func(c *channels.Callback) { c.PublicURL = "https://other.example" },
		"another path":    func(c *channels.Callback) { c.Target = strings.Replace(c.Target, "7-1z", "7-1y", 1) },
		"another attempt": func(c *channels.Callback) { rename(c, "7-1y-2") },
		"another content": func(c *channels.Callback) { replaceWord(c) },
		"signed by another": func(c *channels.Callback) {
			for name := range c.Header {
				if strings.Contains(name, "Signature") {
					c.Header[name][0] = "AAAA" + c.Header[name][0][4:]
				}
			}
		},
	} {
		c := clone(good.Callback)
		change(&c)
		if got, err := p.parse(t, c); errors.Is(err, channels.ErrForged) != p.Signed {
			t.Errorf("%s: got %+v, %v; signed: %v", name, got, err, p.Signed)
		}
	}
}

// replaceWord changes a value of a callback's content.
func replaceWord(c *channels.Callback) {
	for _, values := range []map[string][]string{c.Form, c.Query} {
		for key := range values {
			values[key] = []string{values[key][0] + "x"}
			return
		}
	}
	c.Body = append(c.Body, ' ')
}
