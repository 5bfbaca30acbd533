package openid

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"weir/operators"
)

// AttemptLife is how long a person may take to log in at the provider.
const AttemptLife = 10 * time.Minute

// maxUsed is the max number of states remembered.
const maxUsed = 10_000

// attempt is a log-in that a browser began. The browser keeps it in a cookie: nobody else knows
// state, nonce and verifier.
type attempt struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE
	Next     string `json:"to"`
	Begun    int64  `json:"at"`
}

// Start begins a log-in. It returns the provider's address to which the browser goes, and what the
// browser keeps for [Provider.Finish]. next is the page that the person wants.
func (p *Provider) Start(ctx context.Context, next string) (address, kept string, err error) {
	d, err := p.discover(ctx)
	if err != nil {
		return "", "", err
	}
	a := attempt{State: rand.Text() + rand.Text(), Nonce: rand.Text() + rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: next, Begun: p.o.Now().Unix()}
	raw, err := json.Marshal(a)
	if err != nil {
		return "", "", err
	}
	return d.flow.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), base64.RawURLEncoding.EncodeToString(raw), nil
}

// Finish ends a log-in: kept is what the browser kept, query what the provider sent back. Its
// error is a [*RefusalError].
func (p *Provider) Finish(ctx context.Context, kept string, query url.Values) (who Person, next string, err error) {
	a, err := p.attemptOf(kept)
	if err != nil {
		return Person{}, "", err
	}
	if err := p.checkAnswer(&a, query); err != nil {
		return Person{}, "", err
	}
	d, err := p.discover(ctx)
	if err != nil {
		return Person{}, "", err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), 2*requestTime)
	defer cancel()
	raw, err := exchange(ctx, d, &a, query.Get("code"))
	if err != nil {
		return Person{}, "", err
	}
	token, err := d.verifier.Verify(ctx, raw)
	if err != nil {
		return Person{}, "", refuse(ReasonToken, err)
	}
	if !same(token.Nonce, a.Nonce) {
		return Person{}, "", refuse(ReasonNonce, nil)
	}
	who, err = p.person(token)
	return who, a.Next, err
}

// attemptOf reads what the browser kept.
func (p *Provider) attemptOf(kept string) (a attempt, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(kept)
	if err == nil {
		err = json.Unmarshal(raw, &a)
	}
	age := p.o.Now().Sub(time.Unix(a.Begun, 0))
	if err != nil || a.State == "" || a.Nonce == "" || a.Verifier == "" || age > AttemptLife || age < -time.Minute {
		return attempt{}, refuse(ReasonNotBegun, nil)
	}
	return a, nil
}

// checkAnswer checks what the provider sent back through the browser, and that it comes back once.
func (p *Provider) checkAnswer(a *attempt, query url.Values) error {
	if !same(query.Get("state"), a.State) {
		return refuse(ReasonState, nil)
	}
	if !p.use(a.State) {
		return refuse(ReasonRepeated, nil)
	}
	// RFC 9207: who answered. Not every provider says so.
	if issuer := query.Get("iss"); issuer != "" && issuer != p.o.Issuer {
		return refuse(ReasonIssuer, nil)
	}
	if code := query.Get("error"); code != "" {
		return refuse(ReasonDenied, fmt.Errorf("%s: %s", code, query.Get("error_description")))
	}
	if query.Get("code") == "" {
		return refuse(ReasonDenied, errors.New("it sent no code"))
	}
	return nil
}

// same compares in constant time.
func same(a, b string) bool {
	x, y := operators.HashToken(a), operators.HashToken(b)
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// use reports whether a state comes back for the first time. That the provider takes each code
// once is its promise; this does not rely on it, unless another process has seen the state.
func (p *Provider) use(state string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, id := p.o.Now(), operators.HashToken(state)
	if until, ok := p.used[id]; ok && now.Before(until) {
		return false
	}
	if len(p.used) >= maxUsed {
		for old, until := range p.used {
			if !now.Before(until) || len(p.used) >= maxUsed {
				delete(p.used, old)
			}
		}
	}
	p.used[id] = now.Add(AttemptLife)
	return true
}

// exchange returns the ID token for a code.
func exchange(ctx context.Context, d *discovered, a *attempt, code string) (string, error) {
	token, err := d.flow.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answer.Response.StatusCode < http.StatusInternalServerError {
		return "", refuse(ReasonCode, err)
	}
	if err != nil {
		return "", refuse(ReasonUnreachable, err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return "", refuse(ReasonToken, errors.New("the provider sent no ID token"))
	}
	return raw, nil
}
