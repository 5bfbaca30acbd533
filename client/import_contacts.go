package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/textproto"
	"net/url"

	"weir/api"
)

// ContactsImport is a file of contacts to queue on a channel.
type ContactsImport struct {
	Channel     string
	Defaults    ContactBody // of what rows leave out; without To and Key
	ContentType string      // text/csv, application/x-ndjson, or that of Excel workbooks
	Body        io.Reader
	Size        int64 // of the body, in bytes; 0: unknown
	// Progress is called with each part of the body that was read for sending; may be
	// nil.
	Progress func(part []byte)

	DryRun   bool   // queue nothing, and show what the rows become
	Columns  string // what columns of CSV are, as COLUMN=FIELD, separated by commas
	Header   string // refuse a file with other columns than those of this header of a dry run
	Encoding string // empty: as the file says
	Sheet    string // of a workbook; empty: the first one
	Run      string // under another name the same rows are queued again
	FromLine int    // rows of earlier lines are left out
	// Refused receives the rejected rows, in the format of the file; nil: only the first reasons are returned.
	// It receives none if the import ends early.
	Refused io.Writer
}

// ImportContacts queues the contacts of a file. It makes a single try, because the body cannot be
// read again; sending the same file again queues nobody twice. If the error is an *[Error], the
// result shows how far the import got.
func (c *Client) ImportContacts(ctx context.Context, i ContactsImport) (result api.ContactImport, err error) {
	query := url.Values{}
	setQuery(query, "dry_run", i.DryRun)
	setQuery(query, "columns", i.Columns)
	setQuery(query, "header", i.Header)
	setQuery(query, "encoding", i.Encoding)
	setQuery(query, "sheet", i.Sheet)
	setQuery(query, "run", i.Run)
	setQuery(query, "from_line", i.FromLine)
	head, tail, kind, err := contactsForm(i)
	if err != nil {
		return result, err
	}
	err = c.importFile(ctx, upload{
		path: "/v1/channels/" + url.PathEscape(i.Channel) + "/contacts:import", query: query, contentType: kind,
		head: head, body: i.Body, tail: tail, size: i.Size, progress: i.Progress, refused: i.Refused,
	}, &result)
	return result, err
}

// contactsForm returns what is before and behind the file in the form that sends it.
func contactsForm(i ContactsImport) (head, tail []byte, kind string, err error) {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	defaults, err := json.Marshal(i.Defaults)
	if err != nil {
		return nil, nil, "", err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(defaults, &fields); err != nil {
		return nil, nil, "", err
	}
	delete(fields, "to") // it has no omitempty, because a contact needs it
	if defaults, err = json.Marshal(fields); err != nil {
		return nil, nil, "", err
	}
	if err := form.WriteField("contact", string(defaults)); err != nil {
		return nil, nil, "", err
	}
	if _, err := form.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="contacts"`}, "Content-Type": {i.ContentType}}); err != nil {
		return nil, nil, "", err
	}
	before := b.Len()
	if err := form.Close(); err != nil {
		return nil, nil, "", err
	}
	return b.Bytes()[:before], b.Bytes()[before:], form.FormDataContentType(), nil
}
