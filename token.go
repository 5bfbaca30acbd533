package weir

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"strings"
	"time"
)

// Scope is something that a token lets its bearer do.
type Scope string

// The scopes. A token may have several, and has no others than it was given.
const (
	ScopeContactsWrite Scope = "contacts:write" // queue contacts, take them back, report how conversations go
	ScopeContactsRead  Scope = "contacts:read"  // see contacts, respondents, messages and events
	ScopeChannelsAdmin Scope = "channels:admin" // make, change and delete channels, and see them
	ScopeSurveysAdmin  Scope = "surveys:admin"  // make, change, run and delete surveys, and see them
	ScopeRouter        Scope = "router"         // follow the router's events; with pii:read, use the router
	ScopeMetricsRead   Scope = "metrics:read"   // scrape the measurements
	ScopePIIRead       Scope = "pii:read"       // see phone numbers where others see two digits
)

// Scopes lists all of them.
func Scopes() []Scope {
	return []Scope{
		ScopeContactsWrite, ScopeContactsRead, ScopeChannelsAdmin, ScopeSurveysAdmin, ScopeRouter, ScopeMetricsRead, ScopePIIRead,
	}
}

// Known tells whether there is such a scope.
func (s Scope) Known() bool { return slices.Contains(Scopes(), s) }

// TokenHash is what is kept of a token's text. A text of 256 random bits needs
// nothing slower than this.
type TokenHash [sha256.Size]byte

// HashToken hashes the whole text of a token.
func HashToken(text string) TokenHash { return sha256.Sum256([]byte(text)) }

// Token is a right to use the API, without the text that proves it.
type Token struct {
	ID      string // names it without proving anything; part of the text
	Name    string // for people
	Scopes  []Scope
	Hash    TokenHash
	Created time.Time
	Expires time.Time // zero: never
	Used    time.Time // last seen, to about a minute; zero: never
	Revoked time.Time // zero: it is not
}

// Live tells whether a token lets anybody in at an instant.
func (t *Token) Live(now time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || now.Before(t.Expires))
}

// tokenPrefix begins the text of every token that [NewToken] makes, so that
// people and scanners of leaked secrets know it when they see it.
const tokenPrefix = "weir"

// NewToken makes a token, and the text that proves it, which exists nowhere
// else: weir_, the id, and 260 random bits.
func NewToken(name string, scopes []Scope, now, expires time.Time) (Token, string) {
	id := strings.ToLower(rand.Text()[:12])
	text := tokenPrefix + "_" + id + "_" + strings.ToLower(rand.Text()+rand.Text())
	return Token{ID: id, Name: name, Scopes: scopes, Hash: HashToken(text), Created: now, Expires: expires}, text
}

// TokenID is the id in the text of a token; ok is false if it has none.
func TokenID(text string) (id string, ok bool) {
	parts := strings.Split(text, "_")
	if len(parts) != 3 || parts[0] != tokenPrefix || parts[1] == "" {
		return "", false
	}
	return parts[1], true
}

// MostTokens is how many tokens can be live at once.
const MostTokens = 1000

// TokenStore keeps tokens. They are never deleted: the id of a revoked one still
// says who did something.
type TokenStore interface {
	// AddToken keeps a new token. It is a conflict when there are [MostTokens].
	AddToken(ctx context.Context, t Token, now time.Time) error
	// Tokens reads every token there ever was, oldest first.
	Tokens(ctx context.Context) ([]Token, error)
	// LiveTokens reads those that let somebody in. ever tells whether there is
	// any at all, live or not.
	LiveTokens(ctx context.Context, now time.Time) (live []Token, ever bool, err error)
	// RevokeToken ends a token. Doing so again changes nothing.
	RevokeToken(ctx context.Context, id string, now time.Time) error
	// TokensUsed notes when tokens were last seen.
	TokensUsed(ctx context.Context, seen map[string]time.Time) error
}
