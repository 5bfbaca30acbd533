package daemon_test

import (
	"context"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"weir/cmd/weir/daemon"
	"weir/config"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

func configuration(t *testing.T, environ ...string) config.Config {
	t.Helper()
	cfg, _, err := config.Load(environ)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// sqliteURL names a new file with the newest schema, mysqlURL such a database of the server. Tests of the daemon start from
// them unless they are about a start on an empty database: the migrations were a third of the time of all of them, because
// their parser draws a buffer of 4 MB for each line, of which the race detector lets a pool forget every fourth.
func sqliteURL(t *testing.T) string {
	t.Helper()
	return withSchema(t, "sqlite://"+filepath.Join(t.TempDir(), "weir.db"))
}

func mysqlURL(t *testing.T) string {
	t.Helper()
	return withSchema(t, testmysql.URL(t))
}

func withSchema(t *testing.T, url string) string {
	t.Helper()
	storetest.Migrate(t, url)
	return url
}

// A set-up that fails when it opens its address has undone the steps before it: the
// store, which only one process may join, can be joined again.
func TestSetup_FailedSetUpIsUndone(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	database := "DATABASE_URL=sqlite://" + filepath.Join(t.TempDir(), "weir.db")
	_, err = daemon.New(t.Context(), daemon.Options{Config: configuration(t, database, "LISTEN_ADDR="+taken.Addr().String())})
	if err == nil || !strings.Contains(err.Error(), "LISTEN_ADDR") {
		t.Fatalf("%v; want an error about LISTEN_ADDR", err)
	}
	d, err := daemon.New(t.Context(), daemon.Options{Config: configuration(t, database, "LISTEN_ADDR=127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	d.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/readyz", nil))
	if w.Code != 200 {
		t.Errorf("/readyz: %d %s", w.Code, w.Body)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Run(ctx); err != nil {
		t.Errorf("an end in order gives %v", err)
	}
}

func TestSetup_OldSchemaIsRefusedWhenItMayNotBeChanged(t *testing.T) {
	t.Parallel()
	database := "DATABASE_URL=" + testmysql.URL(t)
	_, err := daemon.New(t.Context(), daemon.Options{Config: configuration(t, database, "LISTEN_ADDR=127.0.0.1:0", "WEIR_AUTO_MIGRATE=false")})
	if err == nil || !strings.Contains(err.Error(), "run: weir migrate up") {
		t.Fatalf("%v; want the sentence that says what to run", err)
	}
	d, err := daemon.New(t.Context(), daemon.Options{Config: configuration(t, database, "LISTEN_ADDR=127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
