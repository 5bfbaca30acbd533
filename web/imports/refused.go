package imports

import (
	"bytes"
	"errors"
	"io"
	"os"

	"weir/surveys/respondents"
)

// MaxRefused bounds the file of refused rows, in bytes. Further ones are counted.
const MaxRefused = 64 << 20

// Refused keeps the refused rows of a file in a temporary file, in the format of the file: see
// [respondents.RejectedWriter].
type Refused struct {
	Kept   int   // rows
	Max    int64 // bytes of the file
	Format respondents.Format

	row  bytes.Buffer // the next one
	out  *respondents.RejectedWriter
	file *os.File
	size int64
	full bool
}

// NewRefused returns a keeper of the refused rows of a file. Close it.
func NewRefused(of *Table) (*Refused, error) {
	f, err := os.CreateTemp("", "weir-refused-*")
	if err != nil {
		return nil, err
	}
	r := &Refused{Max: MaxRefused, Format: of.Format, file: f}
	r.out = respondents.NewRejectedWriter(&r.row, of.Format)
	if of.Columns != nil {
		r.out.SetHeader(of.Columns, of.separator, of.marked())
	}
	return r, nil
}

func (r *Refused) add(why respondents.RowError, cells []string) error {
	if r.full {
		return nil
	}
	r.row.Reset()
	if err := errors.Join(r.out.Write(why, cells), r.out.Flush()); err != nil {
		return err
	}
	if r.full = r.size+int64(r.row.Len()) > r.Max; r.full {
		return nil
	}
	n, err := r.file.Write(r.row.Bytes())
	r.size += int64(n)
	r.Kept++
	return err
}

// WriteTo writes the rows that were kept.
func (r *Refused) WriteTo(w io.Writer) (int64, error) {
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(w, r.file)
}

// Close deletes the temporary file.
func (r *Refused) Close() error { return errors.Join(r.file.Close(), os.Remove(r.file.Name())) }
