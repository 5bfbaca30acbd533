// Package auth authenticates and authorizes requests. Tokens are in memory: no
// token check waits for the store.
//
// It also holds the rate and concurrency limits, the audit trail, and the mask of
// phone numbers: a token without pii:read sees two digits of a number, in texts too.
package auth

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"weir"
	"weir/ops"
	"weir/web/wire"
)

// GateOptions configure a [Gate].
type GateOptions struct {
	// Configured are tokens that have every scope.
	Configured []string
	// Store holds the other tokens; nil: there are none.
	Store ops.TokenStore
	// Sessions stores the dashboard's sessions; nil: every login fails.
	Sessions ops.SessionStore
	// Rate is the rate limit of each token, in requests per second; 0: no
	// limit.
	Rate float64
	Now  func() time.Time // nil: time.Now
}

// Gate authenticates and authorizes requests. It holds all tokens in memory, so
// that no token check waits for the store: call [Gate.Refresh] every few
// seconds, and [Gate.StoreLastUsed] every minute.
//
// While no token is configured and the store has never held one, the gate is
// open: every request is allowed everything, except state-changing cross-origin
// requests from browsers. Once it has seen a token it stays closed for good,
// even after the last one is revoked or expires: losing a token must not grant
// rights to everyone.
type Gate struct {
	store      ops.TokenStore
	rate       float64
	now        func() time.Time
	configured []*key
	stored     atomic.Pointer[map[string]*key] // the store's tokens, by id
	closed     atomic.Bool
	stale      atomic.Bool // the latest refresh failed
	addresses  *addresses
	sessions   sessions
	origins    *http.CrossOriginProtection // checked while the gate is open
}

// NewGate returns a gate that knows the configured tokens. It does not read the
// store.
func NewGate(o GateOptions) *Gate {
	g := &Gate{store: o.Store, rate: o.Rate, now: o.Now, addresses: newAddresses(o.Rate), origins: http.NewCrossOriginProtection()}
	g.sessions = sessions{store: o.Sessions, known: map[ops.TokenHash]*session{}}
	if g.now == nil {
		g.now = time.Now
	}
	for i, text := range o.Configured {
		g.configured = append(g.configured, &key{
			Token: ops.Token{ID: fmt.Sprintf("configured-%d", i+1), Hash: ops.HashToken(text)}, scopes: allScopes(), weak: ops.WeakToken(text),
		})
	}
	g.stored.Store(&map[string]*key{})
	g.closed.Store(len(g.configured) > 0)
	return g
}

// Open reports whether every request is allowed everything.
func (g *Gate) Open() bool { return !g.closed.Load() }

// Refresh reads the store's tokens. If that fails, the cached ones stay valid.
// Of consecutive failures it returns only the first.
func (g *Gate) Refresh(ctx context.Context) error {
	if g.store == nil {
		return nil
	}
	live, ever, err := g.store.LiveTokens(ctx, g.now())
	if err != nil {
		if g.stale.Swap(true) {
			return nil
		}
		return err
	}
	g.stale.Store(false)
	was, is := *g.stored.Load(), make(map[string]*key, len(live))
	for i := range live {
		if k := was[live[i].ID]; k != nil && k.Hash == live[i].Hash {
			is[k.ID] = k
			continue
		}
		is[live[i].ID] = newKey(live[i])
	}
	for id, k := range was {
		if is[id] != k {
			k.revoked.Store(true)
		}
	}
	g.stored.Store(&is)
	if ever {
		g.closed.Store(true)
	}
	return nil
}

// Stale reports whether the latest [Gate.Refresh] failed to read the tokens.
func (g *Gate) Stale() bool { return g.stale.Load() }

// StoreLastUsed stores when each token was last used.
func (g *Gate) StoreLastUsed(ctx context.Context) error {
	if g.store == nil {
		return nil
	}
	seen := map[string]time.Time{}
	for id, k := range *g.stored.Load() {
		if at := k.lastUsed.Swap(0); at != 0 {
			seen[id] = time.UnixMicro(at)
		}
	}
	if len(seen) == 0 {
		return nil
	}
	return g.store.TokensUsed(ctx, seen)
}

// Admit admits a request whose token has all the scopes, and returns the
// token's id. While the gate is open it admits every request, with an empty id.
func (g *Gate) Admit(r *http.Request, all ...ops.Scope) (id string, err error) {
	v, err := g.Authenticate(r)
	if err != nil {
		return "", err
	}
	for _, scope := range all {
		if !v.Has(scope) {
			return v.ID(), ErrForbidden(scope)
		}
	}
	return v.ID(), nil
}

