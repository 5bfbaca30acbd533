package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
)

// Import is a file of respondents to load into a survey.
type Import struct {
	Survey string
	Params PostRespondentsParams
	Type   string // text/csv or application/x-ndjson
	Body   io.Reader
	Size   int64 // 0: not known
	Sent   func(part []byte)
	// Bad is called for each rejected row in the answer, while the answer is
	// read.
	Bad func(RowError) error
}

// Imported is the result of an import.
type Imported struct {
	Added      int64 `json:"added"`
	Duplicates int64 `json:"duplicates"`
	Rejected   int64 `json:"rejected"`
	// LastLine is the last processed line of an import that ended early.
	LastLine int64 `json:"last_line,omitempty"`
}

// Import loads respondents. The answer may list any number of rejected rows; they are
// not kept in memory. With an *[Error] the sums show how far the import got.
func (c *Client) Import(ctx context.Context, i Import) (done Imported, err error) {
	read := func(d *json.Decoder) error { return done.read(d, i.Bad) }
	query := url.Values{}
	set(query, "on_error", i.Params.OnError)
	set(query, "duplicates", i.Params.Duplicates)
	set(query, "encoding", i.Params.Encoding)
	err = c.Upload(ctx, Upload{
		Path: "/v1/surveys/" + url.PathEscape(i.Survey) + "/respondents", Query: query, Type: i.Type, Body: i.Body, Size: i.Size, Sent: i.Sent,
		Answer: read,
		Problem: func(name string, d *json.Decoder) error {
			if name == "import" {
				return read(d)
			}
			return d.Decode(&json.RawMessage{})
		},
	})
	return done, err
}

// read decodes the sums as they arrive, and passes rejected rows to bad.
func (i *Imported) read(d *json.Decoder, bad func(RowError) error) error {
	return members(d, func(name string) error {
		switch name {
		case "added":
			return d.Decode(&i.Added)
		case "duplicates":
			return d.Decode(&i.Duplicates)
		case "rejected":
			return d.Decode(&i.Rejected)
		case "last_line":
			return d.Decode(&i.LastLine)
		case "errors":
			return readBad(d, bad)
		default:
			return d.Decode(&json.RawMessage{})
		}
	})
}

func readBad(d *json.Decoder, bad func(RowError) error) error {
	if t, err := d.Token(); err != nil || t == nil { // null
		return err
	} else if t != json.Delim('[') {
		return fmt.Errorf("%v where a list is expected", t)
	}
	for d.More() {
		var row RowError
		if err := d.Decode(&row); err != nil {
			return err
		}
		if bad == nil {
			continue
		}
		if err := bad(row); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}
