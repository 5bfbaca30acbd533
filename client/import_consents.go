package client

import (
	"context"
	"io"
	"net/url"
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

// ImportConsents records the refusals and consents of a file. It makes a single try, because the
// body cannot be read again; a row of CSV that is sent again is recorded once. If the error is an
// *[Error], the result shows how far the import got.
func (c *Client) ImportConsents(ctx context.Context, i ConsentsImport) (result ConsentFile, err error) {
	query := url.Values{}
	setQuery(query, "dry_run", i.DryRun)
	setQuery(query, "columns", i.Columns)
	setQuery(query, "header", i.Header)
	setQuery(query, "encoding", i.Encoding)
	setQuery(query, "sheet", i.Sheet)
	setQuery(query, "run", i.Run)
	var answer struct {
		File *ConsentFile `json:"file"`
	}
	answer.File = &result
	err = c.importFile(ctx, upload{
		path: "/v1/consents", query: query, contentType: i.ContentType,
		body: i.Body, size: i.Size, progress: i.Progress, refused: i.Refused, failed: map[string]any{"file": &result},
	}, &answer)
	return result, err
}
