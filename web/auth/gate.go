// Package auth authenticates and authorizes requests. Tokens are in memory: no
// token check waits for the store.
//
// It also holds the rate and concurrency limits, the audit trail, and the mask of
// phone numbers: a token without pii:read sees two digits of a number, in texts too.
package auth

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"weir"
	"weir/operators"
	"weir/web/httpjson"
)

// GateOptions configure a [Gate].
type GateOptions struct {
	// Configured are tokens that have every scope.
	Configured []string
	// Store holds the other tokens; nil: there are none.
	Store operators.TokenStore
	// Sessions stores the dashboard's sessions; nil: every login fails.
	Sessions operators.SessionStore
	// People log in to the dashboard at an OpenID Connect provider; nil: nobody does.
	People *People
	// Rate is the rate limit of each token, in requests per second; 0: no
	// limit.
	Rate float64
	Now  func() time.Time // nil: time.Now
}

// Gate authenticates and authorizes requests. It holds all tokens in memory, so
// that no token check waits for the store: call [Gate.Refresh] every few
// seconds, and [Gate.StoreLastUsed] every minute.
//
// While no token is configured, the store has never held one and nobody logs in at a
// provider, the gate is open: every request is allowed everything, except state-changing cross-origin
// requests from browsers. Once it has seen a token it stays closed for good,
// even after the last one is revoked or expires: revoking the last token never
// reopens the API.
type Gate struct {
	store      operators.TokenStore
	rate       float64
	now        func() time.Time
	configured []*key
	stored     atomic.Pointer[map[string]*key] // the store's tokens, by id
	closed     atomic.Bool
	stale      atomic.Bool // the latest refresh failed
	addresses  *addresses
	sessions   sessions
	people     *People
	origins    *http.CrossOriginProtection // checked while the gate is open
}

// NewGate returns a gate that knows the configured tokens. It does not read the
// store.
func NewGate(o GateOptions) *Gate {
	g := &Gate{store: o.Store, people: o.People, rate: o.Rate, now: o.Now, addresses: newAddresses(o.Rate), origins: http.NewCrossOriginProtection()}
	g.sessions = sessions{store: o.Sessions, known: map[operators.TokenHash]*session{}}
	if g.now == nil {
		g.now = time.Now
	}
	for i, text := range o.Configured {
		g.configured = append(g.configured, &key{
			bucket: newBucket(o.Rate),
			Token:  operators.Token{ID: fmt.Sprintf("configured-%d", i+1), Hash: operators.HashToken(text)}, rights: operators.RightsOf(operators.Scopes()), weak: operators.WeakToken(text),
		})
	}
	g.stored.Store(&map[string]*key{})
	g.closed.Store(len(g.configured) > 0 || o.People != nil)
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
		if k := was[live[i].ID]; k != nil && k.matches(live[i].Hash) {
			is[k.ID] = k
			continue
		}
		is[live[i].ID] = newKey(live[i], g.rate)
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

// find compares hash with every configured token, and with the store's token
// that text names, in constant time.
func (g *Gate) find(text string, hash operators.TokenHash) *key {
	var found *key
	for _, k := range g.configured {
		if k.matches(hash) {
			found = k
		}
	}
	if id, ok := operators.TokenID(text); ok {
		if k := (*g.stored.Load())[id]; k != nil && k.matches(hash) {
			found = k
		}
	}
	return found
}

// ErrWrongToken returns the error of a request with an invalid token.
func ErrWrongToken() error {
	return &weir.Error{Code: weir.CodeUnauthorised, Message: "the bearer token is not valid: it is mistyped, revoked or expired, or of another installation", Cause: httpjson.ErrInvalidToken}
}

// key is a token, with what the gate records about it.
type key struct {
	operators.Token
	rights   operators.Rights
	weak     bool         // short enough to be guessed
	lastUsed atomic.Int64 // in microseconds; 0: unused since the last StoreLastUsed
	revoked  atomic.Bool  // revoked, or expired

	bucket *rate.Limiter
}

func newKey(t operators.Token, perSecond float64) *key {
	return &key{Token: t, rights: operators.RightsOf(t.Scopes), bucket: newBucket(perSecond)}
}

// matches compares in constant time.
func (k *key) matches(hash operators.TokenHash) bool {
	return subtle.ConstantTimeCompare(hash[:], k.Hash[:]) == 1
}
