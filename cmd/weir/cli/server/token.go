package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir"
	"weir/cmd/internal/command"
	"weir/cmd/weir/cli/app"
	"weir/config"
	"weir/operators"
	"weir/persistence"
)

const tokenAbout = `Create, list and revoke tokens of the API. The command works on the database that
DATABASE_URL names, like "weir migrate", not through a running Weir; every Weir on the
same database applies a change within seconds.

Once a token was created, every request needs one, even if all are revoked. The tokens
in WEIR_API_TOKENS have every scope and are not listed here.

Scopes:
  contacts:write  queue and cancel contacts, report dispositions
  contacts:exempt with contacts:write or surveys:admin: use purposes that reach people who refused
  contacts:read   read contacts, respondents, messages, events, channels, surveys
  channels:admin  create, change, delete and read channels
  surveys:admin   create, change, run, delete and read surveys
  router          read the router's events; with pii:read use its API
  webhooks:admin  create, change, test, replay, delete and read webhooks
  people:admin    record and read consents and refusals, change purposes
  tokens:admin    create, list and revoke tokens with scopes of their maker
  metrics:read    scrape /metrics
  pii:read        see whole phone numbers; without it only the last two digits

A scope of contacts, channels or surveys may be limited to the names that begin with a
text: surveys:admin@north- is for surveys such as north-poll. See docs/access.md.`

// TokenCommand makes "weir token".
func TokenCommand(a *app.App) *cobra.Command {
	p := app.NewOutput()
	c := command.Group("token", "Create, list and revoke tokens of the API", tokenAbout, createTokenCommand(a, &p), listTokensCommand(a, &p), revokeTokenCommand(a, &p))
	p.AddFlags(c)
	return c
}

// createTokenCommand makes "weir token create".
func createTokenCommand(a *app.App, p *app.Output) *cobra.Command {
	var name, expires string
	var words []string
	c := &cobra.Command{
		Use: "create", Short: "Create a token and print it once", Args: command.NoArgs,
		Long: tokenAbout,
		Example: "  weir token create --name surveda --scope contacts:write,contacts:read --expires 90d\n" +
			"  weir token create --name north --scope surveys:admin@north-,contacts:read@north-,contacts:write@sms",
		RunE: func(c *cobra.Command, _ []string) error {
			if name == "" || len(name) > 200 || !printable(name) {
				return command.UsageError(c, "--name must have 1 to 200 printable characters")
			}
			scopes, err := parseScopes(words)
			if err != nil {
				return command.UsageError(c, err.Error())
			}
			var until time.Time
			if expires != "" {
				var span config.Period
				if err := span.Decode(expires); err != nil || span <= 0 {
					return command.UsageError(c, "--expires must be a duration such as 12h or 90d")
				}
				until = a.Clock.Now().Add(span.Duration())
			}
			return createToken(c.Context(), a, p, name, scopes, until)
		},
	}
	c.Flags().StringVar(&name, "name", "", "name of the token, such as the client that uses it")
	c.Flags().StringSliceVar(&words, "scope", nil, "scopes of the token, comma-separated; repeatable")
	c.Flags().StringVar(&expires, "expires", "", "lifetime, such as 12h or 90d (default: no expiry)")
	_ = c.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(scopeNames(operators.Scopes()), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// printable reports whether a name has no control characters.
func printable(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// parseScopes returns the scopes without duplicates; there must be at least one. The error has every mistake.
func parseScopes(words []string) ([]operators.Scope, error) {
	var scopes []operators.Scope
	var wrong []string
	for _, word := range words {
		scope, code, detail := operators.ParseScope(strings.TrimSpace(word))
		switch {
		case code == "unknown":
			wrong = append(wrong, fmt.Sprintf("unknown scope %q; allowed: %s", word, operators.JoinScopes(operators.Scopes())))
		case code != "":
			wrong = append(wrong, fmt.Sprintf("scope %q %s", word, detail))
		case !slices.Contains(scopes, scope):
			scopes = append(scopes, scope)
		}
	}
	if err := operators.CheckScopesLength(scopes); err != nil {
		wrong = append(wrong, fmt.Sprintf("the scopes %v", err))
	}
	if len(words) == 0 {
		wrong = append(wrong, "--scope is missing: a token needs at least one scope")
	}
	if wrong != nil {
		return nil, errors.New(strings.Join(wrong, "; "))
	}
	return scopes, nil
}

func scopeNames(list []operators.Scope) []string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = string(s)
	}
	return names
}

// createToken prints only the token on standard output, so that it can be redirected to
// a file, and its description on standard error.
func createToken(ctx context.Context, a *app.App, p *app.Output, name string, scopes []operators.Scope, until time.Time) error {
	// The store gets the hash of the text only: if printing it fails, the token has to be revoked
	// and another one created.
	t, text := operators.NewToken(name, scopes, a.Clock.Now(), until)
	err := withTokenStore(ctx, a, func(s *persistence.Store) error {
		live, ever, err := s.LiveTokens(ctx, a.Clock.Now())
		if err != nil {
			return err
		}
		if !ever && len(live) == 0 {
			_, _ = fmt.Fprintln(a.Console.Stderr, "this is the first token of this database: from now on every request needs a token")
		}
		return s.AddToken(ctx, t, a.Clock.Now())
	})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(a.Console.Stderr, "token %s created; it is not stored and cannot be shown again:\n", t.ID)
	return a.Console.PrintValue(p, map[string]string{"id": t.ID, "token": text}, "%s", text)
}

// tokenView is the JSON form of a token.
type tokenView struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	State   string            `json:"state"`
	Scopes  []operators.Scope `json:"scopes"`
	Created time.Time         `json:"created_at"`
	Expires time.Time         `json:"expires_at,omitzero"`
	Used    time.Time         `json:"used_at,omitzero"`
}

