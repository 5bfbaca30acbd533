// Package imports takes files of rows apart at the server, whatever the rows become: it opens a file,
// CSV, NDJSON or an Excel workbook, says what its columns are, reads it row by row, hands the rows on in
// batches, and keeps those that are refused.
//
// # Invariants
//
//   - Memory does not depend on the length of a file: it holds one batch, the first reasons and the
//     first rows. Refused rows go to a temporary file of bounded size.
//   - A row is refused for itself: the rows before and after it are handled as if it were not there.
//   - A dry run and an import read, map and check each row by the same code.
//   - Reasons quote nothing of a row.
//   - Batches that were stored stay when the file breaks off. The report names the last line of
//     what was handled; sending the whole file again is safe if the kind recognizes its rows.
package imports

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"weir"
	"weir/surveys/respondents"
)

// Bounds of an import.
const (
	MaxReasons  = 1000 // of refused rows, in the report
	FirstRows   = 10   // of the preview
	FirstValues = 5    // of a column, in the preview

	batchRows  = 1000    // unless the options say otherwise
	batchBytes = 1 << 20 // the same
	// batchDelay is how long the rows of a slow client wait for more before they are stored.
	batchDelay = 10 * time.Second
	maxTries   = 8 // of a batch while the store is not available
	maxPause   = 10 * time.Second
)

// Mistake is why a row is refused: the column that it is about, or a field that no column is; empty: the whole row.
type Mistake struct{ Column, Reason string }

// Row is a row of a file.
type Row[T any] struct {
	Line  int
	Value T        // if it is not refused
	State string   // what came of it; the kind sets it
	Wrong *Mistake // why it is refused; nil: it is not

	cells []string
}

// Refuse refuses the row, unless it is refused already.
func (r *Row[T]) Refuse(column, reason string) {
	if r.Wrong == nil {
		r.Wrong = &Mistake{column, reason}
	}
}

// Kind is what rows become. Read and Object are pure.
type Kind[T any] interface {
	// Read returns what the cells of a row say, one for each column.
	Read(columns []Column, cells []string) (T, *Mistake)
	// Object returns what a line of NDJSON says.
	Object(text string) (T, *Mistake)
	// Store stores rows, sets the state of each, and refuses those that cannot be stored. After an
	// error it is called again, and then leaves out those that it has settled. A dry run checks
	// them in the same way, and stores none.
	Store(ctx context.Context, rows []*Row[T]) error
}

// Options are those of one import.
type Options struct {
	From    int      // rows of earlier lines are left out
	Refused *Refused // keeps the refused rows; nil: they are counted
	// BatchRows and BatchBytes bound a batch, and Tries how often one is given to a store that is not
	// available; 0: 1000, 1 MiB and 8. A kind that does not recognize its rows is tried once.
	BatchRows, BatchBytes, Tries int
	// Whole: nothing is to be stored if a row is refused, and so the rows after the first such are only checked.
	Whole bool
	// Ready is called before each batch, and returns why the import must end now; nil: it goes on.
	Ready func() error
	// Stored is called after each batch.
	Stored func()
}

// Report is what came of a file.
type Report[T any] struct {
	Rows     int // that were read
	Rejected int
	States   map[string]int
	LastLine int                    // up to which all rows were handled
	Reasons  []respondents.RowError // of the first ones that were refused
	First    []Row[T]               // the first ones that were not refused
	Values   [][]string             // the first ones of each column, as they are in the file
}

// Progress is how far an import came that is on its way.
type Progress struct{ Rows, Rejected, LastLine int }

// progress is the key of a context under which it has the function of [WithProgress].
type progress struct{}

// WithProgress returns a context in which [Run] calls a function after each batch. Its error ends the import.
func WithProgress(ctx context.Context, report func(Progress) error) context.Context {
	return context.WithValue(ctx, progress{}, report)
}

// Run imports a file. What was stored before an error stays, and the report says so.
func Run[T any](ctx context.Context, k Kind[T], from *Table, columns []Column, o Options) (*Report[T], error) {
	from.taken = columns
	o.BatchRows, o.BatchBytes, o.Tries = cmp.Or(o.BatchRows, batchRows), cmp.Or(o.BatchBytes, batchBytes), cmp.Or(o.Tries, maxTries)
	r := &run[T]{kind: k, columns: columns, o: o, Report: Report[T]{States: map[string]int{}, Values: make([][]string, len(columns))}}
	err := r.all(ctx, from)
	return &r.Report, err
}

