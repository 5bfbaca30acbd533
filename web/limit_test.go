package web_test

import (
	"fmt"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"weir"
	"weir/operators"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/auth"
)

// limited returns a handler with a rate of 10 per second, and tokens.
func limited(t *testing.T) (*rig, bearers) {
	t.Helper()
	clock := &clock{now: start}
	store := storetest.SQLite(t)
	b := bearers{auth.NewGate(auth.GateOptions{Configured: []string{apiCanary}, Store: store, Rate: 10, Now: clock.Now}), map[string]string{}}
	for _, name := range []string{"one", "two"} {
		token, text := operators.NewToken(name, operators.Scopes(), start, time.Time{})
		if err := store.AddToken(t.Context(), token, start); err != nil {
			t.Fatal(err)
		}
		b.text[name] = text
	}
	if err := b.gate.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(o *web.Options) { o.Gate, o.Now = b.gate, clock.Now })
	r.clock = clock
	return r, b
}

func (r *rig) from(address, token string) got {
	r.t.Helper()
	req := httptest.NewRequest("GET", "/v1/channels", nil)
	req.RemoteAddr = address
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	g := r.serve(req)
	r.holds(req, g)
	return g
}

func TestLimit_EachTokenHasItsRate(t *testing.T) {
	t.Parallel()
	r, b := limited(t)
	for i := range 20 {
		if g := r.from("10.0.0."+strconv.Itoa(i)+":1", b.text["one"]); g.status != 200 {
			t.Fatalf("request %d: %d", i, g.status)
		}
	}
	g := r.from("10.0.1.1:1", b.text["one"])
	if g.status != 429 || g.problem(t).Code != weir.CodeLimited || g.header.Get("Retry-After") != "1" {
		t.Errorf("%d %v %s", g.status, g.header, g.body)
	}
	if g := r.from("10.0.1.1:1", b.text["two"]); g.status != 200 {
		t.Errorf("another token waits, too: %d", g.status)
	}
	r.clock.advance(100 * time.Millisecond)
	if g := r.from("10.0.1.1:1", b.text["one"]); g.status != 200 {
		t.Errorf("after a wait: %d", g.status)
	}
	if n := r.counter("weir_http_refusals_total", "reason", "too_many_requests"); n != 1 {
		t.Errorf("%v refusals were counted", n)
	}
}

func TestLimit_EachNetworkHasItsRateWhileEverythingIsOpen(t *testing.T) {
	t.Parallel()
	clock := &clock{now: start}
	r := newRig(t, func(o *web.Options) { o.Gate = auth.NewGate(auth.GateOptions{Rate: 10, Now: clock.Now}) })
	for range 20 {
		if g := r.from("[2001:db8::1]:1", ""); g.status != 200 {
			t.Fatal(g.status)
		}
	}
	// The same /64 network, and another one.
	if one, other := r.from("[2001:db8::2]:1", ""), r.from("[2001:db8:0:1::1]:1", ""); one.status != 429 || other.status != 200 {
		t.Errorf("%d, %d", one.status, other.status)
	}
}

// A client that guesses too often no longer learns whether a guess is right; a
// token that cannot be guessed works throughout, and so does every other
// address.
func TestLimit_GuessersLearnNothing(t *testing.T) {
	t.Parallel()
	const guesser, other = "10.0.0.1:1", "10.0.0.2:1"
	r, b := limited(t)
	refused := 0
	for i := range 25 {
		if g := r.from(guesser, fmt.Sprintf("guess-%d", i)); g.status == 401 {
			refused++
		} else if g.status != 429 {
			t.Fatal(g.status)
		}
	}
	if refused != 20 {
		t.Errorf("%d guesses were answered", refused)
	}
	for what, g := range map[string]got{"the right guess": r.from(guesser, apiCanary), "a wrong one": r.from(guesser, "guess-99")} {
		if g.status != 429 {
			t.Errorf("%s: %d", what, g.status)
		}
	}
	for what, g := range map[string]got{"a token of the store": r.from(guesser, b.text["one"]), "elsewhere": r.from(other, apiCanary)} {
		if g.status != 200 {
			t.Errorf("%s: %d", what, g.status)
		}
	}
	if g := r.serve(httptest.NewRequest("GET", "/livez", nil)); g.status != 200 {
		t.Errorf("livez: %d", g.status)
	}
	r.clock.advance(5 * time.Second)
	if g := r.from(guesser, apiCanary); g.status != 200 {
		t.Errorf("after a wait: %d", g.status)
	}
}

// A client that keeps using an old token does not count as guessing: its
// neighbors behind the same proxy are admitted.
func TestLimit_AnOldTokenIsOneGuess(t *testing.T) {
	t.Parallel()
	const address = "10.0.0.1:1"
	r, _ := limited(t)
	for i := range 200 {
		if g := r.from(address, "old"); g.status != 401 && (i < 100 || g.status != 429) {
			t.Fatalf("request %d: %d", i, g.status)
		}
	}
	if g := r.from(address, apiCanary); g.status != 200 {
		t.Errorf("its neighbour: %d", g.status)
	}
	if g := r.from(address, ""); g.status != 429 {
		t.Errorf("without a token: %d", g.status)
	}
}
