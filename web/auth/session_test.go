package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"weir"
	"weir/operators"
	"weir/web/auth"
)

// countedSessions counts reads, and fails on demand.
type countedSessions struct {
	operators.SessionStore
	reads, extended int
	down            bool
	during          func() // called during a read
}

func (c *countedSessions) Session(ctx context.Context, id operators.TokenHash, now time.Time) (operators.Session, bool, error) {
	if c.reads++; c.down {
		return operators.Session{}, false, errors.New("down")
	}
	if c.during != nil {
		c.during()
	}
	return c.SessionStore.Session(ctx, id, now)
}

func (c *countedSessions) ExtendSession(ctx context.Context, id operators.TokenHash, expires time.Time) error {
	c.extended++
	return c.SessionStore.ExtendSession(ctx, id, expires)
}

// sessionKeeper is a gate with sessions.
type sessionKeeper struct {
	*keeper
	sessions *countedSessions
}

func newSessionKeeper(t *testing.T) *sessionKeeper {
	t.Helper()
	k := &sessionKeeper{keeper: newKeeper(t, apiCanary)}
	k.sessions = &countedSessions{SessionStore: k.store}
	k.gate = k.another()
	return k
}

// another returns the gate of another process on the same store.
func (k *sessionKeeper) another() *auth.Gate {
	return auth.NewGate(auth.GateOptions{Configured: []string{apiCanary}, Store: k.store, Sessions: k.sessions, Now: k.clock.Now})
}

func (k *sessionKeeper) begin() string {
	k.t.Helper()
	text, err := k.gate.Begin(k.t.Context(), apiCanary)
	if err != nil || len(text) < 52 {
		k.t.Fatalf("session %q: %v", text, err)
	}
	return text
}

func (k *sessionKeeper) opens(what string, g *auth.Gate, text string, want weir.Code) {
	k.t.Helper()
	r, err := http.NewRequestWithContext(auth.WithSession(k.t.Context()), "GET", "http://x/", nil)
	if err != nil {
		k.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+text)
	if id, err := g.Admit(r, operators.ScopeRouter); weir.CodeOf(err) != want || err == nil && id != "configured-1" {
		k.t.Errorf("%s: %q %v, want %q", what, id, err, want)
	}
}

func TestSession_IsNoToken(t *testing.T) {
	t.Parallel()
	k := newSessionKeeper(t)
	text := k.begin()
	k.opens("a session", k.gate, text, "")
	k.wants("a session sent to the API", text, operators.ScopeRouter, weir.CodeUnauthorised)
	k.opens("a token in place of a session", k.gate, apiCanary, weir.CodeUnauthorised)
	if _, err := k.gate.Begin(t.Context(), "wrong"); weir.CodeOf(err) != weir.CodeUnauthorised {
		t.Errorf("a session of a wrong token: %v", err)
	}
}

// A session is read at most once in five seconds and written at most once in
// five minutes, however many requests use it.
func TestSession_IsReadSeldom(t *testing.T) {
	t.Parallel()
	k := newSessionKeeper(t)
	text := k.begin()
	for range 1000 {
		k.opens("a session", k.gate, text, "")
	}
	if k.sessions.reads != 1 || k.sessions.extended != 0 {
		t.Errorf("%d reads, %d writes", k.sessions.reads, k.sessions.extended)
	}
	for range 120 {
		k.clock.advance(5 * time.Second)
		k.opens("a session", k.gate, text, "")
	}
	if k.sessions.reads != 121 || k.sessions.extended != 2 {
		t.Errorf("%d reads, %d writes", k.sessions.reads, k.sessions.extended)
	}
	for range 50 {
		k.opens("no session", k.gate, "x", weir.CodeUnauthorised)
		k.clock.advance(time.Millisecond)
	}
	if k.sessions.reads != 122 {
		t.Errorf("%d reads", k.sessions.reads)
	}
}

func TestSession_Expires(t *testing.T) {
	t.Parallel()
	k := newSessionKeeper(t)
	idle, used := k.begin(), k.begin()
	for range 11 {
		k.clock.advance(time.Hour)
		k.opens("a session in use", k.gate, used, "")
	}
	k.opens("a session without use", k.gate, idle, weir.CodeUnauthorised)
	k.clock.advance(time.Hour)
	k.opens("a session in use, after 12 hours", k.gate, used, weir.CodeUnauthorised)
	if n, err := k.store.PurgeSessions(t.Context(), k.clock.Now(), 10); n != 2 || err != nil {
		t.Errorf("%d purged: %v", n, err)
	}
}

func TestSession_EndsHereAtOnceAndElsewhereSoon(t *testing.T) {
	t.Parallel()
	k := newSessionKeeper(t)
	text, other := k.begin(), k.another()
	k.opens("a session", k.gate, text, "")
	k.opens("a session elsewhere", other, text, "")
	if err := k.gate.End(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	k.opens("after the log-out", k.gate, text, weir.CodeUnauthorised)
	k.clock.advance(5 * time.Second)
	k.opens("after the log-out, elsewhere", other, text, weir.CodeUnauthorised)
}

// While the store is down, cached sessions stay valid, and others get a 503 or
// 500.
func TestSession_InTheCacheStaysValidWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	k := newSessionKeeper(t)
	text, unknown := k.begin(), k.begin()
	k.opens("a session", k.gate, text, "")
	k.sessions.down = true
	k.clock.advance(time.Minute)
	k.opens("a known session", k.gate, text, "")
	k.opens("one that was not read", k.gate, unknown, weir.CodeOf(errors.New("down")))
	k.clock.advance(3 * time.Hour)
	k.opens("a known session that has expired", k.gate, text, weir.CodeUnauthorised)
}

// Wrong sessions from many addresses evict a session from the cache while it is
// being read again: it stays valid.
func TestSession_EvictedDuringItsReadStaysValid(t *testing.T) {
	t.Parallel()
	k := newSessionKeeper(t)
	text := k.begin()
	k.opens("a session", k.gate, text, "")
	k.clock.advance(5 * time.Second)
	k.sessions.during = func() {
		k.sessions.during = nil
		for i := range 4096 {
			r := httptest.NewRequestWithContext(auth.WithSession(t.Context()), "GET", "/", nil)
			r.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", i>>8, i&255)
			r.Header.Set("Authorization", fmt.Sprint("Bearer wrong-", i))
			if _, err := k.gate.Admit(r); weir.CodeOf(err) != weir.CodeUnauthorised {
				t.Fatal(err)
			}
		}
	}
	k.opens("after the flood", k.gate, text, "")
}