// listTokensCommand makes "weir token list".
func listTokensCommand(a *app.App, p *app.Output) *cobra.Command {
	var w app.WatchFlag
	c := command.Plain("list", "List tokens", tokenAbout, func(ctx context.Context) error {
		return withTokenStore(ctx, a, func(s *persistence.Store) error {
			return a.Watcher.Repeat(ctx, p, &w, func(out io.Writer) error { return printTokens(ctx, a, p, s, out) })
		})
	})
	w.AddTo(c)
	return c
}

// printTokens prints all tokens of the store, without their secrets.
func printTokens(ctx context.Context, a *app.App, p *app.Output, s *persistence.Store, out io.Writer) error {
	all, err := s.Tokens(ctx)
	if err != nil {
		return err
	}
	l := a.Console.NewList(p, out, app.Column("ID"), app.Column("NAME", 8), app.Column("STATE"), app.Column("SCOPES", 14), app.Column("CREATED"), app.Column("EXPIRES"), app.Column("LAST USED"))
	for i := range all {
		t := &all[i]
		state := tokenState(t, a.Clock.Now())
		err := l.Add(tokenView{t.ID, t.Name, state, t.Scopes, t.Created, t.Expires, t.Used},
			app.Cells(t.ID, t.Name, app.StateCell(state), strings.Join(scopeNames(t.Scopes), ","), formatTime(t.Created), formatTime(t.Expires), formatTime(t.Used))...)
		if err != nil {
			return err
		}
	}
	return l.Close()
}

// tokenState returns revoked, expired or live.
func tokenState(t *operators.Token, now time.Time) string {
	switch {
	case !t.Revoked.IsZero():
		return "revoked"
	case !t.Live(now):
		return "expired"
	default:
		return "live"
	}
}

// formatTime formats an instant in UTC; the zero instant is never.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

// revokeTokenCommand makes "weir token revoke".
func revokeTokenCommand(a *app.App, p *app.Output) *cobra.Command {
	return app.Confirmable(&cobra.Command{
		Use: "revoke ID", Short: "Revoke a token permanently", Long: tokenAbout,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.UsageError(c, "ID is missing; \"weir token list\" shows the ids")
			}
			return app.NamedArgs([]string{"ID"})(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			id := args[0]
			if inText, ok := operators.TokenID(id); ok { // the argument is the whole token
				id = inText
			}
			if err := a.Console.Confirm(c, "this revokes token "+id+" permanently: requests with it are rejected"); err != nil {
				return err
			}
			err := withTokenStore(c.Context(), a, func(s *persistence.Store) error { return s.RevokeToken(c.Context(), id, a.Clock.Now()) })
			if weir.CodeOf(err) == weir.CodeNotFound {
				return command.Exit(app.NotFound, fmt.Sprintf("there is no token with the id %q; \"weir token list\" shows all", id))
			}
			if err != nil {
				return err
			}
			return a.Console.PrintValue(p, map[string]any{"id": id, "revoked": true}, "token %s revoked", id)
		},
	})
}

// withTokenStore opens the store, creates the schema of an empty database, and rejects
// an old schema: migrating it could disrupt running processes.
func withTokenStore(ctx context.Context, a *app.App, do func(*persistence.Store) error) error {
	return withStore(ctx, a, true, func(s *persistence.Store) error {
		steps, err := s.Status(ctx)
		if err != nil {
			return err
		}
		all := len(steps)
		switch pending := len(slices.DeleteFunc(steps, func(step persistence.Step) bool { return step.Applied })); pending {
		case 0:
		case all:
			if err := s.MigrateUp(ctx); err != nil {
				return err
			}
		default:
			return fmt.Errorf("the database schema has %d pending migrations; run: weir migrate up", pending)
		}
		return do(s)
	})
}
