package commit

import (
	"cmp"
	"slices"
	"strings"

	"weir/persistence/dialect"
	"weir/persistence/values"
)

// Key names a row: the values of up to three columns, then an id.
type Key [4]int64

// Expect runs a statement that has to change n rows: otherwise the batch fails with
// [ErrOutdated], or with an error of the database.
func (t *Tx) Expect(n int64, text string, args ...any) error {
	if t.w.s.Dialect.RowCount == "" {
		did, err := t.Exec(text, args...)
		if err == nil && did != n {
			err = ErrOutdated
		}
		return err
	}
	if err := t.Later(text, args...); err != nil {
		return err
	}
	return t.Later(t.w.s.text.expect, n, t.w.start)
}

// DeleteRows deletes rows by their keys, whose first values are those of columns. If
// guarded, each of them has to exist.
func (t *Tx) DeleteRows(table string, columns []string, keys []Key, guarded bool) error {
	slices.SortFunc(keys, func(a, b Key) int { return slices.Compare(a[:], b[:]) })
	for len(keys) > 0 {
		n := min(len(keys), MaxRows)
		if t.w.s.Dialect.Prepare {
			n = min(n, MaxBound)
		}
		where, args := t.whereKeys(columns, keys[:n])
		text := "DELETE FROM " + table + " WHERE " + where
		var err error
		if guarded {
			err = t.Expect(int64(n), text, args...)
		} else {
			err = t.Later(text, args...)
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
func (t *Tx) whereKeys(columns []string, keys []Key) (string, []any) {
	same := strings.Join(columns, " = ? AND ") + " = ? AND id "
	args := make([]any, 0, len(keys)*(len(columns)+1))
	add := func(k Key) {
		for i := range columns {
			args = append(args, k[i])
		}
	}
	if t.w.s.Dialect.Prepare {
		for _, k := range keys {
			add(k)
			args = append(args, k[3])
		}
		places := PlacesFor(len(keys))
		where := t.w.s.text.sized(sizedText{same, "", places}, func() string {
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
		text.WriteString("(" + same + "IN " + values.Marks(size) + ")")
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

// InsertSized inserts n rows. Where statements are prepared their sizes are few:
// rows of NULLs fill them up and are left out.
func (t *Tx) InsertSized(into, row string, args []any, n int) error {
	for n > 0 {
		width := len(args) / n
		size := min(n, MaxRows)
		var text string
		part := args[:size*width]
		if t.w.s.Dialect.InsertRows == nil {
			text = "INSERT INTO " + into + " VALUES " + row + strings.Repeat(", "+row, size-1)
		} else {
			size = min(n, MaxBound)
			places := PlacesFor(size)
			if size < n {
				part = slices.Clone(part)
			}
			part = Fill(part, (places-size)*width)
			text = t.w.s.text.sized(sizedText{into, row, places}, func() string { return t.w.s.Dialect.InsertRows(into, row, places) })
		}
		if err := t.Later(text, part...); err != nil {
			return err
		}
		args, n = args[size*width:], n-size
	}
	return nil
}

// InsertRows inserts rows in statements of bounded size and returns how many
// were inserted. Where statements are prepared their sizes are powers of two, so
// that there are few texts.
func (t *Tx) InsertRows(prefix, suffix string, args []any, rows int) (int64, error) {
	width := len(args) / cmp.Or(rows, 1)
	var inserted int64
	for rows > 0 {
		n := t.insertSize(args, rows, width)
		got, err := t.Exec(prefix+values.RowsOf(n, width)+suffix, args[:n*width]...)
		if err != nil {
			return 0, err
		}
		inserted += got
		args, rows = args[n*width:], rows-n
	}
	return inserted, nil
}

func (t *Tx) insertSize(args []any, rows, width int) int {
	if t.w.s.Dialect.Prepare {
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
		if bytes > MaxBytes && i > 0 {
			return i
		}
	}
	return rows
}

// Statements are the texts that are put together once.
type statements struct {
	sizes      map[sizedText]string
	mark       string
	marked     string
	markFenced string
	expect     string
	fence      string
	raiseFence string
}

func newStatements(d dialect.Statements) statements {
	return statements{
		sizes:      map[sizedText]string{},
		mark:       "UPDATE writers SET batch = ? WHERE start_number = ?",
		markFenced: "UPDATE writers SET batch = CASE WHEN fence = ? THEN ? END WHERE start_number = ?",
		expect:     "UPDATE writers SET batch = CASE WHEN " + d.RowCount + " = ? THEN batch END WHERE start_number = ?",
		fence:      "SELECT fence FROM writers WHERE start_number = ?",
		raiseFence: "UPDATE writers SET fence = fence + 1 WHERE start_number = ?",
		marked:     "SELECT batch FROM writers WHERE start_number = ?",
	}
}

// sizedText names a text that exists once for each number of rows.
type sizedText struct {
	into, row string
	rows      int
}

// sized is a text that is put together when it is met. Only the writer's
// goroutine may ask.
func (s statements) sized(name sizedText, build func() string) string {
	text, ok := s.sizes[name]
	if !ok {
		text = build()
		s.sizes[name] = text
	}
	return text
}
