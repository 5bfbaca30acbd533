package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	mysql "github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"weir/persistence/dialect"
)

// maxMessage is the max length of a message of several statements, in bytes. The other
// bound is half of max_allowed_packet.
const maxMessage = 4 << 20

// separator stands between two statements of one message. The newline ends a comment, which
// would otherwise hide the statements after it.
const separator = "\n;"

// transaction is a transaction of the writer. START TRANSACTION travels with its first list
// of statements, and COMMIT with its last. After an error of the server only the end of the
// transaction can follow, and it rolls back: of several statements in a message it is not
// known which ones were executed.
type transaction struct {
	conn    *sqlx.Conn
	max     int // bytes of a message of several statements
	counter *dialect.Counter
	begun   bool // the server may know of it
	failed  error
}

// Begin implements [dialect.Database]. Nothing is sent yet.
func (d *Database) Begin(ctx context.Context, batch *sqlx.DB) (dialect.Transaction, error) {
	conn, err := batch.Connx(ctx)
	if err != nil {
		return nil, err
	}
	return &transaction{conn: conn, max: int(d.message.Load()), counter: d.pools.Statements}, nil
}

// Exec implements [dialect.Transaction].
func (t *transaction) Exec(ctx context.Context, list []dialect.Statement) (rows int64, err error) {
	err = t.send(ctx, list, func(m message) error {
		result, err := t.conn.ExecContext(ctx, m.text, m.args...)
		if err != nil {
			return err
		}
		rows, err = result.RowsAffected() // the driver returns those of the last statement
		return err
	})
	return rows, err
}

// Select implements [dialect.Transaction]. The driver skips the results of statements that
// return no rows.
func (t *transaction) Select(ctx context.Context, dest any, list []dialect.Statement) error {
	return t.send(ctx, list, func(m message) error { return t.conn.SelectContext(ctx, dest, m.text, m.args...) })
}

// Get implements [dialect.Transaction].
func (t *transaction) Get(ctx context.Context, dest any, list []dialect.Statement) error {
	return t.send(ctx, list, func(m message) error { return t.conn.GetContext(ctx, dest, m.text, m.args...) })
}

// Commit implements [dialect.Transaction].
func (t *transaction) Commit(ctx context.Context, list []dialect.Statement) error {
	if t.begun || len(list) > 0 {
		if _, err := t.Exec(ctx, append(slices.Clip(list), dialect.Statement{Text: "COMMIT"})); err != nil {
			_ = t.Rollback() // after a failed statement the server has not executed COMMIT
			return err
		}
	}
	return t.conn.Close()
}

// Rollback implements [dialect.Transaction]. If ROLLBACK fails, the connection is closed,
// which has the same effect.
func (t *transaction) Rollback() error {
	var err error
	if t.begun {
		_, err = t.conn.ExecContext(context.Background(), "ROLLBACK")
	}
	switch {
	case errors.Is(err, sql.ErrConnDone): // it was discarded
		return nil
	case err != nil:
		t.discard()
		return err
	}
	return t.conn.Close()
}

// discard closes the connection, whose state is not known, so that the pool drops it.
func (t *transaction) discard() { _ = t.conn.Raw(func(any) error { return driver.ErrBadConn }) }

// send sends statements in as few messages as possible; do sends the last one.
func (t *transaction) send(ctx context.Context, list []dialect.Statement, do func(message) error) error {
	if t.failed != nil {
		return fmt.Errorf("mysql: the transaction has failed: %w", t.failed)
	}
	if !t.begun {
		list = slices.Insert(slices.Clip(list), 0, dialect.Statement{Text: "START TRANSACTION"})
	}
	messages, err := join(list, t.max)
	if err != nil {
		t.failed = err
		return err
	}
	for i, m := range messages {
		t.begun = true
		if i == len(messages)-1 {
			err = do(m)
		} else {
			_, err = t.conn.ExecContext(ctx, m.text, m.args...)
		}
		t.counter.Add(m.counted - 1)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return err
		case err != nil:
			t.failed = err
			if _, answered := errors.AsType[*mysql.MySQLError](err); !answered {
				t.discard()
			}
			return err
		}
	}
	return nil
}

// message is one or several statements that are sent together.
type message struct {
	text    string
	args    []any
	counted int // statements but the begin and the end of the transaction
}

// join joins statements to messages of a max length in bytes. A longer statement goes alone:
// if it is too long with its arguments in its text, the driver prepares it.
func join(list []dialect.Statement, most int) ([]message, error) {
	var messages []message
	var text strings.Builder
	var m message
	end := func() {
		if text.Len() > 0 {
			m.text = text.String()
			messages = append(messages, m)
		}
		text.Reset()
		m = message{}
	}
	length := 0
	for _, s := range list {
		switch {
		case strings.Contains(s.Text, ";"):
			return nil, errors.New("mysql: the text of a statement must not hold a semicolon; values belong into arguments")
		case strings.Count(s.Text, "?") != len(s.Args):
			return nil, fmt.Errorf("mysql: %d arguments for the placeholders of %q", len(s.Args), s.Text)
		}
		n := size(s)
		if length+n > most {
			end()
			length = 0
		}
		if text.Len() > 0 {
			text.WriteString(separator)
		}
		text.WriteString(s.Text)
		m.args = append(m.args, s.Args...)
		length += n
		if s.Text != "START TRANSACTION" && s.Text != "COMMIT" {
			m.counted++
		}
	}
	end()
	return messages, nil
}

// size returns an upper bound of the length of a statement in bytes, with its arguments
// written into its text.
func size(s dialect.Statement) int {
	const other = 32 // a number, a time, quotes
	n := len(s.Text) + len(separator)
	for _, a := range s.Args {
		n += other + 2*length(a)
	}
	return n
}

func length(a any) int {
	switch a := a.(type) {
	case string:
		return len(a)
	case []byte:
		return len(a)
	case nil, int64, int:
		return 0
	case driver.Valuer:
		v, err := a.Value()
		if err != nil {
			return 0 // sending it fails
		}
		return length(v)
	}
	v := reflect.ValueOf(a)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String, reflect.Slice:
		return v.Len()
	default:
		return 0
	}
}
