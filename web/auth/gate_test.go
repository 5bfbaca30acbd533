package auth_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"weir"
	"weir/operators"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/web/auth"
)

const apiCanary = "CANARY-api-token"

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clock stands still.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

// keeper is a gate over a store, with a clock.
type keeper struct {
	t     *testing.T
	store *persistence.Store
	gate  *auth.Gate
	clock *clock
}

func newKeeper(t *testing.T, configured ...string) *keeper {
	t.Helper()
	k := &keeper{t, storetest.SQLite(t), nil, &clock{now: start}}
	k.gate = auth.NewGate(auth.GateOptions{Configured: configured, Store: k.store, Now: k.clock.Now})
	k.refresh()
	return k
}

func (k *keeper) refresh() {
	k.t.Helper()
	if err := k.gate.Refresh(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
}

func (k *keeper) add(expires time.Time, scopes ...operators.Scope) (operators.Token, string) {
	k.t.Helper()
	token, text := operators.NewToken("n", scopes, k.clock.Now(), expires)
	if err := k.store.AddToken(k.t.Context(), token, k.clock.Now()); err != nil {
		k.t.Fatal(err)
	}
	return token, text
}

// wants tries a token for a scope.
func (k *keeper) wants(what, text string, scope operators.Scope, want weir.Code) {
	k.t.Helper()
	r, err := http.NewRequestWithContext(k.t.Context(), "GET", "http://x/", nil)
	if err != nil {
		k.t.Fatal(err)
	}
	if text != "" {
		r.Header.Set("Authorization", "Bearer "+text)
	}
	if _, err := k.gate.Admit(r, scope); weir.CodeOf(err) != want {
		k.t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// The first token closes the gate, and the end of the last one does not open
// it.
func TestAuth_TheGateStaysClosed(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	if !k.gate.Open() {
		t.Fatal("closed without a token")
	}
	k.wants("without any token", "", operators.ScopeChannelsAdmin, "")
	token, text := k.add(start.Add(time.Hour), operators.ScopeRouter)
	k.wants("before the gate has heard of it", "", operators.ScopeChannelsAdmin, "")
	k.refresh()
	k.wants("closed by the first token", "", operators.ScopeRouter, weir.CodeUnauthorised)
	k.wants("the token", text, operators.ScopeRouter, "")
	k.wants("another scope", text, operators.ScopeChannelsAdmin, weir.CodeForbidden)
	k.clock.advance(time.Hour)
	k.wants("the instant it expires, before a refresh", text, operators.ScopeRouter, weir.CodeUnauthorised)
	k.refresh()
	k.wants("expired", "", operators.ScopeRouter, weir.CodeUnauthorised)
	if err := k.store.RevokeToken(t.Context(), token.ID, k.clock.Now()); err != nil {
		t.Fatal(err)
	}
	k.refresh()
	if k.gate.Open() {
		t.Error("the end of the last token opens the gate")
	}
	// Nor does a restart, or losing the table.
	if again := auth.NewGate(auth.GateOptions{Store: k.store}); again.Refresh(t.Context()) != nil || again.Open() {
		t.Error("a start opens the gate")
	}
	if err := k.store.MigrateDown(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	if err := k.gate.Refresh(t.Context()); err == nil || k.gate.Open() {
		t.Errorf("without the table: %v, open %v", err, k.gate.Open())
	}
}

func TestAuth_ConfiguredTokensHaveEveryScope(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, "configured")
	_, text := k.add(time.Time{}, operators.ScopeMetricsRead)
	k.refresh()
	for _, scope := range operators.Scopes() {
		k.wants(string(scope), "configured", scope, "")
	}
	k.wants("of the store", text, operators.ScopeMetricsRead, "")
	k.wants("nobody's", "nobody", operators.ScopeMetricsRead, weir.CodeUnauthorised)
}

func TestAuth_UsesAreNotedLazily(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	token, text := k.add(time.Time{}, operators.ScopeRouter)
	k.refresh()
	used := func() time.Time {
		t.Helper()
		list, err := k.store.Tokens(t.Context())
		if err != nil || len(list) != 1 || list[0].ID != token.ID {
			t.Fatalf("%+v %v", list, err)
		}
		return list[0].Used
	}
	for range 5 {
		k.clock.advance(time.Second)
		k.wants("it", text, operators.ScopeRouter, "")
	}
	if !used().IsZero() {
		t.Error("a request wrote to the store")
	}
	if err := k.gate.StoreLastUsed(t.Context()); err != nil || !used().Equal(start.Add(5*time.Second)) {
		t.Errorf("%v, %v", used(), err)
	}
	k.clock.advance(time.Hour)
	if err := k.gate.StoreLastUsed(t.Context()); err != nil || !used().Equal(start.Add(5*time.Second)) {
		t.Errorf("it was not used, but %v was recorded (%v)", used(), err)
	}
}

// brokenTokens is a store that does not respond.
type brokenTokens struct {
	operators.TokenStore
	down bool
}

func (b *brokenTokens) LiveTokens(ctx context.Context, now time.Time) ([]operators.Token, bool, error) {
	if b.down {
		return nil, false, errors.New("down")
	}
	return b.TokenStore.LiveTokens(ctx, now)
}

// Tokens stay valid while the store is down; one error reports the failure.
func TestAuth_TheGateWorksWithoutItsStore(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	_, text := k.add(time.Time{}, operators.ScopeRouter)
	store := &brokenTokens{TokenStore: k.store}
	k.gate = auth.NewGate(auth.GateOptions{Store: store, Now: k.clock.Now})
	k.refresh()
	store.down = true
	if err := k.gate.Refresh(t.Context()); err == nil {
		t.Error("the first failure is not told")
	}
	k.refresh()
	k.wants("a known token", text, operators.ScopeRouter, "")
	k.wants("no token", "", operators.ScopeRouter, weir.CodeUnauthorised)
	store.down = false
	k.refresh()
	if store.down = true; k.gate.Refresh(t.Context()) == nil {
		t.Error("the next failure is not told")
	}
}
