package cli_test

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli"
	"weir/cmd/weir/cli/app"
)

// tokenAt runs a token command at an instant.
func tokenAt(t *testing.T, database string, now time.Time, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(func(out, err io.Writer) int {
		return cli.Run(t.Context(), append([]string{"token"}, args...), cli.Options{
			Environ: []string{"DATABASE_URL=sqlite://" + database}, Stdout: out, Stderr: err, Now: func() time.Time { return now },
		})
	})
}

func TestToken_IsCreatedListedAndRevoked(t *testing.T) {
	t.Parallel()
	file, now := filepath.Join(t.TempDir(), "weir.db"), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clitest.Check(t, run(t, []string{"DATABASE_URL=sqlite://" + file}, "migrate", "up"), app.OK, "migrations applied", "^$")
	made := tokenAt(t, file, now, "create", "--name", "the dashboard", "--scope", "contacts:read,metrics:read", "--scope", "metrics:read", "--expires", "90d")
	clitest.Check(t, made, app.OK, `^weir_[a-z2-7]{12}_[a-z2-7]{52}\n$`, `first token of this database(?s:.*)cannot be shown again`)
	text := strings.TrimSpace(made.Out)
	id := strings.Split(text, "_")[1]
	clitest.Check(t, tokenAt(t, file, now, "create", "--name", "b", "--scope", "router"), app.OK, "^weir_", "^token [a-z2-7]{12} created")

	list := tokenAt(t, file, now, "list")
	clitest.Check(t, list, app.OK, id+`  the dashboard  live  +contacts:read,metrics:read  2026-03-01T12:00:00Z  2026-05-30T12:00:00Z  never`, "^$")
	if strings.Contains(list.Out, text) || strings.Contains(list.Out, strings.Split(text, "_")[2]) {
		t.Error("the list shows a token")
	}
	clitest.Check(t, tokenAt(t, file, now.AddDate(0, 3, 0), "list"), app.OK, id+`  the dashboard  expired`, "^$")
	clitest.Check(t, tokenAt(t, file, now, "revoke", text), app.Usage, "^$", "this revokes token "+id+" permanently.*add --yes")
	clitest.Check(t, tokenAt(t, file, now, "list"), app.OK, id+`  the dashboard  live`, "^$")
	clitest.Check(t, tokenAt(t, file, now, "revoke", text, "--yes"), app.OK, "^token "+id+" revoked\n$", "^$")
	clitest.Check(t, tokenAt(t, file, now, "revoke", id, "--yes"), app.OK, " revoked", "^$")
	clitest.Check(t, tokenAt(t, file, now, "list"), app.OK, id+`  the dashboard  revoked`, "^$")
	clitest.Check(t, tokenAt(t, file, now, "revoke", "unknown", "--yes"), app.NotFound, "^$", `no token with the id "unknown"`)
}

func TestToken_MistakesAreNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "weir.db")
	for args, want := range map[string]string{
		"create --scope router":                                   "--name must have",
		"create --name a\tb --scope router":                       "--name must have",
		"create --name a":                                         "--scope is missing",
		"create --name a --scope contacts":                        `unknown scope "contacts"; allowed: contacts:write`,
		"create --name a --scope contacts:read@,router@b,x":       `scope "contacts:read@" must have the beginning of names behind @.*scope "router@b" must have no @.*unknown scope "x"`,
		"create --name a --scope router --expires soon":           "--expires must be a duration",
		"create --name a --scope router --expires -1h":            "--expires must be a duration",
		"create --name a --scope router weir_abcdefghijkl_secret": "unexpected argument",
		"revoke":     "ID is missing",
		"revoke a b": `unexpected argument "b"`,
	} {
		clitest.Check(t, tokenAt(t, file, time.Now(), strings.Split(args, " ")...), app.Usage, "^$", want)
	}
	clitest.Check(t, run(t, []string{"DATABASE_URL=sqlite://" + file}, "migrate", "up"), app.OK, "migrations applied", "^$")
	clitest.Check(t, run(t, []string{"DATABASE_URL=sqlite://" + file}, "migrate", "down", "--yes"), app.OK, "migrations reverted", "^$")
	clitest.Check(t, tokenAt(t, file, time.Now(), "list"), app.Failure, "^$", "1 pending migrations; run: weir migrate up")
}
