// Package multirow writes many rows in few statements, in sizes that keep the number of texts
// small where statements are prepared.
package multirow

import (
	"cmp"
	"slices"
	"strings"

	sqlcolumns "weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
)

// Key names a row: the values of up to three columns, then an id.
type Key [4]int64

// Delete deletes rows by their keys, whose first values are those of columns.
func Delete(t *commit.Tx, table string, columns []string, keys []Key) {
	for _, d := range Deletes(t, table, columns, keys) {
		t.Add(d.Text, d.Args...)
	}
}

// Deletes returns the statements of [Delete]. Each of the rows has to exist.
func Deletes(t *commit.Tx, table string, columns []string, keys []Key) (list []commit.Guarded) {
	slices.SortFunc(keys, func(a, b Key) int { return slices.Compare(a[:], b[:]) })
	for len(keys) > 0 {
		n := min(len(keys), commit.MaxRows)
		if t.Dialect().Prepare {
			n = min(n, MaxBound)
		}
		where, args := whereKeys(t, columns, keys[:n])
		list = append(list, commit.Guarded{Rows: int64(n), Text: "DELETE FROM " + table + " WHERE " + where, Args: args})
		keys = keys[n:]
	}
	return list
}

// whereKeys is the condition of rows with some keys. Lists of ids are shorter; where
// statements are prepared, one condition for each row needs fewer texts.
func whereKeys(t *commit.Tx, columns []string, keys []Key) (string, []any) {
	same := strings.Join(columns, " = ? AND ") + " = ? AND id "
	args := make([]any, 0, len(keys)*(len(columns)+1))
	add := func(k Key) {
		for i := range columns {
			args = append(args, k[i])
		}
	}
	if t.Dialect().Prepare {
		for _, k := range keys {
			add(k)
			args = append(args, k[3])
		}
		places := PlacesFor(len(keys))
		where := t.Text(dialect.TextName{Into: same, Row: "", Rows: places}, func() string {
			return "(" + same + "= ?)" + strings.Repeat(" OR ("+same+"= ?)", places-1)
		})
		return where, Fill(args, (places-len(keys))*(len(columns)+1))
	}
	var text strings.Builder
	for len(keys) > 0 {
		size := 1
		for size < len(keys) && slices.Equal(keys[0][:len(columns)], keys[size][:len(columns)]) {
			size++
		}
		if text.Len() > 0 {
			text.WriteString(" OR ")
		}
		text.WriteString("(" + same + "IN " + sqlcolumns.Marks(size) + ")")
		add(keys[0])
		for _, k := range keys[:size] {
			args = append(args, k[3])
		}
		keys = keys[size:]
	}
	return text.String(), args
}

// MaxBound is how many rows one statement writes where statements are prepared.
const MaxBound = 128

// PlacesFor returns how many rows a statement for n rows has. Few sizes mean few
// texts to prepare. It has two at least: the values of a single one would be part of
// the plan, which SQLite makes again for some of them.
func PlacesFor(n int) int {
	size := 2
	for size < n {
		if size+size/2 >= n && size > 2 {
			return size + size/2
		}
		size *= 2
	}
	return size
}

// Fill appends n NULLs.
func Fill(args []any, n int) []any {
	for range n {
		args = append(args, nil)
	}
	return args
}

// Insert inserts n rows. Prepared statements have few sizes: they are
// padded with NULL rows, which the statement filters out.
func Insert(t *commit.Tx, into, row string, args []any, n int) {
	for n > 0 {
		width := len(args) / n
		size := min(n, commit.MaxRows)
		var text string
		part := args[:size*width]
		if t.Dialect().InsertRows == nil {
			text = "INSERT INTO " + into + " VALUES " + row + strings.Repeat(", "+row, size-1)
		} else {
			size = min(n, MaxBound)
			places := PlacesFor(size)
			if size < n {
				part = slices.Clone(part)
			}
			part = Fill(part, (places-size)*width)
			text = t.Text(dialect.TextName{Into: into, Row: row, Rows: places}, func() string { return t.Dialect().InsertRows(into, row, places) })
		}
		t.Add(text, part...)
		args, n = args[size*width:], n-size
	}
}

// InsertCounted inserts rows in statements of bounded size and returns how many
// were inserted. Where statements are prepared their sizes are powers of two, so
// that there are few texts.
func InsertCounted(t *commit.Tx, prefix, suffix string, args []any, rows int) (int64, error) {
	width := len(args) / cmp.Or(rows, 1)
	var inserted int64
	for rows > 0 {
		n := insertSize(t, args, rows, width)
		got, err := t.Exec(prefix+sqlcolumns.RowsOf(n, width)+suffix, args[:n*width]...)
		if err != nil {
			return 0, err
		}
		inserted += got
		args, rows = args[n*width:], rows-n
	}
	return inserted, nil
}

func insertSize(t *commit.Tx, args []any, rows, width int) int {
	if t.Dialect().Prepare {
		n := 256
		for n > rows {
			n /= 2
		}
		return n
	}
	bytes := 0
	for i := range rows {
		for _, a := range args[i*width : (i+1)*width] {
			if s, ok := a.(string); ok {
				bytes += len(s)
			}
		}
		if bytes > commit.MaxBytes && i > 0 {
			return i
		}
	}
	return rows
}
