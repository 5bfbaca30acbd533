package route

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"weir"
	"weir/internal/csvfile"
	"weir/web/auth"
	"weir/web/httpjson"
)

// CSVType is the content type of CSV files.
const CSVType = "text/csv"

// NDJSONType is the content type of files with a JSON object in each line.
const NDJSONType = "application/x-ndjson"

// CSVHelp explains every CSV file in the API description.
const CSVHelp = "A connection that breaks off before the end means that the file is not whole. " +
	"A text that a spreadsheet would take for a formula has an apostrophe in front; numbers with a sign, like those of phones, have none, unless spreadsheet is set."

// SpreadsheetParameter is a parameter of every CSV file.
func SpreadsheetParameter() httpjson.Parameter {
	return httpjson.Parameter{
		Name: "spreadsheet", Kind: "string", Enum: slices.Sorted(maps.Keys(csvfile.Separators())), Single: true,
		Description: "for Excel, with this separator, which is the semicolon where decimals have a comma: begins with a byte order mark, and numbers that Excel would round, like those of phones, have an apostrophe in front. Imports read such files, too",
	}
}

// AcquireTransfer waits until an import or a download may begin, so that memory
// stays bounded however many clients connect at once.
func AcquireTransfer(c *Call, limit *auth.ConcurrencyLimit) (release func(), err error) {
	release, ok := limit.Acquire(c, c.Principal.ID(), AcquireTime)
	if ok {
		return release, nil
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return nil, &weir.Error{
		Code: weir.CodeUnavailable, RetryAfter: AcquireTime,
		Message: fmt.Sprintf("too many imports and downloads at once (at most %d, %d with one token); try again later", MaxTransfers, MaxTransfersPerToken),
	}
}

// Downloads is what the routes share that write CSV files.
type Downloads struct {
	Transfers *auth.ConcurrencyLimit // limits imports and downloads
	Ending    func() bool            // downloads end now
	Logger    *slog.Logger
}

// CSV is one CSV file in progress, or a sheet of a workbook.
type CSV struct {
	*Call
	from *Downloads
	out  rowWriter
}

// rowWriter writes rows. It keeps the first error until Flush.
type rowWriter interface {
	Write(cells []string) error
	Flush() error
}

// Write serves a CSV file. The HTTP header is written with the first rows: until then
// write may return an error, which is a normal problem response.
func (d *Downloads) Write(c *Call, w http.ResponseWriter, name string, write func(*CSV) error) error {
	release, err := AcquireTransfer(c, d.Transfers)
	if err != nil {
		return err
	}
	defer release()
	p := NewDeadlines(w)
	p.ClearRead()
	w.Header().Set("Content-Type", CSVType+"; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.csv"`)
	var out rowWriter = csvfile.NewWriter(p, ',')
	if separator, given := csvfile.Separators()[c.Query.Text("spreadsheet")]; given {
		out = csvfile.NewSpreadsheet(p, separator)
	}
	if err := write(&CSV{c, d, out}); err != nil {
		w.Header().Del("Content-Disposition")
		return err
	}
	return nil
}

// Row writes a row.
func (f *CSV) Row(cells []string) {
	_ = f.out.Write(cells) // the writer keeps its error
}

// Flush sends the rows to the client.
func (f *CSV) Flush() error {
	return f.out.Flush()
}

// Abort aborts the connection: a truncated file must not look complete.
func (f *CSV) Abort(err error) {
	f.from.Logger.WarnContext(f.Call, "download aborted", slog.Any("error", err))
	panic(http.ErrAbortHandler)
}

// CheckContinue returns why the download must end now; nil: it goes on.
func (f *CSV) CheckContinue() error {
	if f.from.Ending() {
		return ErrDraining()
	}
	if !f.Principal.StillAdmitted() {
		return auth.ErrWrongToken()
	}
	return f.Err()
}

// Pages writes a list page by page, in bounded memory. page writes the rows of the page at
// a cursor, and returns the next cursor; empty: it was the last page.
func (f *CSV) Pages(header []string, page func(cursor string) (next string, err error)) error {
	begun := false
	for cursor := ""; ; {
		err := f.CheckContinue()
		if err == nil {
			if !begun {
				f.Row(header)
			}
			cursor, err = page(cursor)
		}
		if err == nil {
			err, begun = f.Flush(), true
		}
		switch {
		case err != nil && begun:
			f.Abort(err)
		case err != nil || cursor == "":
			return err
		}
	}
}
