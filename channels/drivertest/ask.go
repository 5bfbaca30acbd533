package drivertest

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"weir/channels"
)

// asks asks about attempts that are under way and done, while no callback comes.
func asks(t *testing.T, p Provider) {
	for word, want := range map[string]string{p.Completed: "completed", p.Failed: "failed"} {
		p.run(t, Options{Outcomes: []string{word}, Queue: time.Minute, Faults: []string{p.Reports("drop")}}, func(w *World) {
			a := p.attempt(71)
			a.NotBefore = time.Now().Add(time.Minute)
			a.ProviderRef = w.Send(a).ProviderRef
			going := w.Query(a)
			w.After(10 * time.Minute)
			done := w.Query(a)
			p.keepsSecrets(t, []any{going, done})
			if p.Asks == Never {
				if going.Status != channels.CannotTell || done.Status != channels.CannotTell {
					t.Errorf("%s: got %+v, then %+v", word, going, done)
				}
				return
			}
			if going.Status != channels.Underway || len(going.Reports) > 0 {
				t.Errorf("%s, waiting: got %+v", word, going)
			}
			if done.Status != channels.Finished || string(last(done.Reports)) != want || len(done.Reports) != 1 || !about(done.Reports[0], a.ID) {
				t.Errorf("%s: got %+v", word, done)
			}
		})
	}
}

// The answer was lost, and no callback comes.
func asksAfterALostAnswer(t *testing.T, p Provider) {
	for fault, has := range map[string]bool{
		"cut": true, "after=500": true, "after=502": true, "late=11s": true, "reset": false, "status=500": false, "hang": false,
	} {
		p.run(t, Options{Outcomes: []string{p.Completed}, Faults: []string{fault + "@" + p.Send, p.Reports("drop")}}, func(w *World) {
			a := p.attempt(71)
			if got := w.Send(a); got.Status != channels.Unclear {
				w.Fatalf("%s: sent %+v", fault, got)
			}
			// At once it may be too early to be certain, but nothing certain may be wrong.
			soon := w.Query(a)
			w.After(max(p.Settles, time.Minute) + time.Minute)
			late := w.Query(a)
			p.keepsSecrets(t, []any{soon, late})
			for _, got := range []channels.Answer{soon, late} {
				if has && got.Status == channels.Absent || !has && (got.Status == channels.Finished || got.Status == channels.Underway) {
					t.Errorf("%s: got %+v", fault, got)
				}
			}
			want := channels.CannotTell
			switch {
			case p.Asks == ByContact && has:
				want = channels.Finished
			case p.Asks == ByContact:
				want = channels.Absent
			}
			if late.Status != want {
				t.Errorf("%s, later: got %+v", fault, late)
			}
			if want == channels.Finished && string(last(late.Reports)) != "completed" {
				t.Errorf("%s, later: got %+v", fault, late)
			}
		})
	}
}

// A provider that does not answer properly proves nothing about an attempt.
func asksAFailingProvider(t *testing.T, p Provider) {
	if p.Asks == Never {
		return
	}
	p.run(t, Options{Outcomes: []string{p.Completed}, Faults: []string{p.Reports("drop")}}, func(w *World) {
		a := p.attempt(71)
		a.ProviderRef = w.Send(a).ProviderRef
		lost := a
		lost.ProviderRef = ""
		w.After(10 * time.Minute)
		for _, raw := range []Raw{
			{200, ""}, {200, "<html>"}, {200, "{}"}, {200, "[]"}, {200, "null"}, {200, `{"messages":null,"calls":null}`}, {200, "\xff"}, {204, ""}, {302, ""},
			{400, "{}"}, {401, ""}, {403, ""}, {429, ""}, {500, ""}, {502, "<html>"}, {503, ""},
		} {
			// This is the provider's proper answer about an attempt that it does not have.
			if raw.Body == p.Nothing && raw.Status == 200 {
				continue
			}
			w.Meddle(answering(raw))
			for _, a := range []channels.Attempt{a, lost} {
				got := w.Query(a)
				p.keepsSecrets(t, got)
				if got.Status != channels.QueryFailed && (a.ProviderRef != "" || got.Status != channels.CannotTell) || got.Reason == "" {
					t.Errorf("%d %q: got %+v", raw.Status, raw.Body, got)
				}
			}
		}
		w.Meddle(nil)
		p.askCut(w, a)
		if got := w.NewDriver(p.with(p.elsewhere()), w.Client).Query(w.Context(), a); got.Status != channels.QueryFailed || got.Reason != "connection refused" {
			t.Errorf("connection refused: got %+v", got)
		}
		if got := w.NewDriver(p.with(p.Unauthorized), w.Client).Query(w.Context(), a); got.Status != channels.QueryFailed {
			t.Errorf("credentials wrong: got %+v", got)
		}
	})
}

