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
	"weir/web/webtest"
)

// limited returns a handler with a rate of 10 per second, and tokens.
func limited(t *testing.T) (*webtest.Rig, webtest.Bearers) {
	t.Helper()
	clock := &webtest.Clock{Instant: webtest.Start()}
	store := storetest.SQLite(t)
	b := webtest.Bearers{Gate: auth.NewGate(auth.GateOptions{Configured: []string{webtest.APICanary}, Store: store, Rate: 10, Now: clock.Now}), Text: map[string]string{}}
	for _, name := range []string{"one", "two"} {
		token, text := operators.NewToken(name, operators.Scopes(), webtest.Start(), time.Time{})
		if err := store.AddToken(t.Context(), token, webtest.Start()); err != nil {
			t.Fatal(err)
		}
		b.Text[name] = text
	}
	if err := b.Gate.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := webtest.New(t, func(o *web.Options) { o.Gate, o.Now = b.Gate, clock.Now })
	r.Clock = clock
	return r, b
}

func TestLimit_EachTokenHasItsRate(t *testing.T) {
	t.Parallel()
	r, b := limited(t)
	for i := range 20 {
		if g := r.From("10.0.0."+strconv.Itoa(i)+":1", b.Text["one"]); g.Status != 200 {
			t.Fatalf("request %d: %d", i, g.Status)
		}
	}
	g := r.From("10.0.1.1:1", b.Text["one"])
	if g.Status != 429 || g.Problem(t).Code != weir.CodeLimited || g.Header.Get("Retry-After") != "1" {
		t.Errorf("%d %v %s", g.Status, g.Header, g.Body)
	}
	if g := r.From("10.0.1.1:1", b.Text["two"]); g.Status != 200 {
		t.Errorf("another token waits, too: %d", g.Status)
	}
	r.Clock.Advance(100 * time.Millisecond)
	if g := r.From("10.0.1.1:1", b.Text["one"]); g.Status != 200 {
		t.Errorf("after a wait: %d", g.Status)
	}
	if n := r.Counter("weir_http_refusals_total", "reason", "too_many_requests"); n != 1 {
		t.Errorf("%v refusals were counted", n)
	}
}

func TestLimit_EachNetworkHasItsRateWhileEverythingIsOpen(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	r := webtest.New(t, func(o *web.Options) { o.Gate = auth.NewGate(auth.GateOptions{Rate: 10, Now: clock.Now}) })
	for range 20 {
		if g := r.From("[2001:db8::1]:1", ""); g.Status != 200 {
			t.Fatal(g.Status)
		}
	}
	// The same /64 network, and another one.
	if one, other := r.From("[2001:db8::2]:1", ""), r.From("[2001:db8:0:1::1]:1", ""); one.Status != 429 || other.Status != 200 {
		t.Errorf("%d, %d", one.Status, other.Status)
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
		if g := r.From(guesser, fmt.Sprintf("guess-%d", i)); g.Status == 401 {
			refused++
		} else if g.Status != 429 {
			t.Fatal(g.Status)
		}
	}
	if refused != 20 {
		t.Errorf("%d guesses were answered", refused)
	}
	for what, g := range map[string]webtest.Got{"the right guess": r.From(guesser, webtest.APICanary), "a wrong one": r.From(guesser, "guess-99")} {
		if g.Status != 429 {
			t.Errorf("%s: %d", what, g.Status)
		}
	}
	for what, g := range map[string]webtest.Got{"a token of the store": r.From(guesser, b.Text["one"]), "elsewhere": r.From(other, webtest.APICanary)} {
		if g.Status != 200 {
			t.Errorf("%s: %d", what, g.Status)
		}
	}
	if g := r.Serve(httptest.NewRequest("GET", "/livez", nil)); g.Status != 200 {
		t.Errorf("livez: %d", g.Status)
	}
	r.Clock.Advance(5 * time.Second)
	if g := r.From(guesser, webtest.APICanary); g.Status != 200 {
		t.Errorf("after a wait: %d", g.Status)
	}
}

// A client that keeps using an old token does not count as guessing: its
// neighbors behind the same proxy are admitted.
func TestLimit_AnOldTokenIsOneGuess(t *testing.T) {
	t.Parallel()
	const address = "10.0.0.1:1"
	r, _ := limited(t)
	for i := range 200 {
		if g := r.From(address, "old"); g.Status != 401 && (i < 100 || g.Status != 429) {
			t.Fatalf("request %d: %d", i, g.Status)
		}
	}
	if g := r.From(address, webtest.APICanary); g.Status != 200 {
		t.Errorf("its neighbour: %d", g.Status)
	}
	if g := r.From(address, ""); g.Status != 429 {
		t.Errorf("without a token: %d", g.Status)
	}
}
