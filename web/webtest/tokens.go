package webtest

import (
	"testing"
	"time"

	"weir/operators"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/auth"
)

// Bearers holds a gate over a store, with a token of every kind.
type Bearers struct {
	Gate *auth.Gate
	Text map[string]string // scope, expired, revoked → the token
}

func NewBearers(t *testing.T, now func() time.Time) Bearers {
	t.Helper()
	store := storetest.SQLite(t)
	b := Bearers{auth.NewGate(auth.GateOptions{Configured: []string{APICanary}, Store: store, Now: now}), map[string]string{"configured": APICanary}}
	add := func(name string, expires time.Time, scopes ...operators.Scope) operators.Token {
		token, text := operators.NewToken(name, scopes, now().Add(-time.Hour), expires)
		if err := store.AddToken(t.Context(), token, now()); err != nil {
			t.Fatal(err)
		}
		b.Text[name] = text
		return token
	}
	for _, scope := range operators.Scopes() {
		add(string(scope), time.Time{}, scope)
	}
	for _, scope := range operators.LimitableScopes() {
		add(string(scope.Limit("north-")), time.Time{}, scope.Limit("north-"))
	}
	add("expired", now().Add(-time.Minute), operators.Scopes()...)
	revoked := add("revoked", time.Time{}, operators.Scopes()...)
	if err := store.RevokeToken(t.Context(), revoked.ID, now()); err != nil {
		t.Fatal(err)
	}
	if err := b.Gate.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// TokenRig returns a Weir with a token of every scope.
func TokenRig(t *testing.T) (*Rig, Bearers, *Clock) {
	t.Helper()
	clock := &Clock{Instant: Start()}
	b := NewBearers(t, clock.Now)
	return New(t, func(o *web.Options) { o.Gate, o.Now = b.Gate, clock.Now }), b, clock
}