// Authenticate identifies the sender of a request and applies the rate limits.
func (g *Gate) Authenticate(r *http.Request) (*Principal, error) {
	now, from := g.now(), ClientAddress(r)
	if g.Open() {
		// Without tokens, the origin and the address are all there is to check.
		if g.origins.Check(r) != nil {
			return nil, weir.Errorf(weir.CodeForbidden, "while there is no token a page of another site cannot act here")
		}
		if wait := g.addresses.request(from, now); wait > 0 {
			return nil, errLimited(wait)
		}
		return &Principal{gate: g}, nil
	}
	text, given := bearer(r)
	if !given {
		return nil, g.refuse(from, nil, now)
	}
	hash := ops.HashToken(text)
	k, err := g.identify(r, text, hash, now)
	if err != nil {
		return nil, err
	}
	if k == nil || !k.Live(now) {
		return nil, g.refuse(from, &hash, now)
	}
	k.lastUsed.Store(now.UnixMicro())
	if wait := k.take(now, g.rate); wait > 0 {
		return nil, errLimited(wait)
	}
	v := &Principal{gate: g, key: k}
	if r.Context().Value(sessionMark{}) != nil {
		v.sessionValid = func() bool {
			k, err := g.session(r.Context(), text, from)
			return err != nil || k != nil
		}
	}
	return v, nil
}

// identify returns the key of a bearer token; nil: none.
func (g *Gate) identify(r *http.Request, text string, hash ops.TokenHash, now time.Time) (*key, error) {
	from := ClientAddress(r)
	if r.Context().Value(sessionMark{}) != nil {
		return g.session(r.Context(), text, from)
	}
	k := g.find(text, hash)
	if k == nil || k.weak {
		// After too many guesses the response must not reveal whether this one
		// is right.
		if wait := g.addresses.guessing(from, now); wait > 0 {
			return nil, errLimited(wait)
		}
	}
	return k, nil
}

// find compares hash with every configured token, and with the store's token
// that text names, in constant time.
func (g *Gate) find(text string, hash ops.TokenHash) *key {
	var found *key
	for _, k := range g.configured {
		if k.matches(hash) {
			found = k
		}
	}
	if id, ok := ops.TokenID(text); ok {
		if k := (*g.stored.Load())[id]; k != nil && k.matches(hash) {
			found = k
		}
	}
	return found
}

func (g *Gate) refuse(from netip.Addr, wrong *ops.TokenHash, now time.Time) error {
	if wait := g.addresses.refusal(from, wrong, now); wait > 0 {
		return errLimited(wait)
	}
	if wrong == nil {
		return errNoToken()
	}
	return ErrWrongToken()
}

// bearer returns the bearer token of a request.
func bearer(r *http.Request) (text string, given bool) {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	text = strings.TrimSpace(text)
	return text, text != "" && strings.EqualFold(scheme, "Bearer")
}

func errNoToken() error {
	return weir.Errorf(weir.CodeUnauthorised, "the request has no bearer token; send one: Authorization: Bearer <token>")
}

func ErrWrongToken() error {
	return &weir.Error{Code: weir.CodeUnauthorised, Message: "the bearer token is not valid: it is mistyped, revoked or expired, or of another installation", Cause: wire.ErrInvalidToken}
}

func ErrForbidden(oneOf ...ops.Scope) error {
	return weir.Errorf(weir.CodeForbidden, "the token lacks the scope: %s", scopeWords(oneOf, " or "))
}

func scopeWords(list []ops.Scope, between string) string {
	words := make([]string, len(list))
	for i, scope := range list {
		words[i] = string(scope)
	}
	return strings.Join(words, between)
}

// Principal is the authenticated sender of a request.
type Principal struct {
	gate         *Gate
	key          *key        // nil: the gate is open
	sessionValid func() bool // for a session: reports whether it still exists
}

// ID returns the id of the visitor's token; empty: the gate is open.
func (v *Principal) ID() string {
	if v == nil || v.key == nil {
		return ""
	}
	return v.key.ID
}

// Name returns the name of the token; ok is false while the gate is open.
func (v *Principal) Name() (_ string, ok bool) {
	if v.key == nil {
		return "", false
	}
	return v.key.Name, true
}

func (v *Principal) Has(scope ops.Scope) bool {
	return v.key == nil || v.key.scopes&scopeBit(scope) != 0
}

// Require returns an error if the visitor has none of the scopes.
func (v *Principal) Require(oneOf []ops.Scope) error {
	if slices.ContainsFunc(oneOf, v.Has) {
		return nil
	}
	return ErrForbidden(oneOf...)
}

// StillAdmitted reports whether a visitor admitted earlier would still be admitted.
func (v *Principal) StillAdmitted() bool {
	if v.key == nil {
		return v.gate.Open()
	}
	return !v.key.revoked.Load() && v.key.Live(v.gate.now()) && (v.sessionValid == nil || v.sessionValid())
}
