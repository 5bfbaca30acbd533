package people

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"weir/client"
	"weir/cmd/weir/cli/app"
)

const (
	maxBatch      = 1000
	maxBatchBytes = 3 << 20 // below the API's limit for a body
	lanes         = 4       // requests that are under way at once
	maxTries      = 8       // of a request; together half a minute
)

// counts says what became of the rows of a list.
type counts struct {
	Rows    int64 `json:"rows"`
	Refused int64 `json:"refused"` // recorded refusals
	Given   int64 `json:"given"`   // recorded consents
	// Superseded rows were recorded and change nothing, because something else counts.
	Superseded int64 `json:"superseded"`
	Silent     int64 `json:"not_opted_out"` // rows that say nothing
	NoNumbers  int64 `json:"other_addresses"`
}

// add counts a row that has a status.
func (n *counts) add(r *row) {
	if r.consent.Status == refused {
		n.Refused++
	} else {
		n.Given++
	}
	if !r.isNumber() {
		n.NoNumbers++
	}
}

// feed records the rows of a list. The rows of a person go through the same lane, one
// request after the other, so that the last one in the list counts if they have no instants.
type feed struct {
	to *client.Client

	mu       sync.Mutex // guards the rest
	rejected *app.RejectedRows
	counts   counts
}

// batch is a list of rows for one request.
type batch struct {
	rows  []row
	bytes int
}

// run records all rows. After an error of the file, the rows before it are still recorded.
// After an error of a request, no other one begins.
func (f *feed) run(ctx context.Context, from *rows) error {
	group, stopped := errgroup.WithContext(ctx)
	var full [lanes]chan batch
	for i := range full {
		full[i] = make(chan batch)
		group.Go(func() error {
			for b := range full[i] {
				if err := f.send(ctx, b.rows); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer func() {
			for _, c := range full {
				close(c)
			}
		}()
		return f.read(stopped, from, &full)
	})
	return group.Wait()
}

// read fills the batches of the lanes until the list ends, or stopped does.
func (f *feed) read(stopped context.Context, from *rows, full *[lanes]chan batch) error {
	var filling [lanes]batch
	flush := func(lane int) {
		select {
		case full[lane] <- filling[lane]:
		case <-stopped.Done(): // the error is that of the lane that failed
		}
		filling[lane] = batch{}
	}
	for stopped.Err() == nil {
		r, err := from.next()
		if err != nil {
			for lane := range filling {
				flush(lane)
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		if ok, err := f.accept(&r); err != nil {
			return err
		} else if !ok {
			continue
		}
		text, err := json.Marshal(r.consent)
		if err != nil {
			return err
		}
		size := len(text) + 1
		for _, field := range r.fields { // they are kept for a rejection
			size += len(field)
		}
		lane := laneOf(r.canonical)
		if b := &filling[lane]; len(b.rows) == maxBatch || b.bytes+size > maxBatchBytes {
			flush(lane)
		}
		filling[lane].rows = append(filling[lane].rows, r)
		filling[lane].bytes += size
	}
	return stopped.Err()
}

// accept counts a row, and reports whether it is to be recorded.
func (f *feed) accept(r *row) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts.Rows++
	switch {
	case r.wrong != nil:
		f.rejected.Add(*r.wrong)
		return false, f.rejected.Write(*r.wrong, r.fields)
	case r.saysNothing():
		f.counts.Silent++
		return false, nil
	}
	return true, nil
}

// laneOf returns the lane of a person.
func laneOf(canonical string) int {
	h := fnv.New32a()
	_, _ = io.WriteString(h, canonical)
	return int(h.Sum32() % lanes)
}

// send records rows in one request. Rows that Weir rejects are reported, and the others are
// sent without them.
func (f *feed) send(ctx context.Context, rows []row) error {
	for len(rows) > 0 {
		body := client.ConsentsBody{Consents: make([]client.ConsentBody, len(rows))}
		for i := range rows {
			body.Consents[i] = rows[i].consent
		}
		list, err := f.to.PostConsents(ctx, body)
		if err != nil {
			if rows, err = f.drop(rows, err); err != nil {
				return err
			}
			continue
		}
		if len(list.States) != len(rows) && len(list.States) > 0 { // none: without pii:read
			return errors.New("unexpected response: the number of states differs from the request")
		}
		f.recorded(rows, list.States)
		return nil
	}
	return nil
}

// recorded counts rows that are recorded, with what counts of their people now.
func (f *feed) recorded(rows []row, states []client.StateView) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range rows {
		f.counts.add(&rows[i])
		if len(states) > 0 && states[i].Status != rows[i].consent.Status {
			f.counts.Superseded++
		}
	}
}

// drop returns the rows without those that an error response names, or the error if it names
// none.
func (f *feed) drop(rows []row, err error) ([]row, error) {
	bad := app.RejectedElements(err, "consents", len(rows))
	if bad == nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := rows[:0]
	for i, r := range rows {
		why, named := bad[i]
		if !named {
			kept = append(kept, r)
			continue
		}
		why.Line = r.line
		f.rejected.Add(why)
		if err := f.rejected.Write(why, r.fields); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
