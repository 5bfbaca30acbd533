package cli_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli"
	"weir/cmd/weir/cli/app"
)

// run runs a command line in the given environment.
func run(t *testing.T, environ []string, args ...string) clitest.Result {
	t.Helper()
	return runIn(t.Context(), environ, args...)
}

func runIn(ctx context.Context, environ []string, args ...string) clitest.Result {
	return clitest.Run(func(out, err io.Writer) int {
		return cli.Run(ctx, args, cli.Options{Version: "v9.9.9", Environ: environ, Stdout: out, Stderr: err})
	})
}

func TestCommandLine_MistakesAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args     string
		code     int
		out, err string
	}{
		{"", app.Usage, "Usage:", "a command is missing"},
		{"--help", app.OK, "Exit codes, the same for every command", "^$"},
		{"sevre", app.Usage, "^$", `unknown command "sevre"; did you mean "serve"\?`},
		{"serve --fast", app.Usage, "^$", "unknown flag: --fast"},
		{"serve now", app.Usage, "^$", `unexpected argument "now"`},
		{"version", app.OK, `^weir v9\.9\.9 go1\.`, "^$"},
		{"--version", app.OK, `^weir v9\.9\.9 go1\.`, "^$"},
		{"contact search", app.Usage, "^$", `unknown command "search"; did you mean "list"`},
		{"contact find --help", app.OK, "List contacts, newest first", "^$"},
		{"migrate", app.Usage, "status", "a command is missing"},
		{"migrate sideways", app.Usage, "^$", `unknown command "sideways"`},
		{"migrate down", app.Usage, "^$", "reverts the newest 1 migration and deletes their data; to confirm, add --yes"},
		{"migrate down --yes --steps 0", app.Usage, "^$", "--steps must be 1 or more"},
		{"completion bash", app.OK, "bash completion", "^$"},
		{"completion zsh", app.OK, "compdef", "^$"},
	} {
		t.Run("weir "+c.args, func(t *testing.T) {
			t.Parallel()
			clitest.Check(t, run(t, nil, strings.Fields(c.args)...), c.code, c.out, c.err)
		})
	}
}

// The help of every command describes its purpose.
func TestCommandLine_HelpDescribesEveryCommand(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"serve", "migrate", "migrate up", "migrate down", "migrate status", "config", "config check",
		"healthcheck", "version", "completion",
		"token", "token create", "token list", "token revoke", "survey show", "route", "route ask", "route seed", "route workers", "route queues", "route jobs", "route pools",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			clitest.Check(t, run(t, nil, append(strings.Fields(command), "--help")...), app.OK, "(?s)^[A-Z].*Usage:\n  weir "+command, "^$")
		})
	}
}

func TestCommandLine_ConfigShowsNoSecrets(t *testing.T) {
	t.Parallel()
	r := run(t, []string{"DATABASE_URL=mysql://ann:hunter2@db.example:3306/weir", "WEIR_API_TOKNS=hunter2"}, "config")
	clitest.Check(t, r, app.OK, `DATABASE_URL +mysql://ann:REDACTED@db.example:3306/weir +environment`, "WEIR_API_TOKNS is not a variable.*WEIR_API_TOKENS(?s:.*)configuration of this environment; a running Weir may have another")
	if strings.Contains(r.Out+r.Err, "hunter2") {
		t.Errorf("the password is shown:\n%s%s", r.Out, r.Err)
	}
}

func TestCommandLine_EveryCommandReportsAllInvalidVariables(t *testing.T) {
	t.Parallel()
	environ := []string{"LOG_LEVEL=loud", "SHUT_DOWN_MINUTES=never", "LISTEN_ADDR=0.0.0.0"}
	for _, command := range []string{"serve", "migrate up", "config", "config check", "healthcheck"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			clitest.Check(t, run(t, environ, strings.Fields(command)...), app.Usage, "^$", `(?s)LISTEN_ADDR is "0.0.0.0".*SHUT_DOWN_MINUTES is "never".*LOG_LEVEL is "loud"`)
		})
	}
	clitest.Check(t, run(t, nil, "config", "check"), app.OK, "valid", "^$")
	clitest.Check(t, run(t, []string{"JOB_ROUTER_EVENT_SUBSCRIPTIONS=https://a.example,http://b.example"}, "config", "check"), app.Usage, "^$", "address 2 of 2")
	clitest.Check(t, run(t, []string{"JOB_ROUTER_EVENT_SUBSCRIPTIONS=http://a.example,http://b.example", "DEFAULT_CHANEL_CAPACITY=5", "WEIR_TLS_CERT=none.pem", "WEIR_TLS_KEY=none.key"}, "config", "check"),
		app.Usage, "^$", "(?s)WEIR_TLS_CERT.*address 1 of 2.*address 2 of 2.*1 variable has no effect")
	clitest.Check(t, run(t, []string{"WEIR_API_TOKENS=hunter2"}, "config", "check"), app.OK, "valid", "^[^\n]*less than 128 bits[^\n]*\n$")
	clitest.Check(t, run(t, []string{"DEFAULT_CHANEL_CAPACITY=5"}, "config", "check"), app.Usage, "^$", "did you mean DEFAULT_CHANNEL_CAPACITY(?s:.*)1 variable has no effect")
}

func TestMigrate_GoesUpAndDownAndShowsItsStatus(t *testing.T) {
	t.Parallel()
	environ := []string{"DATABASE_URL=sqlite://" + filepath.Join(t.TempDir(), "weir.db")}
	clitest.Check(t, run(t, environ, "migrate", "up"), app.OK, `migrations applied: [1-9]`, "^$")
	clitest.Check(t, run(t, environ, "migrate", "up"), app.OK, `migrations applied: 0`, "^$")
	clitest.Check(t, run(t, environ, "migrate", "status"), app.OK, `(?m)^1 .* 20\d\d-.*Z$`, "^$")
	clitest.Check(t, run(t, environ, "migrate", "down", "--yes", "--steps", "2"), app.OK, `migrations reverted: 2; .*pending: 2`, "^$")
	clitest.Check(t, run(t, environ, "migrate", "down", "--yes", "--steps", "999"), app.OK, `migrations reverted: \d\d; `, "^$")
	clitest.Check(t, run(t, environ, "migrate", "status"), app.OK, `(?m)^1 .* pending$`, "^$")
}

func TestMigrate_FailureShowsNoPassword(t *testing.T) {
	t.Parallel()
	r := run(t, []string{"DATABASE_URL=mysql://ann:hunter2@127.0.0.1:1/weir"}, "migrate", "up")
	clitest.Check(t, r, app.Failure, "^$", "weir: ")
	if strings.Contains(r.Err, "hunter2") {
		t.Errorf("the password is shown: %s", r.Err)
	}
}

func TestHealthcheck_ReportsReadiness(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"reasons":["store: it does not respond"]}`))
	}))
	environ := []string{"LISTEN_ADDR=" + server.Listener.Addr().String()}
	clitest.Check(t, run(t, environ, "healthcheck"), app.OK, "^ready\n$", "^$")
	status = http.StatusServiceUnavailable
	clitest.Check(t, run(t, environ, "healthcheck"), app.Failure, "^$", "not ready: 503 .*store: it does not respond")
	server.Close()
	clitest.Check(t, run(t, environ, "healthcheck"), app.Failure, "^$", "not ready: ")
	clitest.Check(t, run(t, []string{"LISTEN_ADDR=127.0.0.1:0"}, "healthcheck"), app.Failure, "^$", "LISTEN_ADDR has port 0")
}
