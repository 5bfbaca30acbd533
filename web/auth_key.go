package web

import (
	"crypto/subtle"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir"
)

// key is a token that opens the gate.
type key struct {
	weir.Token
	scopes scopeSet
	weak   bool         // short enough to be guessed
	seen   atomic.Int64 // in microseconds; 0: noted, or never
	gone   atomic.Bool  // revoked, or expired

	mu     sync.Mutex
	bucket bucket
}

func newKey(t weir.Token) *key {
	k := &key{Token: t}
	for _, scope := range t.Scopes {
		k.scopes |= scopeBit(scope)
	}
	return k
}

// is compares in constant time.
func (k *key) is(hash weir.TokenHash) bool {
	return subtle.ConstantTimeCompare(hash[:], k.Hash[:]) == 1
}

// take counts a request.
func (k *key) take(now time.Time, rate float64) time.Duration {
	if rate == 0 {
		return 0
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bucket.take(now, rate, burstOf(rate))
}

// scopeSet is a set of scopes, a bit for each.
type scopeSet uint16

func allScopes() scopeSet { return 1<<len(weir.Scopes()) - 1 }

// scopeBit is the bit of a scope; none for one that is not known.
func scopeBit(s weir.Scope) scopeSet {
	i := slices.Index(weir.Scopes(), s)
	if i < 0 {
		return 0
	}
	return 1 << i
}
