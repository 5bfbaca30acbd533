package contacts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"weir/client"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/surveys/respondents"
)

// maxBatchBytes keeps a request below the API's limit for a body.
const maxBatchBytes = 3 << 20

// feed sends the rows of a file in batches. Each batch is durable in Weir before
// the next one is sent.
type feed struct {
	to       *client.Client
	channel  string
	s        *sendFlags
	rejected *app.RejectedRows

	batch []row
	bytes int
	keys  map[string]bool // of the contacts in batch

	queued, known int64
	last          int // line up to which all rows are handled
}

// run sends all rows. After an error of the file, the rows before it are still sent.
func (f *feed) run(ctx context.Context, kind string, from io.Reader) error {
	var source rows = newJSONRows(from, f.s.defaults)
	if kind == "text/csv" {
		r, err := newCSVRows(from, f.s.encoding.Value, f.s.defaults)
		if err != nil {
			return err
		}
		names, separator := r.from.Header()
		f.rejected.SetHeader(names, rune(separator[0]), r.from.Decoded())
		source = r
	}
	for {
		r, err := source.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(f.flush(ctx), err)
		}
		if r.line < f.s.from {
			continue
		}
		if err := f.add(ctx, r); err != nil {
			return err
		}
	}
}

// add adds a row to the batch. It first sends the batch if that is full.
func (f *feed) add(ctx context.Context, r row) error {
	if r.wrong == nil && r.contact.To == "" {
		r = r.bad("to", "is missing")
	}
	if r.wrong != nil {
		return f.reject(r, *r.wrong)
	}
	if r.contact.Key == "" {
		var err error
		if r.contact.Key, err = respondents.ContactKey(f.channel, f.s.run, &r.contact); err != nil {
			return err
		}
	}
	if f.keys[r.contact.Key] { // Weir rejects a batch with a duplicate key
		f.known++
		return nil
	}
	text, err := json.Marshal(r.contact)
	if err != nil {
		return err
	}
	if len(f.batch) > 0 && (len(f.batch) >= f.s.batch || f.bytes+len(text) > maxBatchBytes) {
		if err := f.flush(ctx); err != nil {
			return err
		}
	}
	f.batch, f.bytes = append(f.batch, r), f.bytes+len(text)+1
	f.keys[r.contact.Key] = true
	return nil
}

func (f *feed) reject(r row, why client.RowError) error {
	f.rejected.Add(why)
	return f.rejected.Write(why, r.fields)
}

// flush sends the batch. Rows that Weir rejects are reported, and the others are
// sent without them.
func (f *feed) flush(ctx context.Context) error {
	end := f.last
	if len(f.batch) > 0 {
		end = f.batch[len(f.batch)-1].line
	}
	for len(f.batch) > 0 {
		body := client.ContactsBody{Contacts: make([]client.ContactBody, len(f.batch))}
		for i := range f.batch {
			body.Contacts[i] = f.batch[i].contact
		}
		list, err := f.to.PostContacts(ctx, f.channel, body)
		if err != nil {
			if err := f.drop(err); err != nil {
				return err
			}
			continue
		}
		if len(list.Contacts) != len(f.batch) {
			return errors.New("unexpected response: the number of contacts differs from the request")
		}
		for i := range list.Contacts {
			if list.Contacts[i].Duplicate {
				f.known++
			} else {
				f.queued++
			}
		}
		f.batch = f.batch[:0]
	}
	// Only now, because the batch is durable: an error names this line as the one to continue
	// after.
	f.last, f.bytes = end, 0
	clear(f.keys)
	return nil
}

// drop removes the rows that an error response names from the batch. It returns an
// error that names no row.
func (f *feed) drop(err error) error {
	bad := app.RejectedElements(err, "contacts", len(f.batch))
	if bad == nil {
		return err // the batch is kept, and the whole command fails
	}
	kept := f.batch[:0]
	for i, r := range f.batch {
		why, named := bad[i]
		if !named {
			kept = append(kept, r)
			continue
		}
		why.Line = r.line
		if err := f.reject(r, why); err != nil {
			return err
		}
	}
	f.batch = kept
	return nil
}

// failed adds to an error what was sent and how to resume.
func (f *feed) failed(err error) error {
	if f.last == 0 && !app.NoResponse(err) {
		return err
	}
	text := fmt.Sprintf("stopped after line %d: %s, %s already known, %s", f.last, terminal.Plural(f.queued, "contact queued", "contacts queued"), terminal.Number(f.known), terminal.Plural(f.rejected.Count, "row rejected", "rows rejected"))
	return fmt.Errorf("%w\n%s\nrun the same command again to continue; no contact is sent twice. --from-line %d skips what was sent", err, text, f.last+1)
}
