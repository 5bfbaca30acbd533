package mysql

import (
	"context"
	"errors"
	"fmt"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"weir/persistence/dialect"
)

func TestParse(t *testing.T) {
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

func TestVersions(t *testing.T) {
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
		"something":                  false,
		"":                           false,
	} {
		if err := checkVersion(version); (err == nil) != good {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	number := func(n uint16) error { return fmt.Errorf("wrapped: %w", &driver.MySQLError{Number: n}) }
	for name, c := range map[string]struct {
		err  error
		kind dialect.Kind
		code string
	}{
		"deadlock":   {number(1213), dialect.Again, "deadlock"},
		"lock wait":  {number(1205), dialect.Again, "lock_wait"},
		"read only":  {number(1290), dialect.Down, "read_only"},
		"disk full":  {number(1021), dialect.Down, "full"},
		"no table":   {number(1146), dialect.Down, "schema"},
		"shutdown":   {number(1053), dialect.Down, "killed"},
		"too long":   {number(1406), dialect.Fault, "refused"},
		"duplicate":  {number(1062), dialect.Fault, "refused"},
		"connection": {driver.ErrInvalidConn, dialect.Down, "connection"},
		"deadline":   {context.DeadlineExceeded, dialect.Down, "timeout"},
		"our own":    {errors.New("x"), dialect.Fault, "driver"},
	} {
		if kind, code := (&Database{}).Classify(c.err); kind != c.kind || code != c.code {
			t.Errorf("%s: %v %s, want %v %s", name, kind, code, c.kind, c.code)
		}
	}
}
