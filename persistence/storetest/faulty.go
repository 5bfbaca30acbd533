package storetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"sync"

	"github.com/jmoiron/sqlx"

	"weir/persistence/dialect"
)

// Fault is a fault of a COMMIT of the writer.
type Fault int

const (
	None   Fault = iota
	Before       // the connection breaks and the server never saw it
	After        // the server committed, and the answer is lost
)

// Faulty is a database whose connections of the writer break at will.
type Faulty struct {
	dialect.Database
	pools dialect.Pools

	mu       sync.Mutex
	Down     bool         // set in a function asked at a COMMIT, or with Set
	Lost     func()       // called when the server has committed and the answer is lost; set in a function asked at a COMMIT
	next     func() Fault // asked at each COMMIT
	attempts int          // COMMITs
	others   func() Fault // asked at each COMMIT that is not the writer's, if it has a pool of its own
}

func newFaulty(db dialect.Database) *Faulty {
	well := func() Fault { return None }
	f := &Faulty{Database: db, pools: db.Pools(), next: well, others: well}
	inner := f.pools.Batch
	broken := sql.OpenDB(connector{f, inner, false})
	broken.SetMaxOpenConns(1)
	if f.pools.Write == inner {
		f.pools.Write = broken
	} else {
		f.pools.Write = sql.OpenDB(connector{f, f.pools.Write, true})
	}
	f.pools.Batch = broken
	if f.pools.Lease == inner { // which has one connection
		f.pools.Lease = broken
	}
	return f
}

// Pools implements [dialect.Database].
func (f *Faulty) Pools() dialect.Pools { return f.pools }

// Begin implements [dialect.Database].
func (f *Faulty) Begin(ctx context.Context, batch *sqlx.DB) (dialect.Transaction, error) {
	if f.isDown() {
		return nil, driver.ErrBadConn
	}
	return f.Database.Begin(ctx, batch)
}

// Close implements [dialect.Database].
func (f *Faulty) Close() error {
	_ = f.pools.Batch.Close()
	_ = f.pools.Write.Close()
	return f.Database.Close()
}

// Set makes the database unreachable or reachable for the writer; next, if not nil, is
// asked for the fault of each COMMIT of the writer from now on.
func (f *Faulty) Set(down bool, next func() Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Down = down
	if next != nil {
		f.next = next
	}
}

// BreakAll has every COMMIT asked about, the writer's or not.
func (f *Faulty) BreakAll(next func() Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next, f.others = next, next
}

// Attempts returns how many COMMITs of the writer there were.
func (f *Faulty) Attempts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.attempts
}

func (f *Faulty) isDown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Down
}

func (f *Faulty) fate(other bool) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other {
		return f.others()
	}
	f.attempts++
	return f.next()
}

func (f *Faulty) lost() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Lost != nil {
		f.Lost()
	}
}

// connector hands out connections of another pool.
type connector struct {
	f     *Faulty
	inner *sql.DB
	other bool // not the writer's: only its COMMITs break
}

func (c connector) Driver() driver.Driver { return c.inner.Driver() }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	if !c.other && c.f.isDown() {
		return nil, driver.ErrBadConn
	}
	held, err := c.inner.Conn(ctx)
	if err != nil {
		return nil, err
	}
	var raw driver.Conn
	if err := held.Raw(func(dc any) error { raw = dc.(driver.Conn); return nil }); err != nil {
		return nil, err
	}
	return &conn{Conn: raw, f: c.f, held: held, other: c.other}, nil
}

// conn is a connection with what database/sql asks of a good one.
type conn struct {
	driver.Conn
	f     *Faulty
	held  *sql.Conn
	other bool
}

func (c *conn) isDown() bool { return !c.other && c.f.isDown() }

func (c *conn) Close() error {
	_ = c.held.Raw(func(any) error { return driver.ErrBadConn }) // throws the real one away
	return nil
}

func (c *conn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if c.isDown() {
		return nil, driver.ErrBadConn
	}
	exec := c.Conn.(driver.ExecerContext).ExecContext
	if !strings.HasSuffix(q, "COMMIT") { // with the statements before it, where these travel together
		return exec(ctx, q, args)
	}
	var out driver.Result
	err := c.commit(func() (err error) { out, err = exec(ctx, q, args); return err })
	return out, err
}

func (c *conn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	if c.isDown() {
		return nil, driver.ErrBadConn
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, q, args)
}

func (c *conn) PrepareContext(ctx context.Context, q string) (driver.Stmt, error) {
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, q)
}

func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if c.isDown() {
		return nil, driver.ErrBadConn
	}
	t, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
	return &tx{t, c}, err
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

type tx struct {
	driver.Tx
	c *conn
}

func (t *tx) Commit() error { return t.c.commit(t.Tx.Commit) }

// commit commits as it is fated.
func (c *conn) commit(do func() error) error {
	switch c.f.fate(c.other) {
	case Before:
		return driver.ErrBadConn // the pool closes the connection
	case After:
		if err := do(); err != nil {
			return err
		}
		c.f.lost()
		return driver.ErrBadConn
	default:
		return do()
	}
}
