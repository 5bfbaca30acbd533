// Package dialect says what an SQL database has to bring to be a store of
// contacts. Everything else about SQL is the same for all of them and lies in
// package persistence.
package dialect

import (
	"context"
	"database/sql"
	"errors"

	"github.com/pressly/goose/v3"
)

// ErrMember means that a process is a member of the database.
var ErrMember = errors.New("a Weir process runs on this database")

// Kind says what to do about an error of the database.
type Kind int

// The kinds of errors.
const (
	Fault Kind = iota // the statement or its values are to blame
	Again             // the transaction was undone for the sake of another one
	Down              // the database cannot work now; what was under way is unknown
)

// TooLong is the code of a [Fault] whose statement exceeds the server's
// max_allowed_packet.
const TooLong = "packet"

// Pools are the connections to one database. They may be one and the same.
type Pools struct {
	Batch *sql.DB // of the group-commit writer: one connection
	Write *sql.DB // of all other writes
	Read  *sql.DB
	// Statements counts those of all three; nil: nobody does.
	Statements *Counter
}

// Statements are the pieces of SQL that differ.
type Statements struct {
	// UpdateContacts replaces the progress of many contacts. Its one argument
	// is a JSON array of arrays, in the order of [Columns].
	UpdateContacts func(Shape) string
	// UpdateRows is the same for n contacts whose values are bound one by one,
	// in the order of [Columns], where a text may be NULL for an empty one. Rows
	// that are all NULL change nothing. Where it is nil, UpdateContacts is used.
	UpdateRows func(shape Shape, n int) string
	// InsertRows inserts n rows like row, with its placeholders, into a table,
	// but none whose first value is NULL. Where it is nil, a statement has as
	// many rows as there are.
	InsertRows func(into, row string, n int) string
	// UpdateRespondents replaces what many respondents have become. Its one
	// argument is a JSON array of arrays, in the order of [RespondentColumns].
	UpdateRespondents string
	// KeepContact ends an INSERT into contacts: leave what is there.
	KeepContact string
	// AddCount ends an INSERT into channel_counts: add to what is there.
	AddCount string
	// KeepRespondent ends an INSERT into respondents: leave what is there.
	KeepRespondent string
	// Add ends an INSERT into a table of counts: add to the column n of what has
	// these key columns already.
	Add func(key ...string) string
	// Merge ends an INSERT: what has these key columns already is changed as the
	// assignments behind it say, in which Fresh gives the new value of a column.
	Merge func(key ...string) string
	Fresh func(column string) string
	// By follows the name of a table in a statement that has to use this index: for
	// a database that would guess wrong, having no statistics.
	By func(index string) string
	// Through follows the name of a table in a SELECT that has to go through this
	// index.
	Through func(index string) string
	// RenewWake ends an INSERT into inbox: a wake item that is there takes the
	// new id.
	RenewWake string
	// ForShare and ForUpdate end a SELECT that holds on to what it read.
	ForShare, ForUpdate string
	// OwnerGone is a condition on the column owner of writers that is true while no
	// such process is connected. It may come back.
	OwnerGone string
	// MarkOwned notes the number of a batch in writers, and holds on to the leases and
	// rows of n channels, if they are as the batch takes them to be; else it is
	// refused. Arguments: n, the sum of the leases' epochs, the number, the channels,
	// the owner, the start. Nil where reading them costs nothing.
	MarkOwned func(n int) string
	// Prepare says that statements of constant text are worth preparing.
	Prepare bool
	// Brief says that statements end by themselves, at once: to watch whether
	// their context ends would cost more than most of them.
	Brief bool
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
	// Exclude fails with [ErrMember] while a process is a member, and keeps others
	// from becoming one until release where the database can.
	Exclude(ctx context.Context) (release func(), err error)
	// Migrations names the folder of the schema's steps and the dialect's name
	// in goose.
	Migrations() (folder string, name goose.Dialect)
	// LockMigrations keeps other processes from migrating until unlock.
	LockMigrations(ctx context.Context) (unlock func(), err error)
	Close() error
}

// Shape says what a statement about many contacts writes of each.
type Shape int

// The shapes. Most contacts are in flight or done with nothing unusual about
// them, and what need not be written need not be handed over.
const (
	Whole Shape = iota
	Plain       // the rest becomes 0, empty or NULL
)

// Columns are the elements of one row of UpdateContacts, in order.
func Columns(shape Shape) []string {
	columns := []string{
		"channel_id", "id", "was_rev", // which, and the guard
		"rev", "state", "lane", "pos", "attempt", "claimed_at", "sent_at", "heard_at", "finished_at",
		"provider_ref", "outcome",
	}
	if shape == Plain {
		return columns
	}
	return append(columns, "waiting", "due_at", "failures", "cancel_asked", "parts", "reason")
}

// Text tells whether a column of Columns is one.
func Text(column string) bool {
	switch column {
	case "provider_ref", "outcome", "parts", "reason":
		return true
	}
	return false
}

// Assignments are what an update of contacts sets: each column of its shape to
// what from gives of it, and the rest to nothing. window is the instant at which
// one that waits expires.
func Assignments(shape Shape, to string, from func(column string) string, window string) []string {
	var set []string
	for _, c := range Columns(shape)[3:] {
		if c != "waiting" {
			set = append(set, to+c+" = "+from(c))
		}
	}
	if shape == Plain {
		return append(set, to+"due_at = 0", to+"failures = 0", to+"cancel_asked = 0", to+"parts = ''", to+"reason = ''", to+"expire_at = NULL")
	}
	return append(set, to+"expire_at = "+window)
}

// RespondentColumns are the elements of one row of UpdateRespondents, in order.
// Attributes that are null stay as they are.
func RespondentColumns() []string {
	return []string{
		"id", "survey_id", "was_rev", // which, and the guard
		"rev", "attributes", "bucket", "status", "disposition", "counted", "lane", "look_at",
		"contact_channel", "contact_id", "reached_at", "started_at", "finished_at", "progress",
	}
}
