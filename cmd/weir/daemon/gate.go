package daemon

import (
	"context"
	"strings"
	"time"

	"weir/config"
	"weir/persistence"
	"weir/persistence/database"
	"weir/web/auth"
	"weir/web/openid"
)

const (
	readTokensEvery = 4 * time.Second        // "weir token" works on the database
	awaitSchema     = 500 * time.Millisecond // between two looks for it
	noteUsesEvery   = time.Minute
	writeAuditEvery = time.Second
	auditRetention  = 90 * 24 * time.Hour
)

// openGate reads the tokens, and returns an error if the API would be open to
// everyone at an address that other machines can reach. A gate that is closed never
// opens again, so one check before the address is opened is enough. wait says that the owner
// of the database may still be making the schema.
func openGate(ctx context.Context, o Options, store *persistence.Store, wait bool) (*auth.Gate, error) {
	g := auth.NewGate(auth.GateOptions{Configured: o.Config.APITokens, Store: store, Sessions: store, People: peopleOf(&o.Config), Rate: float64(o.Config.RateLimit)})
	for first := true; ; first = false {
		err := g.Refresh(ctx)
		if err == nil {
			break
		}
		if !wait || ctx.Err() != nil {
			return nil, err
		}
		if first {
			o.Logger.Warn("the tokens cannot be read yet; this process does not listen before", "error", err)
		}
		if !database.Pause(ctx, awaitSchema) {
			return nil, ctx.Err()
		}
	}
	if g.Open() && o.Config.Reachable() {
		return nil, o.Config.TokenRequiredError()
	}
	return g, nil
}

// peopleOf returns who logs in by name; nil: nobody does.
func peopleOf(c *config.Config) *auth.People {
	if !c.PeopleLogIn() {
		return nil
	}
	return &auth.People{Provider: c.OIDCIssuer + "\n" + c.OIDCClientID, Groups: c.OIDCScopes}
}

// providerOf returns the provider at which people log in; nil: there is none.
func providerOf(c *config.Config) *openid.Provider {
	if !c.PeopleLogIn() {
		return nil
	}
	// PUBLIC_URL may have the prefix already.
	public := strings.TrimSuffix(strings.TrimSuffix(c.PublicURL, "/"), c.PathPrefix) + c.PathPrefix
	return openid.New(openid.Options{
		Issuer: c.OIDCIssuer, ClientID: c.OIDCClientID, ClientSecret: string(c.OIDCClientSecret), RedirectURL: public + "/login/oidc/callback", Title: c.OIDCTitle,
		GroupsClaim: c.OIDCGroupsClaim, NameClaim: c.OIDCNameClaim, RequestScopes: strings.Fields(c.OIDCRequestScopes),
	})
}

// refreshJob returns the background job that reads the tokens.
func refreshJob(p *components) job {
	return job{name: "refresh tokens", every: readTokensEvery, step: func(ctx context.Context) (bool, error) { return false, p.gate.Refresh(ctx) }}
}

// accessJobs returns the background jobs that write the uses of tokens and the audit log,
// and remove its old entries and expired sessions.
func accessJobs(p *components) []job {
	return []job{
		{name: "store token uses", every: noteUsesEvery, step: func(ctx context.Context) (bool, error) { return false, p.gate.StoreLastUsed(ctx) }},
		{name: "write audit log", every: writeAuditEvery, step: func(ctx context.Context) (bool, error) { return false, p.trail.Write(ctx) }},
		{name: "purge audit log", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			n, err := p.store.PurgeAudit(ctx, time.Now().Add(-auditRetention), purgeBatch)
			return n > 0, err
		}},
		{name: "purge sessions", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			n, err := p.store.PurgeSessions(ctx, time.Now(), purgeBatch)
			return n > 0, err
		}},
	}
}
