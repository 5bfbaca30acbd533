package operators

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"math"
	"slices"
	"strings"
	"time"
)

// Scope is a permission of a token. As a token has it, it may be limited to names: see [ParseScope].
type Scope string

// The scopes. A token has exactly the scopes that it was given.
const (
	ScopeContactsWrite  Scope = "contacts:write"  // queue and cancel contacts, report the progress of conversations
	ScopeContactsExempt Scope = "contacts:exempt" // also for purposes that reach people who refused
	ScopeContactsRead   Scope = "contacts:read"   // read contacts, respondents, messages and events
	ScopeChannelsAdmin  Scope = "channels:admin"  // create, change, delete and read channels
	ScopeSurveysAdmin   Scope = "surveys:admin"   // create, change, run, delete and read surveys
	ScopeRouter         Scope = "router"          // follow the router's events; with pii:read, use the router
	ScopeWebhooksAdmin  Scope = "webhooks:admin"  // create, change, test, replay, delete and read webhooks, and so have any event sent anywhere
	ScopePeopleAdmin    Scope = "people:admin"    // record and read what people said about being contacted
	ScopeTokensAdmin    Scope = "tokens:admin"    // create, list and revoke tokens; a new token has only scopes of its maker
	ScopeMetricsRead    Scope = "metrics:read"    // scrape the metrics
	ScopePIIRead        Scope = "pii:read"        // see full phone numbers; others see two digits
)

// Scopes returns every scope.
func Scopes() []Scope {
	return []Scope{
		ScopeContactsWrite, ScopeContactsExempt, ScopeContactsRead, ScopeChannelsAdmin, ScopeSurveysAdmin, ScopeRouter, ScopeWebhooksAdmin, ScopePeopleAdmin, ScopeTokensAdmin, ScopeMetricsRead, ScopePIIRead,
	}
}

// Known reports whether the scope exists. One with a limit is none of [Scopes].
func (s Scope) Known() bool { return slices.Contains(Scopes(), s) }

// TokenHash is the stored hash of a token's text. A text of 256 random bits
// needs no slower hash.
type TokenHash [sha256.Size]byte

// HashToken hashes the whole text of a token.
func HashToken(text string) TokenHash { return sha256.Sum256([]byte(text)) }

// Token is a right to use the API, without the secret text that proves it.
type Token struct {
	ID      string // identifies it without proving anything; part of the text
	Name    string // display name
	Scopes  []Scope
	Hash    TokenHash
	Created time.Time
	Expires time.Time // zero: never
	Used    time.Time // last use, to about a minute; zero: never
	Revoked time.Time // zero: not revoked
}

// Live reports whether a token is valid at an instant.
func (t *Token) Live(now time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || now.Before(t.Expires))
}

// tokenPrefix begins the text of every token that [NewToken] makes, so that
// people and secret scanners recognize it.
const tokenPrefix = "weir"

// NewToken returns a new token and the text that proves it, which is stored
// nowhere: weir_, the id, and 260 random bits.
func NewToken(name string, scopes []Scope, now, expires time.Time) (Token, string) {
	id := strings.ToLower(rand.Text()[:12])
	text := tokenPrefix + "_" + id + "_" + strings.ToLower(rand.Text()+rand.Text())
	return Token{ID: id, Name: name, Scopes: scopes, Hash: HashToken(text), Created: now, Expires: expires}, text
}

// TokenID returns the id in the text of a token; ok is false if it has none.
func TokenID(text string) (id string, ok bool) {
	parts := strings.Split(text, "_")
	if len(parts) != 3 || parts[0] != tokenPrefix || parts[1] == "" {
		return "", false
	}
	return parts[1], true
}

// MaxTokens is the max number of tokens that are live at once.
const MaxTokens = 1000

// TokenStore stores tokens. They are never deleted: the id of a revoked token
// still identifies the author of past changes.
type TokenStore interface {
	// AddToken stores a new token. It returns a conflict if there are [MaxTokens].
	AddToken(ctx context.Context, t Token, now time.Time) error
	// Tokens returns all tokens, revoked and expired ones too, oldest first.
	Tokens(ctx context.Context) ([]Token, error)
	// LiveTokens returns the live tokens. ever reports whether there is any token
	// at all, live or not.
	LiveTokens(ctx context.Context, now time.Time) (live []Token, ever bool, err error)
	// RevokeToken revokes a token. Repeating it changes nothing.
	RevokeToken(ctx context.Context, id string, now time.Time) error
	// TokensUsed records when tokens were last used.
	TokensUsed(ctx context.Context, seen map[string]time.Time) error
}

// StrongBits is the entropy from which guessing a token is infeasible.
const StrongBits = 128

// WeakToken reports whether a configured token could be guessed: it has fewer than
// [StrongBits] for the characters that it uses, or repeats a few of them.
// Punctuation does not count.
func WeakToken(text string) bool {
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
	return float64(length)*math.Log2(float64(max(1, digits+hex+lower+upper))) < StrongBits || len(seen) < 8
}
