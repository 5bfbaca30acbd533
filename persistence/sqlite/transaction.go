package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"

	"weir/persistence/dialect"
)

// transaction is a transaction of the writer. Statements go one by one, which costs no
// round trip; most are prepared.
type transaction struct {
	tx       *sqlx.Tx
	prepared *prepared
}

// Begin implements [dialect.Database].
func (d *Database) Begin(ctx context.Context, batch *sqlx.DB) (dialect.Transaction, error) {
	if err := d.prepared.fill(ctx, batch); err != nil {
		return nil, err
	}
	tx, err := batch.BeginTxx(ctx, nil)
	if err != nil {
		return nil, err
	}
	return &transaction{tx, &d.prepared}, nil
}

// Exec implements [dialect.Transaction].
func (t *transaction) Exec(ctx context.Context, list []dialect.Statement) (rows int64, err error) {
	for i := range list {
		result, err := t.exec(ctx, &list[i])
		if err != nil {
			return 0, err
		}
		if rows, err = result.RowsAffected(); err != nil {
			return 0, err
		}
	}
	return rows, nil
}

func (t *transaction) exec(ctx context.Context, s *dialect.Statement) (sql.Result, error) {
	if stmt := t.prepared.of(s); stmt != nil {
		return t.tx.StmtContext(ctx, stmt).ExecContext(ctx, s.Args...) //nolint:sqlclosecheck // ends with the transaction
	}
	return t.tx.ExecContext(ctx, s.Text, s.Args...)
}

// Select implements [dialect.Transaction].
func (t *transaction) Select(ctx context.Context, dest any, list []dialect.Statement) error {
	s, err := t.execButLast(ctx, list)
	if err != nil {
		return err
	}
	if stmt := t.prepared.of(s); stmt != nil {
		return t.tx.StmtxContext(ctx, stmt).SelectContext(ctx, dest, s.Args...) //nolint:sqlclosecheck // ends with the transaction
	}
	return t.tx.SelectContext(ctx, dest, s.Text, s.Args...)
}

// Get implements [dialect.Transaction].
func (t *transaction) Get(ctx context.Context, dest any, list []dialect.Statement) error {
	s, err := t.execButLast(ctx, list)
	if err != nil {
		return err
	}
	if stmt := t.prepared.of(s); stmt != nil {
		return t.tx.StmtxContext(ctx, stmt).GetContext(ctx, dest, s.Args...) //nolint:sqlclosecheck // ends with the transaction
	}
	return t.tx.GetContext(ctx, dest, s.Text, s.Args...)
}

// execButLast executes the statements before a query.
func (t *transaction) execButLast(ctx context.Context, list []dialect.Statement) (query *dialect.Statement, err error) {
	last := len(list) - 1
	_, err = t.Exec(ctx, list[:last])
	return &list[last], err
}

// Commit implements [dialect.Transaction].
func (t *transaction) Commit(ctx context.Context, list []dialect.Statement) error {
	if _, err := t.Exec(ctx, list); err != nil {
		_ = t.tx.Rollback()
		return fmt.Errorf("%w: %w", dialect.ErrNotCommitted, err)
	}
	return t.tx.Commit()
}

// Rollback implements [dialect.Transaction].
func (t *transaction) Rollback() error { return t.tx.Rollback() }

// prepared are the statements of the connection of the writer. The pool has this connection
// alone, which a transaction holds, so a new text is prepared before the next transaction.
type prepared struct {
	known  map[string]*sql.Stmt
	wanted []string
}

// fill prepares the texts that are new.
func (p *prepared) fill(ctx context.Context, db *sqlx.DB) error {
	if p.known == nil {
		p.known = map[string]*sql.Stmt{}
	}
	for len(p.wanted) > 0 {
		stmt, err := db.PrepareContext(ctx, p.wanted[0]) //nolint:sqlclosecheck // kept until the database is closed
		if err != nil {
			return err
		}
		p.known[p.wanted[0]] = stmt
		p.wanted = p.wanted[1:]
	}
	return nil
}

// of returns a prepared statement; nil: it is not prepared yet, or never.
func (p *prepared) of(s *dialect.Statement) *sql.Stmt {
	if s.Once {
		return nil
	}
	stmt := p.known[s.Text]
	if stmt == nil && !slices.Contains(p.wanted, s.Text) {
		p.wanted = append(p.wanted, s.Text)
	}
	return stmt
}

func (p *prepared) close() {
	for _, stmt := range p.known {
		_ = stmt.Close()
	}
}
