package respondents

import (
	"bufio"
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"strings"

	"weir/internal/csvfile"
)

// RejectedWriter writes the rejected rows of a file as a file of the same format, each with the
// columns that [IsRemark] names in front: whoever mends the rows can send that file as it is. The
// remarks come first, so that a row with a wrong number of fields does not move them. Those of an
// earlier file are left out.
type RejectedWriter struct {
	out     *bufio.Writer
	csv     *csvfile.Writer
	remarks *regexp.Regexp // of an earlier file, before a row of NDJSON; nil: CSV
	header  []string       // of CSV; nil: was written
	own     []bool         // by column: false if it is a remark of an earlier file
}

// NewRejectedWriter returns a writer of rows of a format. That of CSV needs [RejectedWriter.SetHeader].
func NewRejectedWriter(to io.Writer, format Format) *RejectedWriter {
	w := &RejectedWriter{out: bufio.NewWriterSize(to, 64<<10)}
	w.csv = csvfile.NewWriter(w.out, ',')
	if format == NDJSON {
		w.remarks = regexp.MustCompile(`^\{"weir_line":\d+,("weir_column":"([^"\\]|\\.)*",)?"weir_reason":"([^"\\]|\\.)*"(\} |,)`)
	}
	return w
}

// SetHeader sets the columns of CSV. A file that was converted to UTF-8 begins with a byte
// order mark, because its user reads files in another encoding.
func (w *RejectedWriter) SetHeader(columns []string, separator rune, converted bool) {
	w.csv = csvfile.NewWriter(w.out, separator)
	w.own = make([]bool, len(columns))
	for i, name := range columns {
		w.own[i] = !IsRemark(strings.ToLower(strings.TrimSpace(name)))
	}
	w.header = append([]string{"weir_line", "weir_column", "weir_reason"}, w.ofUser(columns)...)
	if converted {
		_, _ = w.out.WriteString("\ufeff") // the error returns at the end
	}
}

// Write writes a row with its reason. fields are as they were read, or a single text: of NDJSON, or
// of what is no CSV.
func (w *RejectedWriter) Write(why RowError, fields []string) error {
	if w.remarks != nil {
		return w.writeObject(why, fields[0])
	}
	if w.header != nil {
		if err := w.csv.Write(w.header); err != nil {
			return err
		}
		w.header = nil
	}
	return w.csv.Write(append([]string{strconv.Itoa(why.Line), why.Column, why.Reason}, w.ofUser(fields)...))
}

// ofUser returns the fields that are no remarks.
func (w *RejectedWriter) ofUser(fields []string) []string {
	if len(fields) == 1 {
		return fields
	}
	out := make([]string, 0, len(fields))
	for i, field := range fields {
		if i >= len(w.own) || w.own[i] {
			out = append(out, field)
		}
	}
	return out
}

// writeObject writes a row of NDJSON. The remarks are the first keys of its object, whose
// text stays as it is otherwise, because it may be malformed; a text that is no object
// follows an object of the remarks.
func (w *RejectedWriter) writeObject(why RowError, text string) error {
	remarks, err := json.Marshal(struct {
		Line   int    `json:"weir_line"`
		Column string `json:"weir_column,omitempty"`
		Reason string `json:"weir_reason"`
	}{why.Line, why.Column, why.Reason})
	if err != nil {
		return err
	}
	text = strings.TrimSpace(text)
	earlier := w.remarks.FindString(text)
	if text = text[len(earlier):]; strings.HasSuffix(earlier, ",") {
		text = "{" + text
	}
	if inside, ok := strings.CutPrefix(text, "{"); ok && strings.HasPrefix(strings.TrimSpace(inside), `"`) {
		text = string(remarks[:len(remarks)-1]) + "," + inside
	} else {
		text = string(remarks) + " " + text
	}
	_, err = w.out.WriteString(text + "\n")
	return err
}

// Flush writes what is buffered, and returns the first error.
func (w *RejectedWriter) Flush() error {
	if err := w.csv.Flush(); err != nil {
		return err
	}
	return w.out.Flush()
}
