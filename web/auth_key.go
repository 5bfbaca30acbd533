package web

import (
	"crypto/subtle"
	"math"
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

// strongBits is the size from which a token cannot be guessed at any rate.
const strongBits = 128

// weakToken reports whether a configured token could be guessed: it has fewer than
// [strongBits] for the characters that it uses, or repeats a few of them.
// Punctuation does not count.
func weakToken(text string) bool {
	var digits, hex, lower, upper, length int
	seen := map[rune]bool{}
	for _, r := range text {
		switch {
		case '0' <= r && r <= '9':
			digits = 10
		case 'a' <= r && r <= 'f':
			hex = 6
		case 'g' <= r && r <= 'z':
			lower = 20
		case 'A' <= r && r <= 'Z':
			upper = 26
		default:
			continue
		}
		length++
		seen[r] = true
	}
	if lower > 0 {
		hex = 6
	}
	if upper > 0 && lower > 0 {
		digits = 12 // base64
	}
	return float64(length)*math.Log2(float64(max(1, digits+hex+lower+upper))) < strongBits || len(seen) < 8
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