// askCut asks with an answer that is cut at every byte: it says what the whole one
// says, or nothing.
func (p Provider) askCut(w *World, a channels.Attempt) {
	whole := w.newWire(-1, -1)
	want := w.NewDriver(p.Settings, &http.Client{Transport: whole}).Query(w.Context(), a)
	synctest.Wait()
	length := int(whole.read.Load())
	for n := range length {
		got := w.NewDriver(p.Settings, &http.Client{Transport: w.newWire(n, -1)}).Query(w.Context(), a)
		if got.Status != channels.QueryFailed && (got.Status != want.Status || last(got.Reports) != last(want.Reports)) {
			w.Fatalf("cut at %d of %d: got %+v", n, length, got)
		}
	}
}

// A cancellation that succeeded frees the slot at the provider. Until then the contact
// keeps it.
func cancels(t *testing.T, p Provider) {
	p.run(t, Options{Outcomes: []string{p.Completed}, Queue: time.Minute}, func(w *World) {
		unknown := p.attempt(72)
		if got := w.Cancel(unknown); got.Canceled || got.Reason == "" {
			t.Errorf("without a reference: got %+v", got)
		}
		a := p.attempt(71)
		a.NotBefore = time.Now().Add(time.Minute)
		a.ProviderRef = w.Send(a).ProviderRef
		w.After(time.Second)
		got := w.Cancel(a)
		p.keepsSecrets(t, got)
		line := w.sim.Tally().Line(p.Line)
		if got.Canceled != p.Cancels || got.Failed || got.Reason == "" && !p.Cancels || (line.Active == 0) != p.Cancels {
			t.Errorf("waiting: got %+v, line %+v", got, line)
		}
		w.After(10 * time.Minute)
		if outcome := last(w.Reports()); p.Cancels && outcome == "completed" || !p.Cancels && outcome != "completed" {
			t.Errorf("it ended as %s", outcome)
		}
		b := p.attempt(73)
		b.ProviderRef = w.Send(b).ProviderRef
		w.After(10 * time.Minute)
		if got := w.Cancel(b); got.Canceled || got.Failed || got.Reason == "" {
			t.Errorf("done: got %+v", got)
		}
	})
}

// A cancellation whose answer is lost is repeated, and is not thought to have worked.
func cancelsAtAFailingProvider(t *testing.T, p Provider) {
	if !p.Cancels {
		return
	}
	p.run(t, Options{Outcomes: []string{p.Completed}, Queue: time.Hour}, func(w *World) {
		a := p.attempt(71)
		a.NotBefore = time.Now().Add(time.Hour)
		a.ProviderRef = w.Send(a).ProviderRef
		for _, raw := range []Raw{{200, ""}, {200, "<html>"}, {200, "{}"}, {401, ""}, {429, ""}, {500, ""}, {502, ""}, {503, ""}} {
			w.Meddle(answering(raw))
			got := w.Cancel(a)
			p.keepsSecrets(t, got)
			if got.Canceled || !got.Failed || got.Reason == "" {
				t.Errorf("%d %q: got %+v", raw.Status, raw.Body, got)
			}
		}
		w.Meddle(nil)
		for n := range 400 {
			got := w.NewDriver(p.Settings, &http.Client{Transport: w.newWire(n, -1)}).Cancel(w.Context(), a)
			if active := w.sim.Tally().Line(p.Line).Active; got.Canceled && active > 0 || !got.Canceled && got.Reason == "" {
				w.Fatalf("cut at %d: got %+v, %d active", n, got, active)
			}
		}
		if got := w.Cancel(a); !got.Canceled && w.sim.Tally().Line(p.Line).Active > 0 {
			t.Errorf("in the end: got %+v", got)
		}
	})
}
