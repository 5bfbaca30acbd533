package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	mysql "github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"

	"weir/persistence/dialect"
	"weir/persistence/testmysql"
)

// recorder records the messages to the server, and can make some of them fail.
type recorder struct {
	mu    sync.Mutex
	texts []string
	fail  map[string]error
}

// take returns the messages since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := r.texts
	r.texts = nil
	return texts
}

// failing makes one message fail without being sent.
func (r *recorder) failing(text string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = map[string]error{text: err}
}

func (r *recorder) see(text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, text)
	return r.fail[text]
}

type recording struct {
	driver.Connector
	r *recorder
}

func (c recording) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &recorded{inner.(connection), c.r}, nil
}

type recorded struct {
	connection
	r *recorder
}

func (c *recorded) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.r.see(text); err != nil {
		return nil, err
	}
	return c.connection.ExecContext(ctx, text, args)
}

func (c *recorded) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.r.see(text); err != nil {
		return nil, err
	}
	return c.connection.QueryContext(ctx, text, args)
}

func (c *recorded) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	if err := c.r.see("PREPARE " + text); err != nil {
		return nil, err
	}
	return c.connection.PrepareContext(ctx, text)
}

// rig is a database with a pool like the writer's, a plain pool beside it, and a table.
type rig struct {
	*testing.T
	d       *Database
	batch   *sqlx.DB
	plain   *sql.DB
	seen    *recorder
	counter *dialect.Counter
}

func stmt(text string, args ...any) dialect.Statement {
	return dialect.Statement{Text: text, Args: args}
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return rigOf(t, maxMessage)
}

// rigOf returns a rig with this max length of messages of several statements, in bytes.
func rigOf(t *testing.T, most int) *rig {
	t.Helper()
	b := &rig{T: t, seen: new(recorder), counter: new(dialect.Counter)}
	b.d = &Database{pools: dialect.Pools{Statements: b.counter}}
	b.d.message.Store(int64(most))
	cfg := settings(t, testmysql.URL(t))
	b.plain = open(t, mustConnect(t, cfg), 2)
	cfg.MultiStatements = true
	b.batch = sqlx.NewDb(open(t, b.counter.Counted(recording{mustConnect(t, cfg), b.seen}), 1), "mysql")
	b.do("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, s LONGTEXT)")
	b.do("INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two')")
	if err := b.batch.Ping(); err != nil {
		t.Fatal(err)
	}
	b.seen.take()
	return b
}

func settings(t testing.TB, url string) *mysql.Config {
	t.Helper()
	cfg, err := parse(strings.TrimPrefix(url, "mysql://"))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func mustConnect(t testing.TB, cfg *mysql.Config) driver.Connector {
	t.Helper()
	c, err := newServers(cfg, slog.New(slog.DiscardHandler)).connector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func open(t testing.TB, c driver.Connector, most int) *sql.DB {
	t.Helper()
	db := pool(c, most)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// do runs a statement outside of the writer's connection.
func (b *rig) do(text string, args ...any) {
	b.Helper()
	if _, err := b.plain.Exec(text, args...); err != nil {
		b.Fatal(err)
	}
}

func (b *rig) begin() dialect.Transaction {
	b.Helper()
	tx, err := b.d.Begin(b.Context(), b.batch)
	if err != nil {
		b.Fatal(err)
	}
	return tx
}

// exec executes statements and returns the number of rows that the last one changed.
func (b *rig) exec(tx dialect.Transaction, list ...dialect.Statement) int64 {
	b.Helper()
	n, err := tx.Exec(b.Context(), list)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// number executes statements, of which the last one reads a number.
func (b *rig) number(tx dialect.Transaction, list ...dialect.Statement) (n int) {
	b.Helper()
	if err := tx.Get(b.Context(), &n, list); err != nil {
		b.Fatal(err)
	}
	return n
}

func isMariaDB(t testing.TB, db *sql.DB) bool {
	t.Helper()
	var version string
	if err := db.QueryRow("SELECT VERSION()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	return strings.Contains(version, "MariaDB")
}

func (b *rig) commit(tx dialect.Transaction, list ...dialect.Statement) {
	b.Helper()
	if err := tx.Commit(b.Context(), list); err != nil {
		b.Fatal(err)
	}
}

// sent compares the messages since the last call; a slash separates the statements
// of one message.
func (b *rig) sent(want ...string) {
	b.Helper()
	var got []string
	for _, text := range b.seen.take() {
		got = append(got, strings.ReplaceAll(text, separator, " / "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("messages (-want +got):\n%s", diff)
	}
}

// rows compares the columns id and n of the table with want.
func (b *rig) rows(want ...[2]int) {
	b.Helper()
	if diff := cmp.Diff(want, table(b.T, b.plain)); diff != "" {
		b.Errorf("rows (-want +got):\n%s", diff)
	}
}

func table(t interface {
	Helper()
	Fatal(args ...any)
}, db *sql.DB) [][2]int {
	t.Helper()
	rows, err := db.Query("SELECT id, n FROM t ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var list [][2]int
	for rows.Next() {
		var r [2]int
		if err := rows.Scan(&r[0], &r[1]); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// number returns the error number of the server, or 0.
func number(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}
