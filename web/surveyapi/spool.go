package surveyapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"weir/surveys/respondents"
)

// maxSpooled is the max number of bytes of bad rows kept in memory.
const maxSpooled = 256 << 10

// spool is a list of bad rows as JSON: in memory and, if it is long, in an
// unlinked file.
type spool struct {
	folder string
	memory bytes.Buffer
	file   *os.File
	out    *bufio.Writer
	count  int
}

// add appends a bad row.
func (s *spool) add(e respondents.RowError) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("web: a bad row as JSON: %w", err)
	}
	if s.count > 0 {
		raw = append([]byte{','}, raw...)
	}
	s.count++
	if s.file == nil && s.memory.Len()+len(raw) <= maxSpooled {
		s.memory.Write(raw)
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	if _, err := s.out.Write(raw); err != nil {
		return fmt.Errorf("web: the list of bad rows: %w", err)
	}
	return nil
}

// open creates the file and unlinks it at once, so that it never outlives the
// process, even after a crash.
func (s *spool) open() error {
	if s.file != nil {
		return nil
	}
	f, err := os.CreateTemp(s.folder, "weir-import-*")
	if err == nil {
		s.file, s.out = f, bufio.NewWriter(f)
		err = os.Remove(f.Name())
	}
	if err != nil {
		return fmt.Errorf("web: a file for the list of bad rows: %w", err)
	}
	return nil
}

// copyTo writes the elements of the list, without brackets.
func (s *spool) copyTo(w io.Writer) error {
	if _, err := w.Write(s.memory.Bytes()); err != nil || s.file == nil {
		return err
	}
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("web: the list of bad rows: %w", err)
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("web: the list of bad rows: %w", err)
	}
	_, err := io.CopyBuffer(struct{ io.Writer }{w}, s.file, make([]byte, 32<<10))
	return err
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close() // it is unlinked: closing deletes it
	}
}
