package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
	"weir/persistence/testmysql"
)

// Scenario 176: a command that works on an existing database creates no file if
// DATABASE_URL names a wrong one.
func TestDatabase_NoDatabaseIsMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	environ := []string{"DATABASE_URL=sqlite://" + filepath.Join(dir, "wrong.db")}
	for _, args := range []string{
		"token create --name a --scope router", "token list", "token revoke x --yes", "migrate status", "migrate down --yes",
	} {
		clitest.Check(t, run(t, environ, strings.Split(args, " ")...), app.Failure, "^$", `there is no SQLite file .*wrong\.db.*DATABASE_URL`)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("there are files: %v (%v)", files, err)
	}
}

// Scenario 177: schema steps are not reverted while a Weir runs on the database.
func TestDatabase_NoMigrationIsRevertedBesideARunningWeir(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func() string{
		"sqlite":  func() string { return "sqlite://" + filepath.Join(t.TempDir(), "weir.db") },
		"mariadb": func() string { return testmysql.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environ := []string{"DATABASE_URL=" + url(), "LISTEN_ADDR=127.0.0.1:0"}
			lines, stop := start(t, environ, "serve")
			for lines.Scan() && !strings.Contains(lines.Text(), "listening") {
			}
			clitest.Check(t, run(t, environ, "migrate", "down", "--yes"), app.Failure, "^$", "another process owns the database: a Weir that runs, which has to be stopped first, or another migration")
			clitest.Check(t, run(t, environ, "migrate", "up"), app.OK, "migrations applied: 0", "^$")
			if code := stop(); code != app.OK {
				t.Errorf("serve ended with %d", code)
			}
			clitest.Check(t, run(t, environ, "migrate", "down", "--yes"), app.OK, "migrations reverted: 1", "^$")
		})
	}
}
