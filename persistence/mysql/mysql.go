// Package mysql is the store for production: MySQL 8.0 or newer, or MariaDB 10.6 or
// newer.
//
// The group-commit writer sends several statements in one message where the result of
// each is not needed: a transaction takes one round trip for each statement whose result is
// needed, and one for COMMIT.
package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"

	"weir/persistence/dialect"
)

// Open connects to the database at an address, the part of the URL after the
// scheme:
//
//	user:password@host:3306/name
//	user:password@host1:3306,host2:3306,host3:3306/name
//	user:password@unix(/path/of/socket)/name
//
// Of several servers the one that was used last is tried first. A server is used only if
// it can be written and, in a group, is the primary that sees a majority.
//
// Reserved characters in user and password are percent-encoded.
// ?tls=true|skip-verify|preferred enables TLS. Other parameters are rejected: the
// settings that the store relies on are fixed here.
func Open(ctx context.Context, address string, log *slog.Logger) (dialect.Database, error) {
	cfg, err := parse(address)
	if err != nil {
		return nil, err
	}
	d, err := openWith(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func openWith(ctx context.Context, cfg *driver.Config, log *slog.Logger) (*Database, error) {
	cfg.Logger = quiet{log}
	several := cfg.Clone()
	several.MultiStatements = true // in one message; only transactions of the writer join them
	all := newServers(cfg, log)
	one, err := all.connector(cfg)
	if err != nil {
		return nil, err
	}
	joined, err := all.connector(several)
	if err != nil {
		return nil, err
	}
	if len(all.addresses) > 1 {
		if err := one.survey(ctx); err != nil {
			return nil, err
		}
	}
	counter := new(dialect.Counter)
	d := &Database{log: log, unix: cfg.Net == "unix", servers: all}
	batch := pool(counter.Counted(checked{checked{joined, d.inspectConn}, d.measureConn}), 1)
	rest := pool(counter.Counted(one), maxConnections-2)
	lease := pool(counter.Counted(checked{one, d.inspectConn}), 1)
	d.pools = dialect.Pools{Batch: batch, Write: rest, Read: rest, Lease: lease, Statements: counter}
	if err := d.check(ctx); err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

// ServerAddress implements [dialect.Database]. A server with a socket is on this machine.
func (d *Database) ServerAddress() string {
	if d.unix {
		return "127.0.0.1:3306"
	}
	return d.servers.inUse()
}

// Inspect implements [dialect.Database].
func (d *Database) Inspect(check func(context.Context, dialect.ReadNumber) error) {
	d.inspect.Store(&check)
}

// Verify implements [dialect.Database].
func (d *Database) Verify(ctx context.Context, c *sql.Conn) error {
	if !d.servers.checked.Load() {
		return nil
	}
	f, err := factsOn(ctx, c)
	if err == nil {
		err = d.servers.refuse(f)
	}
	if err != nil {
		_ = c.Raw(func(any) error { return sqldriver.ErrBadConn })
	}
	return err
}

// Present implements [dialect.Database]. A server that lacks something is found by [Database.Inspect].
func (d *Database) Present() error { return nil }

// Room implements [dialect.Database]. The server manages its own disk.
func (d *Database) Room(bool) error { return nil }

// Renew implements [dialect.Database].
func (d *Database) Renew(address func() (string, error)) { d.servers.renew.Store(&address) }

// checked opens connections and closes those that fail a check.
type checked struct {
	sqldriver.Connector
	check func(context.Context, sqldriver.QueryerContext) error
}

// Connect implements driver.Connector.
func (c checked) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.check(ctx, conn.(sqldriver.QueryerContext)); err != nil { //nolint:forcetypeassert // the driver's own
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// inspectConn runs the check of [Database.Inspect].
func (d *Database) inspectConn(ctx context.Context, conn sqldriver.QueryerContext) error {
	check := d.inspect.Load()
	if check == nil {
		return nil
	}
	return (*check)(ctx, func(ctx context.Context, text string) (int64, bool, error) {
		rows, err := asks(ctx, conn, text)
		if err != nil || len(rows) == 0 {
			return 0, false, err
		}
		n, err := strconv.ParseInt(rows[0][0], 10, 64)
		return n, true, err
	})
}

// measureConn reads how long a message to the server may be.
func (d *Database) measureConn(ctx context.Context, conn sqldriver.QueryerContext) error {
	rows, err := asks(ctx, conn, "SELECT @@max_allowed_packet")
	packet := 0
	if err == nil && len(rows) == 1 {
		packet, err = strconv.Atoi(rows[0][0])
	}
	if err != nil {
		return fmt.Errorf("mysql: read the limit of the writer's messages: %w", err)
	}
	d.message.Store(int64(min(packet/2, maxMessage)))
	return nil
}

// Disconnect implements [dialect.Database].
func (d *Database) Disconnect() { d.servers.disconnect() }

// maxConnections is how many connections a process opens at most: one of the writer, one of the
// lease, and those for everything else.
const maxConnections = 12

func pool(connections sqldriver.Connector, most int) *sql.DB {
	db := sql.OpenDB(connections)
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	db.SetConnMaxLifetime(3 * time.Minute)
	return db
}

// Pools implements [dialect.Database].
func (d *Database) Pools() dialect.Pools { return d.pools }

// Close implements [dialect.Database].
func (d *Database) Close() error {
	return errors.Join(d.pools.Batch.Close(), d.pools.Read.Close(), d.pools.Lease.Close())
}

// Now implements [dialect.Database].
func (d *Database) Now() string {
	return "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)"
}

// Hold implements [dialect.Database]. The lease of the database decides.
func (d *Database) Hold(context.Context, bool) (func(), bool, error) { return func() {}, false, nil }

// Migrations implements [dialect.Database].
func (d *Database) Migrations() (string, goose.Dialect) { return "mysql", goose.DialectMySQL }

// Writable implements [dialect.Database].
func (d *Database) Writable(ctx context.Context) error {
	var readOnly bool
	if err := d.pools.Write.QueryRowContext(ctx, "SELECT @@global.read_only").Scan(&readOnly); err != nil {
		return err
	}
	if readOnly {
		return errors.New("mysql: the server is read-only")
	}
	tx, err := d.pools.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(ctx, "INSERT INTO meta (name, value) VALUES ('probe', 0)")
	if d.Duplicate(err) {
		err = nil
	}
	return err
}

// quiet redirects the driver's own log from standard error to the process's log at
// debug level, because every error is returned as well.
type quiet struct{ log *slog.Logger }

// Print implements the driver's Logger.
func (q quiet) Print(v ...any) { q.log.Debug("mysql driver", "message", fmt.Sprint(v...)) }
