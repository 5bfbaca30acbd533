package surveys

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"

	"weir/client"
	"weir/cmd/weir/cli/app"
	"weir/surveys/respondents"
)

// sentRows reads the input of an import again for its rejected rows: the response names
// only their lines.
type sentRows struct {
	name string // of the file to read
	copy *os.File
	out  *bufio.Writer // to copy
}

// newSentRows reads a regular file again by its name. Other input is copied to a temporary
// file, readable by its user only, in the folder of the rejected rows.
func newSentRows(file string, regular bool, errorsFile string) (*sentRows, error) {
	if regular {
		return &sentRows{name: file}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(errorsFile), ".weir-import-*")
	if err != nil {
		return nil, err
	}
	return &sentRows{name: f.Name(), copy: f, out: bufio.NewWriterSize(f, 64<<10)}, nil
}

// add copies a part of the input. An error is returned by writeRejected.
func (s *sentRows) add(part []byte) {
	if s.out != nil {
		_, _ = s.out.Write(part)
	}
}

// Close deletes the copy.
func (s *sentRows) Close() error {
	if s.copy == nil {
		return nil
	}
	return errors.Join(s.copy.Close(), os.Remove(s.name))
}

// writeRejected writes the rows that errs names, in the order of the input.
func (s *sentRows) writeRejected(rejected *app.RejectedRows, contentType, encoding string, errs []client.RowError) error {
	if s.out != nil {
		if err := s.out.Flush(); err != nil {
			return err
		}
	}
	f, err := os.Open(s.name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	isCSV := contentType == "text/csv"
	var rows *respondents.Reader
	if isCSV {
		rows, err = respondents.NewTable(f, encoding)
	} else {
		rows, err = respondents.NewReader(f, respondents.NDJSON, encoding, "")
	}
	if err != nil {
		return err
	}
	if isCSV {
		names, separator := rows.Header()
		rejected.SetHeader(names, rune(separator[0]), rows.Decoded())
	}
	reasons := make(map[int]client.RowError, len(errs))
	for _, why := range errs {
		reasons[why.Line] = why
	}
	for len(reasons) > 0 {
		fields, line, err := rows.Record()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if why, ok := reasons[line]; ok {
			delete(reasons, line)
			if err := rejected.Write(why, fields); err != nil {
				return err
			}
		}
	}
	for _, why := range errs { // the file has become shorter
		if _, ok := reasons[why.Line]; ok {
			if err := rejected.Write(why, []string{""}); err != nil {
				return err
			}
		}
	}
	return nil
}
