package weir_test

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
)

var brakedAt = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func TestBrake_MistakesAreNamedAllAtOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		brake    *weir.Brake
		pointers []string
	}{
		"none":            {nil, nil},
		"defaults":        {&weir.Brake{OptedOut: 5}, nil},
		"the largest":     {&weir.Brake{Over: 10_000, Minimum: 10_000, OptedOut: 99, Failed: 99, Reasons: map[string]int{"number not usable": 99}}, nil},
		"the smallest":    {&weir.Brake{Over: 10, Minimum: 1, Failed: 1}, nil},
		"without a bound": {&weir.Brake{Over: 50}, []string{""}},
		"everything": {
			&weir.Brake{Over: 9, Minimum: 10_001, OptedOut: 100, Failed: -1, Reasons: map[string]int{"a/b": 0, "": 5}},
			[]string{"/over", "/minimum", "/opted_out_percent", "/failed_percent", "/reasons/", "/reasons/a~1b"},
		},
		"minimum beyond over":             {&weir.Brake{Over: 30, Minimum: 31, Failed: 5}, []string{"/minimum"}},
		"minimum beyond the default over": {&weir.Brake{Minimum: 101, Failed: 5}, []string{"/minimum"}},
	}
	for name, tt := range tests {
		var got []string
		for _, f := range tt.brake.Check() {
			got = append(got, f.Pointer)
		}
		if !slices.Equal(got, tt.pointers) {
			t.Errorf("%s: %q, want %q", name, got, tt.pointers)
		}
	}
}

func TestBrakeWindow_ActsBeyondABoundOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		brake  weir.Brake
		do     func(*weir.BrakeWindow)
		want   string
		caused weir.BrakeCause
	}{
		"at the bound":       {weir.Brake{Failed: 20}, func(w *weir.BrakeWindow) { end(w, 16, weir.Completed, ""); end(w, 4, weir.Failed, "") }, "", ""},
		"beyond it":          {weir.Brake{Failed: 20}, func(w *weir.BrakeWindow) { end(w, 15, weir.Completed, ""); end(w, 5, weir.Failed, "") }, "paused itself: 5 of the last 20 contacts failed, the bound is 20 %", weir.BrakeFailed},
		"before the minimum": {weir.Brake{Failed: 20}, func(w *weir.BrakeWindow) { end(w, 19, weir.Failed, "") }, "", ""},
		"only the latest count": {weir.Brake{Over: 10, Failed: 20}, func(w *weir.BrakeWindow) {
			end(w, 9, weir.Failed, "")
			end(w, 8, weir.Completed, "")
			end(w, 2, weir.Busy, "")
		}, "", ""},
		"what reached nobody does not count": {weir.Brake{Failed: 20}, func(w *weir.BrakeWindow) {
			end(w, 10, weir.Failed, "")
			end(w, 50, weir.Expired, "")
			end(w, 50, weir.Canceled, "")
			end(w, 50, weir.Suppressed, "")
		}, "", ""},
		"opt-outs": {weir.Brake{OptedOut: 5}, func(w *weir.BrakeWindow) {
			end(w, 100, weir.Completed, "")
			for n := range 9 {
				w.Contacted(strconv.Itoa(n))
				w.OptedOut(strconv.Itoa(n))
			}
		}, "paused itself: 9 of the last 100 contacts opted out, the bound is 5 %", weir.BrakeOptedOut},
		"one person opts out once": {weir.Brake{OptedOut: 5}, func(w *weir.BrakeWindow) {
			end(w, 100, weir.Completed, "")
			for range 9 {
				w.Contacted("tel:+15550100")
				w.OptedOut("tel:+15550100")
			}
		}, "", ""},
		"opt-outs of strangers": {weir.Brake{OptedOut: 5}, func(w *weir.BrakeWindow) {
			w.Contacted("a")
			end(w, 100, weir.Completed, "")
			for n := range 9 {
				w.OptedOut(strconv.Itoa(n))
			}
		}, "", ""},
		"an opt-out before the first contact": {weir.Brake{OptedOut: 5, Minimum: 1}, func(w *weir.BrakeWindow) { w.Contacted("x"); w.OptedOut("x"); end(w, 1, weir.Completed, "") }, "", ""},
		"refused by the provider as opted out": {weir.Brake{OptedOut: 5, Failed: 99}, func(w *weir.BrakeWindow) {
			end(w, 18, weir.Completed, "")
			w.Ended(weir.Failed, weir.ReasonOptedOut, "a")
			w.Ended(weir.Failed, weir.ReasonOptedOut, "b")
		}, "paused itself: 2 of the last 20 contacts opted out, the bound is 5 %", weir.BrakeOptedOut},
		"a reason": {weir.Brake{Reasons: map[string]int{"number not usable": 30}}, func(w *weir.BrakeWindow) {
			end(w, 13, weir.Completed, "")
			end(w, 7, weir.Failed, "number not usable")
		}, `paused itself: 7 of the last 20 contacts ended with the reason "number not usable", the bound is 30 %`, weir.BrakeReason},
		"another reason": {weir.Brake{Reasons: map[string]int{"number not usable": 30}}, func(w *weir.BrakeWindow) { end(w, 20, weir.Failed, "busy") }, "", ""},
	}
	for name, tt := range tests {
		var w weir.BrakeWindow
		w.Configure(&tt.brake, false)
		tt.do(&w)
		v := w.Verdict(brakedAt)
		if v == nil {
			v = &weir.Braked{}
		} else if !v.At.Equal(brakedAt) {
			t.Errorf("%s: at %v", name, v.At)
		}
		if v.Text != tt.want || v.Cause != tt.caused {
			t.Errorf("%s: %q by %q, want %q by %q", name, v.Text, v.Cause, tt.want, tt.caused)
		}
	}
}

