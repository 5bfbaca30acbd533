// Package dialect defines what an SQL database must provide to store contacts: its
// connections, whose statements are counted, the transactions of the writer, and the
// fragments of SQL that differ. All other SQL is the same for every database and is in
// package persistence.
package dialect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
)

// ErrMember reports that another process owns the database.
var ErrMember = errors.New("another process owns the database")

// Kind is the reaction that a database error calls for.
type Kind int

// The kinds of errors.
const (
	Fault Kind = iota // the statement or its values are wrong
	Again             // the transaction was rolled back in favor of another one; retry it
	Down              // the database is unavailable; the outcome of statements in flight is unknown
)

// Damaged is the code of a [Down] that lasts: the file or a table of the database is
// damaged.
const Damaged = "damaged"

// TooLong is the code of a [Fault] whose statement exceeds the server's
// max_allowed_packet.
const TooLong = "packet"

// NoRoomError reports that the disk of a database has too little room.
type NoRoomError struct {
	Folder      string
	Free, Needs uint64 // bytes
}

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("the disk of %s has %d bytes left, and %d are needed; make room there", e.Folder, e.Free, e.Needs)
}

// Pools holds the connection pools of one database. They may be the same pool.
type Pools struct {
	Batch *sql.DB // of the group-commit writer: one connection
	Write *sql.DB // of all other writes
	Read  *sql.DB
	Lease *sql.DB // of the lease of the database: one connection
	// Statements counts the statements of all three pools; nil: not counted.
	Statements *Counter
}

// Statements holds the SQL fragments that differ between databases.
type Statements struct {
	// InsertRows inserts n rows like row, with its placeholders, into a table,
	// except rows whose first value is NULL. If it is nil, each statement has exactly
	// as many rows as there are to insert.
	InsertRows func(into, row string, n int) string
	// UpdateRespondents replaces the state of many respondents. Its one argument
	// is a JSON array of arrays, in the order of [RespondentColumns].
	UpdateRespondents string
	// KeepContact ends an INSERT into contacts: an existing row stays unchanged.
	KeepContact string
	// KeepRespondent ends an INSERT into respondents: an existing row stays unchanged.
	KeepRespondent string
	// Add ends an INSERT into a table of counts: it adds to the column n of an
	// existing row with the same key columns.
	Add func(key ...string) string
	// Merge ends an INSERT: an existing row with the same key columns is changed by
	// the assignments that follow, in which Fresh refers to the new value of a column.
	Merge func(key ...string) string
	Fresh func(column string) string
	// By follows the name of a table in a statement that has to use this index, on
	// databases without statistics, whose planner would choose a wrong one.
	By func(index string) string
	// Through follows the name of a table in a SELECT that has to use this index.
	Through func(index string) string
	// ThroughKey follows the name of a table, with its alias, in a SELECT that has to use its
	// primary key: a server with few rows in its statistics may read a whole channel instead.
	ThroughKey string
	// ForShare and ForUpdate end a SELECT that locks the rows that it reads.
	ForShare, ForUpdate string
	// HasTable counts the tables with a name, its one argument.
	HasTable string
	// Tables lists the names of all tables and views of the database, but the server's own.
	Tables string
	// RowCount is an SQL expression: how many rows the statement before changed. It is
	// empty where the result of a statement costs no round trip.
	RowCount string
	// Prepare is set if statements of constant text are worth preparing.
	Prepare bool
	// IndexLater is set if the schema has no indexes of contacts that begin with the channel: every
	// batch would write a page for each of its channels. Package contacts writes them later.
	IndexLater bool
	// Brief is set if statements end by themselves and quickly: watching their
	// context would cost more than most of them.
	Brief bool
}

// ReadNumber runs a query for one number on a connection; found is false if there is no row.
type ReadNumber func(ctx context.Context, text string) (n int64, found bool, err error)

// Database is one open database.
type Database interface {
	Pools() Pools
	// Begin begins a transaction of the writer on its pool, [Pools].Batch.
	Begin(ctx context.Context, batch *sqlx.DB) (Transaction, error)
	Statements() Statements
	// Now returns an SQL expression: the database's clock in microseconds.
	Now() string
	// Classify returns the kind of an error, and a code as a label for metrics.
	Classify(err error) (Kind, string)
	// Duplicate reports whether a unique key rejected a row.
	Duplicate(err error) bool
	// Writable returns an error if the database does not accept writes.
	Writable(ctx context.Context) error
	// Hold keeps every other process away from the database, where it has the means; held
	// tells. It waits for another process that does, or returns [ErrMember]. release lets
	// others in, and has an effect once.
	Hold(ctx context.Context, wait bool) (release func(), held bool, err error)
	// Inspect sets a check of each new connection of the writer and of the lease: its error
	// keeps the connection from being used. A database that is a file has no other server and
	// needs none.
	Inspect(check func(ctx context.Context, read ReadNumber) error)
	// Renew sets where the address of the database, without its scheme, is read again before
	// each new connection, for a user or a password that changes. The rest of it stays as it was.
	Renew(address func() (string, error))
	// Verify returns an error if the server that a connection leads to can no longer be used,
	// and then closes it. It costs nothing where there can be no other server.
	Verify(ctx context.Context, c *sql.Conn) error
	// Present returns an error if a database that is a file is no longer where it was opened. It
	// costs little.
	Present() error
	// Room returns a [NoRoomError] if the disk of a database that is a file has too little room to
	// start on it, or to migrate the schema.
	Room(migrate bool) error
	// Disconnect closes all connections of the pools, whatever waits on them. Later ones may
	// lead to another server.
	Disconnect()
	// ServerAddress is HOST:PORT of the database server in use, as it is reached from here;
	// empty: it is a file.
	ServerAddress() string
	// Migrations returns the folder of the schema's migrations and the dialect's name
	// in goose.
	Migrations() (folder string, name goose.Dialect)
	Close() error
}

// RespondentColumns returns the elements of one row of UpdateRespondents, in order.
// Attributes that are null stay unchanged.
func RespondentColumns() []string {
	return []string{
		"id", "survey_id", "was_rev", // the row, and its expected revision
		"rev", "attributes", "bucket", "status", "disposition", "counted", "lane", "next_at",
		"contact_channel", "contact_id", "reached_at", "started_at", "finished_at", "progress",
	}
}
