package mysql

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// separator stands between two statements of one message. The newline ends a
// comment, which would otherwise hide the statements after it.
const separator = "\n;"

// errSemicolon rejects text that could hold more than one statement: only this
// package joins several into one message.
var errSemicolon = errors.New("mysql: the text of a statement must not hold a semicolon; values belong into arguments")

// statement is one statement of the caller, or several joined.
type statement struct {
	text string
	args []driver.NamedValue
}

func check(text string) error {
	if strings.Contains(text, ";") {
		return errSemicolon
	}
	return nil
}

// size returns an upper bound of the statement's length in bytes, with its
// arguments written into its text.
func (s statement) size() int {
	const other = 32 // a number, a time, quotes
	n := len(s.text) + len(separator)
	for i := range s.args {
		n += other
		switch v := s.args[i].Value.(type) {
		case string:
			n += 2 * len(v)
		case []byte:
			n += 2 * len(v)
		case json.RawMessage:
			n += 2 * len(v)
		}
	}
	return n
}

// joins reports whether a statement can share a message: none must take the
// arguments of its neighbors. A statement with a question mark that is no
// placeholder goes alone.
func (s statement) joins() bool { return strings.Count(s.text, "?") == len(s.args) }

// changes reports whether a statement returns no rows. Its rows would be mistaken
// for those of a query that follows in the same message.
func (s statement) changes() bool {
	verb, _, _ := strings.Cut(s.text, " ")
	switch verb {
	case "INSERT", "UPDATE", "DELETE", "REPLACE":
		return !strings.Contains(s.text, "RETURNING")
	}
	return false
}

// kept returns the statement with copies of its arguments, which the caller can no
// longer change.
func (s statement) kept() statement {
	s.args = slices.Clone(s.args)
	for i := range s.args {
		switch v := s.args[i].Value.(type) {
		case []byte:
			s.args[i].Value = bytes.Clone(v)
		case json.RawMessage:
			s.args[i].Value = json.RawMessage(bytes.Clone(v))
		}
	}
	return s
}

// join combines several statements into one.
func join(list []statement) statement {
	if len(list) == 1 {
		return list[0]
	}
	length, count := 0, 0
	for _, s := range list {
		length += len(s.text) + len(separator)
		count += len(s.args)
	}
	var text strings.Builder
	text.Grow(length)
	args := make([]driver.NamedValue, 0, count)
	for i, s := range list {
		if i > 0 {
			text.WriteString(separator)
		}
		text.WriteString(s.text)
		for _, a := range s.args {
			a.Ordinal = len(args) + 1
			args = append(args, a)
		}
	}
	return statement{text.String(), args}
}

// unknown is the result of every statement that may wait, even if it was sent at once.
type unknown struct{}

var errLater = errors.New("mysql: a statement that may wait has no result")

// LastInsertId implements driver.Result.
func (unknown) LastInsertId() (int64, error) { return 0, errLater }

// RowsAffected implements driver.Result.
func (unknown) RowsAffected() (int64, error) { return 0, errLater }
