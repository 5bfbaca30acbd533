package dashboard

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir/surveys/respondents"
)

// Bounds of a file of respondents.
const (
	previewRows = 5
	batchRows   = 1000 // of one request to the API
	batchBytes  = 768 << 10
	maxColumns  = 104 // the attributes of a row, the address and the remarks
)

// csvUse is what an import makes of a column.
type csvUse struct {
	Column int
	Header string // as in the file
	Use    string // a field of the import, csvAttribute or csvSkip
	Name   string // of the attribute
	Values []string
}

// The uses of columns that are no fields of the import.
const (
	csvAttribute = "attribute"
	csvSkip      = "skip"
)

// UseField and NameField return the names of the form's fields.
func (c csvUse) UseField() string { return fmt.Sprintf("use_%d", c.Column) }

// NameField returns the name of the field for the attribute's name.
func (c csvUse) NameField() string { return fmt.Sprintf("name_%d", c.Column) }

// attributeName makes the name of an attribute of a header, as far as that is possible.
func attributeName(header string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(header)) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_':
			b.WriteRune(r)
		case r == ' ' || r == '-' || r == '.':
			b.WriteByte('_')
		}
	}
	return b.String()
}

// guessUses proposes what to make of each column. fields maps the names that columns of a
// field usually have to the field.
func guessUses(header []string, fields map[string]string) (list []csvUse) {
	taken := map[string]bool{}
	for i, text := range header {
		name := attributeName(text)
		use := csvUse{Column: i, Header: text, Use: csvAttribute, Name: name}
		field := fields[name]
		switch {
		case respondents.IsRemark(name), !respondents.ValidName(name), respondents.BuiltIn(name):
			use.Use = csvSkip
		case field != "" && !taken[field]:
			use.Use, use.Name = field, ""
			taken[field] = true
		}
		list = append(list, use)
	}
	return list
}

// readUses reads the mapping of a form, and returns what is wrong with it. required are the
// fields that a column is needed for.
func readUses(header []string, form url.Values, required ...string) (list []csvUse, wrong []string) {
	uses, names := map[string]int{}, map[string]bool{}
	for i, text := range header {
		c := csvUse{Column: i, Header: text}
		c.Use, c.Name = cmp.Or(form.Get(c.UseField()), csvSkip), strings.TrimSpace(form.Get(c.NameField()))
		at := fmt.Sprintf("Column %d: ", i+1)
		switch c.Use {
		case csvSkip:
		case csvAttribute:
			switch {
			case !respondents.ValidName(c.Name):
				wrong = append(wrong, at+respondents.NameRule+".")
			case respondents.BuiltIn(c.Name) || slices.Contains(required, c.Name):
				wrong = append(wrong, at+c.Name+" is a reserved name.")
			case names[c.Name]:
				wrong = append(wrong, at+"another column is the attribute "+c.Name+" already.")
			}
			names[c.Name] = true
		default:
			uses[c.Use]++
		}
		list = append(list, c)
	}
	for _, field := range required {
		if uses[field] != 1 {
			wrong = append(wrong, fmt.Sprintf("Exactly one column must be the %s; now there are %d.", field, uses[field]))
		}
	}
	return list, wrong
}

// csvRow returns the row that an import sends for a record: a value for each field and
// attribute.
func csvRow(uses []csvUse, fields []string) map[string]string {
	row := map[string]string{}
	for _, c := range uses {
		value := strings.TrimSpace(fields[c.Column])
		switch {
		case c.Use == csvSkip || value == "":
		case c.Use == csvAttribute:
			row[c.Name] = value
		default:
			row[c.Use] = value
		}
	}
	return row
}

// openTable starts to read a CSV file, with an error for people.
func openTable(file io.Reader, encoding string) (*respondents.Reader, error) {
	table, err := respondents.NewTable(file, encoding)
	if err != nil {
		return nil, &problem{Status: http.StatusUnprocessableEntity, Detail: "the file cannot be read: " + err.Error()}
	}
	if header, _ := table.Header(); len(header) > maxColumns {
		return nil, &problem{Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf("the file has %d columns; at most %d can be imported", len(header), maxColumns)}
	}
	return table, nil
}

// csvPreview is the beginning of a file.
type csvPreview struct {
	Header []string
	Rows   [][]string
}

