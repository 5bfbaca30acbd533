package auth

import (
	"context"
	"errors"
	"time"

	"weir/operators"
)

// Tokens lists the stored tokens, revoked and expired ones too, oldest first.
func (g *Gate) Tokens(ctx context.Context) ([]operators.Token, error) {
	if g.store == nil {
		return nil, nil
	}
	return g.store.Tokens(ctx)
}

// CreateToken stores a new token and returns the text that proves it. This process knows the token
// at once, others within seconds.
func (g *Gate) CreateToken(ctx context.Context, name string, scopes []operators.Scope, expires time.Time) (t operators.Token, text string, err error) {
	if g.store == nil {
		return t, "", errors.New("tokens need a store")
	}
	t, text = operators.NewToken(name, scopes, g.now(), expires)
	if err := g.store.AddToken(ctx, t, g.now()); err != nil {
		return t, "", err
	}
	_ = g.Refresh(ctx) // the token is stored; a failure is reported by the next refresh, seconds later
	return t, text, nil
}

// RevokeToken revokes a token: in this process at once, in others within seconds.
func (g *Gate) RevokeToken(ctx context.Context, id string) error {
	if g.store == nil {
		return errors.New("tokens need a store")
	}
	if err := g.store.RevokeToken(ctx, id, g.now()); err != nil {
		return err
	}
	_ = g.Refresh(ctx) // as in CreateToken
	return nil
}
