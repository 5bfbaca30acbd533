package client

import (
	"context"
	"io"
	"net/url"
	"time"
)

// ConsentsImport is a file of refusals and consents to record.
type ConsentsImport struct {
	ContentType string // text/csv, application/x-ndjson, or that of Excel workbooks
	Body        io.Reader
	Size        int64 // of the body, in bytes; 0: unknown
	// Progress is called with each part of the body that was read for sending; may be
	// nil.
	Progress func(part []byte)

	DryRun   bool   // record nothing, and show what the rows say
	Columns  string // what columns of CSV are, as COLUMN=FIELD, separated by commas
	Header   string // refuse a file with other columns than those of this header of a dry run
	Encoding string // empty: as the file says
	Sheet    string // of a workbook; empty: the first one
	Run      string // under another name the same rows are recorded again
	// Refused receives the rejected rows, in the format of the file; nil: only the first reasons are returned.
	// It receives none if the import ends early.
	Refused io.Writer
}

// ConsentsImportResult is the result of an import of consents.
type ConsentsImportResult struct {
	Rows    int64 `json:"rows"`
	Refused int64 `json:"refused"`
	Given   int64 `json:"given"`
	// Superseded rows change nothing, because something else counts for the person.
	Superseded     int64 `json:"superseded"`
	NotOptedOut    int64 `json:"not_opted_out,omitempty"`   // rows that say nothing
	OtherAddresses int64 `json:"other_addresses,omitempty"` // that are no phone numbers
	Rejected       int64 `json:"rejected"`
	Kept           int64 `json:"kept,omitempty"` // rows that Refused received, if not all
	// LastLine is the last processed line of an import that ended early.
	LastLine int64                  `json:"last_line,omitempty"`
	Errors   []RowError             `json:"errors"` // the first rejected rows
	Columns  []ContactsImportColumn `json:"columns,omitempty"`
	First    []ConsentsImportRow    `json:"first,omitempty"` // of a dry run
}

// ConsentsImportRow is a row of the file as it was read.
type ConsentsImportRow struct {
	Line    int       `json:"line"`
	To      string    `json:"to"`
	Status  string    `json:"status"`
	Purpose string    `json:"purpose"`
	At      time.Time `json:"at,omitzero"` // zero: now
	Words   string    `json:"words,omitempty"`
}

// ImportConsents records the refusals and consents of a file. It makes a single try, because the
// body cannot be read again; a row of CSV that is sent again is recorded once. If the error is an
// *[Error], the result shows how far the import got.
func (c *Client) ImportConsents(ctx context.Context, i ConsentsImport) (result ConsentsImportResult, err error) {
	query := url.Values{}
	setQuery(query, "dry_run", i.DryRun)
	setQuery(query, "columns", i.Columns)
	setQuery(query, "header", i.Header)
	setQuery(query, "encoding", i.Encoding)
	setQuery(query, "sheet", i.Sheet)
	setQuery(query, "run", i.Run)
	var answer struct {
		File *ConsentsImportResult `json:"file"`
	}
	answer.File = &result
	err = c.importFile(ctx, upload{
		path: "/v1/consents", query: query, contentType: i.ContentType,
		body: i.Body, size: i.Size, progress: i.Progress, refused: i.Refused, failed: map[string]any{"file": &result},
	}, &answer)
	return result, err
}
