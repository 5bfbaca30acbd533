package mysql

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// separator is between two statements of one message. The new line ends a
// comment that would swallow the rest.
const separator = "\n;"

// errSemicolon refuses what might be more than one statement: only this
// package puts several into one message.
var errSemicolon = errors.New("mysql: the text of a statement must not hold a semicolon; values belong into arguments")

// statement is one that was handed over, or several joined.
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

// size is how long a statement can be at most, with its arguments written into
// its text.
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

// joins says whether a statement can have others beside it: none must take
// the arguments of its neighbour. A question mark that is no placeholder makes
// it go alone.
func (s statement) joins() bool { return strings.Count(s.text, "?") == len(s.args) }

// changes says that a statement gives no rows. Those would be taken for the
// rows of a query behind it.
func (s statement) changes() bool {
	verb, _, _ := strings.Cut(s.text, " ")
	switch verb {
	case "INSERT", "UPDATE", "DELETE", "REPLACE":
		return !strings.Contains(s.text, "RETURNING")
	}
	return false
}

// kept is the same statement with arguments that the caller cannot change any
// more.
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

// join makes one of several.
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

// unknown is the result of a statement that has not been sent.
type unknown struct{}

var errLater = errors.New("mysql: a statement that may wait has no result")

// LastInsertId implements driver.Result.
func (unknown) LastInsertId() (int64, error) { return 0, errLater }

// RowsAffected implements driver.Result.
func (unknown) RowsAffected() (int64, error) { return 0, errLater }