func end(w *weir.BrakeWindow, n int, o weir.Outcome, reason string) {
	for range n {
		w.Ended(o, reason, "")
	}
}

func TestBrakeWindow_BeginsAnewWhenAPauseEnds(t *testing.T) {
	t.Parallel()
	rule := &weir.Brake{Failed: 20}
	var w weir.BrakeWindow
	w.Configure(rule, false)
	end(&w, 30, weir.Failed, "")
	for name, f := range map[string]func(){
		"the same again":   func() { w.Configure(&weir.Brake{Failed: 20, Over: 100, Minimum: 20}, false) },
		"nothing happened": func() {},
	} {
		if f(); w.Verdict(brakedAt) == nil || w.Verdict(brakedAt).Touched != 30 {
			t.Errorf("%s: %+v", name, w.Verdict(brakedAt))
		}
	}
	if w.Configure(rule, true); w.Verdict(brakedAt) != nil {
		t.Error("it acts on what is paused")
	}
	if f := w.Figures(); f.Of != 30 || f.Failed != 30 {
		t.Errorf("while it is paused the figures are gone: %+v", f)
	}
	w.Configure(rule, false)
	if f := w.Figures(); f.Of != 0 || f.Touched != 0 {
		t.Errorf("resumed: %+v", f)
	}
	end(&w, 30, weir.Failed, "")
	w.Configure(&weir.Brake{Failed: 21}, false)
	if f := w.Figures(); f.Of != 0 {
		t.Errorf("another brake: %+v", f)
	}
	if w.Configure(nil, false); w.Figures() != nil || w.Verdict(brakedAt) != nil {
		t.Error("without a brake")
	}
}

// The window agrees with a count over a list of everything that happened.
func TestBrakeWindow_CountsTheLatest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rule := &weir.Brake{Over: rapid.IntRange(10, 14).Draw(t, "over"), Minimum: 10, Failed: 50, OptedOut: 50, Reasons: map[string]int{"x": 50}}
		var w weir.BrakeWindow
		w.Configure(rule, false)
		type entry struct {
			failed, x bool
			people    []string
		}
		var all []entry
		contacted := map[string]bool{}
		for range rapid.IntRange(0, 80).Draw(t, "n") {
			who := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "who")
			kind := rapid.IntRange(0, 4).Draw(t, "kind")
			if kind == 1 {
				w.Contacted(who)
				contacted[who] = true
				continue
			}
			if kind == 0 {
				latest := all[max(0, len(all)-rule.Over):]
				if len(all) > 0 && contacted[who] && !slices.ContainsFunc(latest, func(e entry) bool { return slices.Contains(e.people, who) }) {
					all[len(all)-1].people = append(all[len(all)-1].people, who)
				}
				w.OptedOut(who)
				continue
			}
			e := entry{failed: rapid.Bool().Draw(t, "failed"), x: rapid.Bool().Draw(t, "x")}
			o, reason := weir.Completed, "y"
			if e.failed {
				o = weir.Failed
			}
			if e.x {
				reason = "x"
			}
			w.Ended(o, reason, "")
			all = append(all, e)
		}
		want := weir.BrakeFigures{Touched: len(all)}
		for _, e := range all[max(0, len(all)-rule.Over):] {
			want.Of++
			want.OptedOut += len(e.people)
			if e.failed {
				want.Failed++
			}
			if e.x {
				if want.Reasons == nil {
					want.Reasons = map[string]int{}
				}
				want.Reasons["x"]++
			}
		}
		got := *w.Figures()
		if got.Reasons["x"] == 0 {
			got.Reasons = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
		acts := want.Of >= 10 && (want.OptedOut*2 > want.Of || want.Failed*2 > want.Of || want.Reasons["x"]*2 > want.Of)
		if v := w.Verdict(brakedAt); (v != nil) != acts {
			t.Fatalf("it acts: %v, want %v of %+v", v, acts, want)
		}
	})
}

// Whoever was contacted lately is known, whatever number of others was contacted since; the memory is bounded.
func TestBrakeWindow_KnowsWhomItContactedLately(t *testing.T) {
	t.Parallel()
	const knows, contacted = 50_000, 160_000
	var w weir.BrakeWindow
	w.Configure(&weir.Brake{Over: weir.MaxBrakeOver, OptedOut: 99}, false)
	for n := range contacted {
		w.Contacted(strconv.Itoa(n))
	}
	end(&w, 1, weir.Completed, "")
	for _, tt := range []struct{ from, to, count int }{{0, 1000, 0}, {contacted - knows, contacted, knows}, {contacted, contacted + 1000, knows}} {
		for n := tt.from; n < tt.to; n++ {
			w.OptedOut(strconv.Itoa(n))
		}
		if got := w.Figures().OptedOut; got != tt.count {
			t.Errorf("after the opt-outs of %d to %d of %d people %d count, want %d", tt.from, tt.to, contacted, got, tt.count)
		}
	}
}
