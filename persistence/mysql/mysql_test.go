package mysql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"weir/persistence/dialect"
	"weir/persistence/testmysql"
)

func TestParse_ReadsEachFormOfAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"u:p@h:3307/d":              "u|p|tcp|h:3307|d|",
		"u:p@h/d":                   "u|p|tcp|h:3306|d|",
		"u@h/d":                     "u||tcp|h:3306|d|",
		"h/d":                       "||tcp|h:3306|d|",
		"u:p%40%3A%2F%25@[::1]:1/d": "u|p@:/%|tcp|[::1]:1|d|",
		"u:p@ss@[::1]/d":            "u|p@ss|tcp|[::1]:3306|d|",
		"u:p@unix(/run/my.sock)/d":  "u|p|unix|/run/my.sock|d|",
		"u:p@h/d?tls=skip-verify":   "u|p|tcp|h:3306|d|skip-verify",
		"u:p@h1,h2:1,[::1]/d":       "u|p|tcp|h1:3306,h2:1,[::1]:3306|d|",
	} {
		cfg, err := parse(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		got := fmt.Sprintf("%s|%s|%s|%s|%s|%s", cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.DBName, cfg.TLSConfig)
		if got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
		if !cfg.RejectReadOnly || !cfg.InterpolateParams || cfg.MultiStatements || cfg.ClientFoundRows {
			t.Errorf("%s: what the store relies on is not set", address)
		}
	}
}

func TestParse_RefusesBadHosts(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"u:p@h1,,h2/d":      "a host is empty",
		"u:p@h1,/d":         "a host is empty",
		"u:p@,h1/d":         "a host is empty",
		"u:p@h1,:3306/d":    "a host is empty",
		"u:p@h1,h1/d":       "h1:3306 is there twice",
		"u:p@h1:3306,h1/d":  "h1:3306 is there twice",
		"u:p@h1,unix(/s)/d": "malformed",
	} {
		if _, err := parse(address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}

func TestFewest_TakesTheSmallerLimit(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]int{{151, 0, 151}, {151, 10, 10}, {5, 10, 5}} {
		if got := fewest(c[0], c[1]); got != c[2] {
			t.Errorf("a server that allows %d, %d of the account: %d", c[0], c[1], got)
		}
	}
}

// A server that allows too few connections is used all the same.
func TestOpen_WarnsAboutFewConnections(t *testing.T) {
	t.Parallel()
	url := testmysql.Start(t).URL(t)
	plain := open(t, mustConnect(t, settings(t, url)), 1)
	var log strings.Builder
	for _, text := range []string{"CREATE USER ann@'%' IDENTIFIED BY 'a' WITH MAX_USER_CONNECTIONS 5", "GRANT ALL ON *.* TO ann@'%'"} {
		if _, err := plain.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(t.Context(), "ann:a"+strings.TrimPrefix(url, "mysql://weir:weir"), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	_ = d.Close()
	if !strings.Contains(log.String(), "allowed=5 needed=12") {
		t.Errorf("the log: %s", log.String())
	}
}

func TestVersion_RefusesUnknownAndOldServers(t *testing.T) {
	t.Parallel()
	for version, good := range map[string]bool{
		"8.0.36":                     true,
		"8.4.0-commercial":           true,
		"9.1.0":                      true,
		"5.7.44-log":                 false,
		"10.11.19-MariaDB-0+deb12u1": true,
		"10.6.0-MariaDB":             true,
		"10.5.23-MariaDB":            false,
		"5.5.5-10.6.12-MariaDB-log":  true,
		"5.5.5-10.3.1-MariaDB":       false,
		"11.4.2-MariaDB":             true,
		"8.0.11-TiDB-v8.5.6":         false,
		"8.0.30-Vitess":              false,
		"something":                  false,
		"":                           false,
	} {
		if err := checkVersion(version); (err == nil) != good {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestClassify_TellsTheKindOfEachError(t *testing.T) {
	t.Parallel()
	number := func(n uint16) error { return fmt.Errorf("wrapped: %w", &driver.MySQLError{Number: n}) }
	for name, c := range map[string]struct {
		err  error
		kind dialect.Kind
		code string
	}{
		"deadlock":                   {number(1213), dialect.Again, "deadlock"},
		"lock wait":                  {number(1205), dialect.Again, "lock_wait"},
		"conflict in a group":        {number(3101), dialect.Again, "deadlock"},
		"hook of a group's member":   {number(3100), dialect.Down, "server"},
		"connect timeout of a proxy": {number(9001), dialect.Down, "proxy"},
		"no server behind a proxy":   {number(9005), dialect.Down, "proxy"},
		"no function":                {number(1305), dialect.Down, "schema"},
		"read only":                  {number(1290), dialect.Down, "read_only"},
		"disk full":                  {number(1021), dialect.Down, "full"},
		"no table":                   {number(1146), dialect.Down, "schema"},
		"shutdown":                   {number(1053), dialect.Down, "killed"},
		"too long":                   {number(1406), dialect.Fault, "refused"},
		"duplicate":                  {number(1062), dialect.Fault, "refused"},
		"connection":                 {driver.ErrInvalidConn, dialect.Down, "connection"},
		"deadline":                   {context.DeadlineExceeded, dialect.Down, "timeout"},
		"our own":                    {errors.New("x"), dialect.Fault, "driver"},
	} {
		if kind, code := (&Database{}).Classify(c.err); kind != c.kind || code != c.code {
			t.Errorf("%s: %v %s, want %v %s", name, kind, code, c.kind, c.code)
		}
	}
}

// Every MySQL has group replication; MariaDB has none.
func TestGroupOfSeveralPrimariesIsRefused(t *testing.T) {
	t.Parallel()
	url := testmysql.Start(t).URL(t)
	plain := open(t, mustConnect(t, settings(t, url)), 1)
	_, err := plain.Exec("INSTALL PLUGIN group_replication SONAME 'group_replication.so'")
	if isMariaDB(t, plain) != (err != nil) {
		t.Fatalf("the plugin of group replication: %v", err)
	}
	if err != nil {
		return // MariaDB: no server of it can be in such a group
	}
	address := strings.TrimPrefix(url, "mysql://")
	for mode, refused := range map[string]bool{"ON": false, "OFF": true} {
		if _, err := plain.Exec("SET GLOBAL group_replication_single_primary_mode = " + mode); err != nil {
			t.Fatal(err)
		}
		d, err := Open(t.Context(), address, slog.New(slog.DiscardHandler))
		if (err != nil) != refused {
			t.Errorf("single-primary mode %s: %v", mode, err)
		}
		if err == nil {
			_ = d.Close()
		}
	}
}