// previewOf reads the first rows that are sound.
func previewOf(table *respondents.Reader) *csvPreview {
	p := &csvPreview{}
	p.Header, _ = table.Header()
	for range 10 * previewRows { // bad rows are reported by the import
		fields, _, err := table.Fields()
		if _, bad := errors.AsType[*respondents.RowError](err); bad {
			continue
		}
		if err != nil || len(p.Rows) == previewRows {
			break
		}
		p.Rows = append(p.Rows, fields)
	}
	return p
}

// csvRecord is a record of a file, with what an import sends for it.
type csvRecord struct {
	Line   int
	Fields []string
	Row    map[string]string
}

// csvBatches reads a file in batches that one request can carry. refuse gets the rows that
// cannot be read. It ends with the first error of send.
func csvBatches(table *respondents.Reader, uses []csvUse, refuse func(csvRecord, respondents.RowError), send func([]csvRecord) error) error {
	var batch []csvRecord
	size := 0
	for {
		fields, line, err := table.Fields()
		if bad, ok := errors.AsType[*respondents.RowError](err); ok {
			refuse(csvRecord{Line: line, Fields: fields}, *bad)
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			err = errCut(err)
		}
		if err == nil {
			batch = append(batch, csvRecord{line, fields, csvRow(uses, fields)})
			for _, f := range fields {
				size += len(f)
			}
		}
		if len(batch) > 0 && (err != nil || len(batch) == batchRows || size > batchBytes) {
			if failed := send(batch); failed != nil {
				return failed
			}
			batch, size = batch[:0], 0
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func errCut(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &problem{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("the file is larger than %d MiB", tooLarge.Limit>>20)}
	}
	return &problem{Status: http.StatusBadRequest, Detail: "the file broke off"}
}

// ndjsonOf returns the rows of a batch, a line each.
func ndjsonOf(batch []csvRecord) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b) // ends each value with a line break
	for i := range batch {
		if err := e.Encode(batch[i].Row); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// Bounds of the file of refused rows.
const (
	maxRefused      = 10_000
	maxRefusedBytes = 4 << 20
	shownRefused    = 20
)

// refusedRows collects the rows that an import refuses, as they were, with the reason.
type refusedRows struct {
	Count  int
	First  []respondents.RowError
	Header []string
	Comma  rune
	kept   []refusedRow
	size   int
}

type refusedRow struct {
	why    respondents.RowError
	fields []string
}

// newRefusedRows prepares a file with the columns of the file that is read.
func newRefusedRows(table *respondents.Reader) *refusedRows {
	header, separator := table.Header()
	return &refusedRows{Header: header, Comma: rune(separator[0])}
}

func (r *refusedRows) add(record csvRecord, why respondents.RowError) {
	why.Line = record.Line
	if r.Count++; len(r.First) < shownRefused {
		r.First = append(r.First, why)
	}
	if len(r.kept) == maxRefused || r.size > maxRefusedBytes {
		return
	}
	fields := slices.Clone(record.Fields)
	for _, f := range fields {
		r.size += len(f) + 1
	}
	r.kept = append(r.kept, refusedRow{why, fields})
}

// Kept returns how many rows the file has.
func (r *refusedRows) Kept() int { return len(r.kept) }

// File returns the refused rows as CSV that can be corrected and imported again: an import
// ignores the columns with the reasons.
func (r *refusedRows) File() (string, error) {
	slices.SortStableFunc(r.kept, func(a, b refusedRow) int { return cmp.Compare(a.why.Line, b.why.Line) })
	var b strings.Builder
	out := csv.NewWriter(&b)
	out.Comma = r.Comma
	own := func(fields []string) (list []string) {
		for i, f := range fields {
			if i >= len(r.Header) || !respondents.IsRemark(attributeName(r.Header[i])) {
				list = append(list, f)
			}
		}
		return list
	}
	_ = out.Write(append([]string{"weir_line", "weir_column", "weir_reason"}, own(r.Header)...)) // a strings.Builder never fails
	for _, row := range r.kept {
		_ = out.Write(append([]string{strconv.Itoa(row.why.Line), row.why.Column, row.why.Reason}, own(row.fields)...))
	}
	out.Flush()
	return b.String(), out.Error()
}

// refusedFile answers with the refused rows that the page of the result has carried.
func refusedFile(v *visit, w http.ResponseWriter) error {
	if err := v.readForm(w, 4*maxRefusedBytes); err != nil {
		return err
	}
	attach(w, "text/csv; charset=utf-8", "refused.csv")
	_, _ = io.WriteString(w, "\ufeff"+strings.ReplaceAll(v.r.PostForm.Get("rows"), "\r\n", "\n")) // the browser may have disconnected
	return nil
}
