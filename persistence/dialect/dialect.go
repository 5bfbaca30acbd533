// Package dialect says what an SQL database has to bring to be a store of
// contacts. Everything else about SQL is the same for all of them and lies in
// package persistence.
package dialect

import (
	"context"
	"database/sql"

	"github.com/pressly/goose/v3"
)

// Kind says what to do about an error of the database.
type Kind int

// The kinds of errors.
const (
	Fault Kind = iota // the statement or its values are to blame
	Again             // the transaction was undone for the sake of another one
	Down              // the database cannot work now; what was under way is unknown
)

// Pools are the connections to one database. They may be one and the same.
type Pools struct {
	Batch *sql.DB // of the group-commit writer: one connection
	Write *sql.DB // of all other writes
	Read  *sql.DB
}

// Statements are the pieces of SQL that differ.
type Statements struct {
	// UpdateContacts replaces the progress of many contacts. Its one argument
	// is a JSON array of arrays, in the order of [Columns].
	UpdateContacts string
	// KeepContact ends an INSERT into contacts: leave what is there.
	KeepContact string
	// AddCount ends an INSERT into channel_counts: add to what is there.
	AddCount string
	// RenewWake ends an INSERT into inbox: a wake item that is there takes the
	// new id.
	RenewWake string
	// ForShare and ForUpdate end a SELECT that holds on to what it read.
	ForShare, ForUpdate string
	// OwnerGone is a condition on the column leases.owner that is true when
	// it is certain that no such process is connected.
	OwnerGone string
	// Prepare says that statements of constant text are worth preparing.
	Prepare bool
}

// Database is one open database.
type Database interface {
	Pools() Pools
	Statements() Statements
	// Now is an SQL expression: the database's clock in microseconds.
	Now() string
	// Classify names an error and says what to do about it. The code is a
	// label for metrics.
	Classify(err error) (Kind, string)
	// Duplicate tells whether a unique key refused a row.
	Duplicate(err error) bool
	// Writable finds out whether the database takes writes.
	Writable(ctx context.Context) error
	// Join announces a process under its name, waiting until that is possible,
	// and returns what takes it back. alone says that no other process can be
	// a member at the same time.
	Join(ctx context.Context, owner string) (leave func(), alone bool, err error)
	// Migrations names the folder of the schema's steps and the dialect's name
	// in goose.
	Migrations() (folder string, name goose.Dialect)
	// LockMigrations keeps other processes from migrating until unlock.
	LockMigrations(ctx context.Context) (unlock func(), err error)
	Close() error
}

// Columns are the elements of one row of UpdateContacts, in order.
func Columns() []string {
	return []string{
		"channel_id", "id", "was_rev", // which, and the guard
		"rev", "state", "lane", "pos", "waiting", "due_at", "attempt", "failures",
		"claimed_at", "sent_at", "heard_at", "finished_at",
		"provider_ref", "parts", "outcome", "reason", "cancel_asked",
	}
}
