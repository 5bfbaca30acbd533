package commit

import (
	"weir/persistence/dialect"
	"weir/persistence/prepared"
)

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
	return t.Later(t.w.s.text.expect, n, t.w.s.Start())
}

// Statements are the texts that are put together once.
type statements struct {
	mark       string
	marked     string
	markFenced string
	expect     string
	fence      string
	raiseFence string
}

func newStatements(d dialect.Statements) statements {
	return statements{
		mark:       "UPDATE writers SET batch = ? WHERE start_number = ?",
		markFenced: "UPDATE writers SET batch = CASE WHEN fence = ? THEN ? END WHERE start_number = ?",
		expect:     "UPDATE writers SET batch = CASE WHEN " + d.RowCount + " = ? THEN batch END WHERE start_number = ?",
		fence:      "SELECT fence FROM writers WHERE start_number = ?",
		raiseFence: "UPDATE writers SET fence = fence + 1 WHERE start_number = ?",
		marked:     "SELECT batch FROM writers WHERE start_number = ?",
	}
}

// Text returns a text that is put together when it is asked for the first time.
func (t *Tx) Text(name prepared.TextName, build func() string) string {
	return t.w.cache.Text(name, build)
}

// Dialect returns what the statements of the database look like.
func (t *Tx) Dialect() *dialect.Statements { return &t.w.s.Dialect }