// run is an import on its way.
type run[T any] struct {
	Report[T]
	kind    Kind[T]
	columns []Column
	o       Options
	batch   []*Row[T]
	bytes   int
	last    int       // line of the row that was read last
	stored  time.Time // the batch before
}

func (r *run[T]) all(ctx context.Context, from *Table) error {
	r.stored = time.Now()
	for {
		cells, line, err := from.next()
		bad, wrong := errors.AsType[*respondents.RowError](err)
		switch {
		case wrong:
		case errors.Is(err, io.EOF):
			return r.flush(ctx)
		case err != nil: // the rows before it arrived whole; the context of a request ends when reading fails
			if flushed := r.flush(context.WithoutCancel(ctx)); flushed != nil {
				return flushed
			}
			return err
		}
		if r.last = line; line < r.o.From {
			continue
		}
		row := &Row[T]{Line: line, cells: cells}
		switch {
		case wrong:
			row.Refuse(bad.Column, bad.Reason)
		case from.Columns == nil:
			row.Value, row.Wrong = r.kind.Object(cells[0])
		default:
			r.show(cells)
			row.Value, row.Wrong = r.kind.Read(r.columns, cells)
		}
		if err := r.add(ctx, row); err != nil {
			return err
		}
	}
}

// show keeps the first values of the columns.
func (r *run[T]) show(cells []string) {
	if r.Rows >= FirstValues {
		return
	}
	for i, cell := range cells {
		r.Values[i] = append(r.Values[i], cell)
	}
}

// add adds a row to the batch, and stores the batch if it is full.
func (r *run[T]) add(ctx context.Context, row *Row[T]) error {
	r.Rows++
	r.batch = append(r.batch, row)
	for _, cell := range row.cells {
		r.bytes += len(cell)
	}
	if len(r.batch) < r.o.BatchRows && r.bytes < r.o.BatchBytes && time.Since(r.stored) < batchDelay {
		return nil
	}
	return r.flush(ctx)
}

// flush stores the batch, and counts what came of it, in the order of the file.
func (r *run[T]) flush(ctx context.Context) error {
	var sound []*Row[T]
	for _, row := range r.batch {
		if row.Wrong == nil {
			sound = append(sound, row)
		}
	}
	if r.o.Whole && r.Rejected+len(r.batch) > len(sound) {
		sound = nil
	}
	err := r.store(ctx, sound)
	if r.o.Stored != nil {
		r.o.Stored()
	}
	for _, row := range r.batch {
		switch {
		case row.Wrong != nil:
			if err := r.reject(row); err != nil {
				return err
			}
		case row.State != "":
			if r.States[row.State]++; len(r.First) < FirstRows {
				r.First = append(r.First, *row)
			}
		}
	}
	if err == nil {
		r.LastLine = r.last
	}
	if report, ok := ctx.Value(progress{}).(func(Progress) error); ok {
		err = cmp.Or(err, report(Progress{r.Rows, r.Rejected, r.LastLine}))
	}
	clear(r.batch)
	r.batch, r.bytes, r.stored = r.batch[:0], 0, time.Now()
	return err
}

// store stores rows. While the store is not available it tries again: rows are stored once.
func (r *run[T]) store(ctx context.Context, rows []*Row[T]) error {
	for try := 1; ; try++ {
		if r.o.Ready != nil {
			if err := r.o.Ready(); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(rows) == 0 {
			return nil
		}
		err := r.kind.Store(ctx, rows)
		if weir.CodeOf(err) != weir.CodeUnavailable || try == r.o.Tries {
			return err
		}
		known, _ := errors.AsType[*weir.Error](err)
		select {
		case <-time.After(min(maxPause, max(time.Second, known.RetryAfter))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *run[T]) reject(row *Row[T]) error {
	r.Rejected++
	why := respondents.RowError{Line: row.Line, Column: row.Wrong.Column, Reason: row.Wrong.Reason}
	if len(r.Reasons) < MaxReasons {
		r.Reasons = append(r.Reasons, why)
	}
	if r.o.Refused == nil {
		return nil
	}
	return r.o.Refused.add(why, row.cells)
}
