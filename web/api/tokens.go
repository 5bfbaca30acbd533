package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/web/httpjson"
	"weir/web/route"
)

// TokenKeeper stores tokens.
type TokenKeeper interface {
	Tokens(ctx context.Context) ([]operators.Token, error)
	CreateToken(ctx context.Context, name string, scopes []operators.Scope, expires time.Time) (t operators.Token, text string, err error)
	RevokeToken(ctx context.Context, id string) error
}

func tokenView(t *operators.Token, now time.Time) api.TokenView {
	v := api.TokenView{ID: t.ID, Name: t.Name, State: "live", Created: t.Created.UTC(), Expires: httpjson.Instant(t.Expires), Used: httpjson.Instant(t.Used)}
	switch {
	case !t.Revoked.IsZero():
		v.State = "revoked"
	case !t.Live(now):
		v.State = "expired"
	}
	for _, scope := range t.Scopes {
		v.Scopes = append(v.Scopes, string(scope))
	}
	return v
}

// tokenRoutes serves tokens.
type tokenRoutes struct {
	keeper TokenKeeper
	now    func() time.Time
}

func (r *tokenRoutes) table() []*route.Route {
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/tokens", ID: "list-tokens", Tag: "access",
			Summary: "List tokens, newest first", Description: "Revoked and expired tokens are in it; those of WEIR_API_TOKENS are not.",
			Query: route.Paging(100, 1000), Handle: r.list,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.TokenList]()}},
		},
		{
			Method: "POST", Path: "/v1/tokens", ID: "create-token", Tag: "access",
			Summary: "Create a token",
			Description: "The response has the text that proves it; no other request returns it. A token has only scopes that the token, or the person, of the request has. " +
				"It stays when that one ends.",
			Body: route.TypeOf[api.TokenBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.create,
			Query:   []httpjson.Parameter{route.DryRun()},
			Answers: []route.Answer{{Status: http.StatusCreated, Description: "created", Body: route.TypeOf[api.TokenView]()}, route.RightAnswer()},
			Codes:   []weir.Code{weir.CodeConflict},
		},
		{
			Method: "DELETE", Path: "/v1/tokens/{id}", ID: "revoke-token", Tag: "access",
			Summary: "Revoke a token", Description: "For good; repeating it changes nothing. Sessions that the token began end with it. Other processes follow within seconds.", Handle: r.revoke,
			Answers: []route.Answer{{Status: http.StatusNoContent, Description: "revoked"}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
	}
}

func (r *tokenRoutes) list(c *route.Call) (route.Reply, error) {
	after, err := c.AfterName("tokens")
	if err != nil {
		return route.Reply{}, err
	}
	all, err := r.keeper.Tokens(c)
	if err != nil {
		return route.Reply{}, err
	}
	slices.Reverse(all)
	if after != "" {
		at := slices.IndexFunc(all, func(t operators.Token) bool { return t.ID == after }) // tokens are never deleted
		all = all[at+1:]
	}
	most := c.Query.Int("limit")
	list, next := pageOf(all[:min(len(all), most+1)], most, func(t *operators.Token) api.TokenView { return tokenView(t, r.now()) },
		func(v *api.TokenView) string { return httpjson.NameCursor("tokens", v.ID) })
	return route.Reply{Status: http.StatusOK, Body: api.TokenList{Tokens: list, NextCursor: next}}, nil
}

func (r *tokenRoutes) create(c *route.Call) (route.Reply, error) {
	name, _ := c.Body["name"].(string)
	if strings.TrimSpace(name) == "" && name != "" {
		c.Errors.Add("/name", "format", "must not be blank")
	}
	scopes, missing := r.scopes(c)
	var expires time.Time
	if text, ok := c.Body["expires_at"].(string); ok {
		at, code, _ := weir.ParseInstant(text) // the schema reports other texts
		if code == "" && !at.After(r.now()) {
			c.Errors.Add("/expires_at", "past", "must be in the future")
		}
		expires = at
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if len(missing) > 0 {
		return route.Reply{}, weir.Errorf(weir.CodeForbidden, "a token has only scopes of its maker, who lacks: %s", strings.Join(missing, ", "))
	}
	if c.DryRun() {
		return route.Checked(nil)
	}
	t, text, err := r.keeper.CreateToken(c, name, scopes, expires)
	if err != nil {
		return route.Reply{}, err
	}
	v := tokenView(&t, r.now())
	v.Token = text
	changes := []operators.FieldChange{{Field: "id", After: t.ID}, {Field: "name", After: t.Name}, {Field: "scopes", After: strings.Join(v.Scopes, ", ")}}
	if !v.Expires.IsZero() {
		changes = append(changes, operators.FieldChange{Field: "expires_at", After: v.Expires.Format(time.RFC3339)})
	}
	return route.Reply{Status: http.StatusCreated, Body: v, Changes: changes}, nil
}

// scopes reads the scopes of a new token, each once, and those that its maker lacks.
func (r *tokenRoutes) scopes(c *route.Call) (scopes []operators.Scope, missing []string) {
	list, _ := c.Body["scopes"].([]any)
	for i, x := range list {
		text, ok := x.(string)
		scope, code, detail := operators.ParseScope(text)
		switch {
		case !ok: // the schema reports it
		case code != "":
			c.Errors.Add(fmt.Sprintf("/scopes/%d", i), code, "%s", detail)
		case slices.Contains(scopes, scope):
		case !c.Principal.Contains(scope):
			missing = append(missing, text)
		default:
			scopes = append(scopes, scope)
		}
	}
	if err := operators.CheckScopesLength(scopes); err != nil {
		c.Errors.Add("/scopes", "length", "%v", err)
	}
	return scopes, missing
}

func (r *tokenRoutes) revoke(c *route.Call) (route.Reply, error) {
	if err := r.keeper.RevokeToken(c, c.Request.PathValue("id")); err != nil {
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusNoContent}, nil
}
