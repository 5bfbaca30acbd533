package persistence

import (
	"cmp"
	"slices"
	"strings"
)

// key names a row: the values of up to three columns, then an id.
type key [4]int64

// expect runs a statement that has to change n rows: otherwise the batch fails with
// [errOutdated], or with an error of the database.
func (t *transaction) expect(n int64, text string, args ...any) error {
	if t.w.s.sql.RowCount == "" {
		did, err := t.exec(text, args...)
		if err == nil && did != n {
			err = errOutdated
		}
		return err
	}
	if err := t.later(text, args...); err != nil {
		return err
	}
	return t.later(t.w.s.text.expect, n, t.w.start)
}

// deleteRows deletes rows by their keys, whose first values are those of columns. If
// guarded, each of them has to exist.
func (t *transaction) deleteRows(table string, columns []string, keys []key, guarded bool) error {
	slices.SortFunc(keys, func(a, b key) int { return slices.Compare(a[:], b[:]) })
	for len(keys) > 0 {
		n := min(len(keys), maxRows)
		if t.w.s.sql.Prepare {
			n = min(n, maxBound)
		}
		where, args := t.whereKeys(columns, keys[:n])
		text := "DELETE FROM " + table + " WHERE " + where
		var err error
		if guarded {
			err = t.expect(int64(n), text, args...)
		} else {
			err = t.later(text, args...)
		}
		if err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// whereKeys is the condition of rows with some keys. Lists of ids are shorter; where
// statements are prepared, one condition for each row needs fewer texts.
func (t *transaction) whereKeys(columns []string, keys []key) (string, []any) {
	same := strings.Join(columns, " = ? AND ") + " = ? AND id "
	args := make([]any, 0, len(keys)*(len(columns)+1))
	add := func(k key) {
		for i := range columns {
			args = append(args, k[i])
		}
	}
	if t.w.s.sql.Prepare {
		for _, k := range keys {
			add(k)
			args = append(args, k[3])
		}
		places := placesFor(len(keys))
		where := t.w.s.text.sized(sizedText{same, "", places}, func() string {
			return "(" + same + "= ?)" + strings.Repeat(" OR ("+same+"= ?)", places-1)
		})
		return where, fill(args, (places-len(keys))*(len(columns)+1))
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
		text.WriteString("(" + same + "IN " + marks(size) + ")")
		add(keys[0])
		for _, k := range keys[:size] {
			args = append(args, k[3])
		}
		keys = keys[size:]
	}
	return text.String(), args
}

// maxBound is how many rows one statement writes where statements are prepared.
const maxBound = 128

// placesFor returns how many rows a statement for n rows has. Few sizes mean few
// texts to prepare. It has two at least: the values of a single one would be part of
// the plan, which SQLite makes again for some of them.
func placesFor(n int) int {
	size := 2
	for size < n {
		if size+size/2 >= n && size > 2 {
			return size + size/2
		}
		size *= 2
	}
	return size
}

// fill appends n NULLs.
func fill(args []any, n int) []any {
	for range n {
		args = append(args, nil)
	}
	return args
}

// insertSized inserts n rows. Where statements are prepared their sizes are few:
// rows of NULLs fill them up and are left out.
func (t *transaction) insertSized(into, row string, args []any, n int) error {
	for n > 0 {
		width := len(args) / n
		size := min(n, maxRows)
		var text string
		part := args[:size*width]
		if t.w.s.sql.InsertRows == nil {
			text = "INSERT INTO " + into + " VALUES " + row + strings.Repeat(", "+row, size-1)
		} else {
			size = min(n, maxBound)
			places := placesFor(size)
			if size < n {
				part = slices.Clone(part)
			}
			part = fill(part, (places-size)*width)
			text = t.w.s.text.sized(sizedText{into, row, places}, func() string { return t.w.s.sql.InsertRows(into, row, places) })
		}
		if err := t.later(text, part...); err != nil {
			return err
		}
		args, n = args[size*width:], n-size
	}
	return nil
}

// insertRows inserts rows in statements of bounded size and returns how many
// were inserted. Where statements are prepared their sizes are powers of two, so
// that there are few texts.
func (t *transaction) insertRows(prefix, suffix string, args []any, rows int) (int64, error) {
	width := len(args) / cmp.Or(rows, 1)
	var inserted int64
	for rows > 0 {
		n := t.insertSize(args, rows, width)
		got, err := t.exec(prefix+rowsOf(n, width)+suffix, args[:n*width]...)
		if err != nil {
			return 0, err
		}
		inserted += got
		args, rows = args[n*width:], rows-n
	}
	return inserted, nil
}

func (t *transaction) insertSize(args []any, rows, width int) int {
	if t.w.s.sql.Prepare {
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
		if bytes > maxBytes && i > 0 {
			return i
		}
	}
	return rows
}
