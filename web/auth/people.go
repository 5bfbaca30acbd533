package auth

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"

	"weir"
	"weir/operators"
)

// People are those who log in at an OpenID Connect provider. They have the scopes of their groups.
type People struct {
	// Provider identifies the provider, and Weir at the provider. Sessions that began with another
	// one are void.
	Provider string
	Groups   map[string][]operators.Scope
}

// mark stands where the session of a token has the token's id.
func (p *People) mark() string {
	digest := operators.HashToken(p.Provider)
	return hex.EncodeToString(digest[:])
}

// held returns the groups that have scopes, each once.
func (p *People) held(groups []string) []string {
	var held []string
	for _, name := range groups {
		if len(p.Groups[name]) > 0 && !slices.Contains(held, name) {
			held = append(held, name)
		}
	}
	return held
}

// BeginPerson begins a session for a person who has just logged in at the provider, and returns
// the text that proves it. The session has the scopes that its groups have whenever it is used.
func (g *Gate) BeginPerson(ctx context.Context, id string, groups []string) (text string, err error) {
	if g.people == nil {
		return "", weir.Errorf(weir.CodeForbidden, "people cannot log in by name: WEIR_OIDC_ISSUER is not set")
	}
	held := g.people.held(groups)
	if len(held) == 0 {
		return "", weir.Errorf(weir.CodeForbidden, "%s is in no group that has scopes", id)
	}
	return g.addSession(ctx, func(string) operators.Session {
		return operators.Session{Token: g.people.mark(), Person: id, Groups: held}
	})
}

// keyOfPerson returns the key of a person's session; nil: it is void. The key of before stays while
// nothing changed, so that its rate limit goes on.
func (g *Gate) keyOfPerson(s *operators.Session, was *session) *key {
	if g.people == nil || subtle.ConstantTimeCompare([]byte(s.Token), []byte(g.people.mark())) != 1 {
		return nil
	}
	name, _ := operators.PersonName(s.Person)
	t := operators.Token{ID: s.Person, Name: name}
	for _, group := range g.people.held(s.Groups) {
		t.Scopes = append(t.Scopes, g.people.Groups[group]...)
	}
	if len(t.Scopes) == 0 {
		return nil
	}
	if was != nil && was.key != nil {
		return was.key
	}
	return newKey(t, g.rate)
}

// AdmitAttempt rejects an attempt to log in while its address has failed too often. Attempts count
// as guesses of tokens do.
func (g *Gate) AdmitAttempt(r *http.Request) error {
	if wait := g.addresses.guessing(ClientAddress(r), g.now()); wait > 0 {
		return errLimited(wait)
	}
	return nil
}

// NoteFailure counts a failed attempt to log in, with what it presented.
func (g *Gate) NoteFailure(r *http.Request, presented string) {
	hash := operators.HashToken(presented)
	g.addresses.refusal(ClientAddress(r), &hash, g.now())
}
