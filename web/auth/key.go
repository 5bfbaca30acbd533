package auth

import (
	"crypto/subtle"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/ops"
)

// key is a token, with what the gate records about it.
type key struct {
	ops.Token
	scopes   scopeSet
	weak     bool         // short enough to be guessed
	lastUsed atomic.Int64 // in microseconds; 0: unused since the last StoreLastUsed
	revoked  atomic.Bool  // revoked, or expired

	mu     sync.Mutex
	bucket bucket
}

func newKey(t ops.Token) *key {
	k := &key{Token: t}
	for _, scope := range t.Scopes {
		k.scopes |= scopeBit(scope)
	}
	return k
}

// matches compares in constant time.
func (k *key) matches(hash ops.TokenHash) bool {
	return subtle.ConstantTimeCompare(hash[:], k.Hash[:]) == 1
}

// take counts a request and returns how long to wait; zero: admitted.
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

func allScopes() scopeSet { return 1<<len(ops.Scopes()) - 1 }

// scopeBit returns the bit of a scope; 0 for an unknown scope.
func scopeBit(s ops.Scope) scopeSet {
	i := slices.Index(ops.Scopes(), s)
	if i < 0 {
		return 0
	}
	return 1 << i
}
