package openid

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"

	"weir/operators"
	"weir/web/auth"
)

// Person is who logged in.
type Person struct {
	ID      string // in logs and the audit log
	Subject string // by which the provider identifies the person
	Groups  []string
}

const maxName = 200 // characters

// person reads a verified ID token.
func (p *Provider) person(token *oidc.IDToken) (Person, error) {
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return Person{}, refuse(ReasonToken, err)
	}
	// The audience of a token for several is in none of them: azp says for whom it was made.
	if party, _ := claims["azp"].(string); party != p.o.ClientID && (party != "" || len(token.Audience) > 1) {
		return Person{}, refuse(ReasonToken, errors.New("it was issued to another client (azp)"))
	}
	if token.Subject == "" {
		return Person{}, refuse(ReasonToken, errors.New("it has no subject"))
	}
	name := p.name(claims, token.Subject)
	if name == "" {
		return Person{}, refuse(ReasonNoName, fmt.Errorf("the ID token has no usable claim %s", p.o.NameClaim))
	}
	groups, err := p.groups(claims)
	return Person{ID: operators.PersonID(name, token.Subject), Subject: token.Subject, Groups: groups}, err
}

// name returns the name of a person; empty: the claim that has to have it is missing.
func (p *Provider) name(claims map[string]any, subject string) string {
	if p.o.NameClaim != "" {
		return nameIn(claims, p.o.NameClaim)
	}
	for _, claim := range []string{"preferred_username", "email", "sub"} {
		if name := nameIn(claims, claim); name != "" {
			return name
		}
	}
	// What is left is a number or cannot be printed.
	digest := sha256.Sum256([]byte(subject))
	return "subject-" + hex.EncodeToString(digest[:6])
}

// nameIn returns the name in a claim; empty: it has none that may be in logs, where no phone
// number is, or an address that its owner has not proven.
func nameIn(claims map[string]any, claim string) string {
	name, _ := claims[claim].(string)
	name = strings.TrimSpace(name)
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) || auth.MaskValue(name) != name {
		return ""
	}
	if claim == "email" && unproven(claims) {
		return ""
	}
	return name
}

// proven reports whether the provider has verified the address. AWS Cognito sends the claim as a
// string.
func proven(claims map[string]any) bool {
	return claims["email_verified"] == true || claims["email_verified"] == "true"
}

// unproven reports whether the claim is present with any other value. A provider that omits it is trusted.
func unproven(claims map[string]any) bool { return claims["email_verified"] != nil && !proven(claims) }

// groups returns the groups of a person.
func (p *Provider) groups(claims map[string]any) ([]string, error) {
	switch list := claims[p.o.GroupsClaim].(type) {
	case string:
		// An address counts as a group only if it is the person's own.
		if p.o.GroupsClaim == "email" && !proven(claims) {
			return nil, refuse(ReasonToken, errors.New("the groups are in the claim email, and the provider has not verified the address (email_verified)"))
		}
		return []string{list}, nil
	case []any:
		var groups []string
		for _, x := range list {
			if name, ok := x.(string); ok && !slices.Contains(groups, name) {
				groups = append(groups, name)
			}
		}
		return groups, nil
	case nil:
		// OpenID Connect Core 5.6.2: the claim is elsewhere. So Entra ID sends more than 200 groups.
		if sources, _ := claims["_claim_names"].(map[string]any); sources[p.o.GroupsClaim] != nil || claims["hasgroups"] == true {
			return nil, refuse(ReasonTooMany, nil)
		}
		return nil, nil
	default:
		return nil, refuse(ReasonToken, fmt.Errorf("its claim %s is neither a text nor a list of texts", p.o.GroupsClaim))
	}
}
