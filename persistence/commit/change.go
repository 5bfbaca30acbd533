package commit

import (
	"context"
	"errors"
)

// Change has the writer do a small work, and waits for it.
func (s *DB) Change(ctx context.Context, w Work) error {
	call, err := s.NewCall(ctx, &Request{Work: w, Rows: 1, Bytes: 1000})
	if err != nil {
		return err
	}
	call.Submit(nil)
	return call.Wait()
}

// CheckedError is the refusal of a change that is checked only, and could be written. A dry run so sees what the change itself would see:
// the rows as they are in the transaction, after all that is written before it.
type CheckedError struct{}

// Error implements error.
func (CheckedError) Error() string { return "the change was checked only" }

// Check has a change checked that is refused with [CheckedError] if it could be written.
func (s *DB) Check(ctx context.Context, w Work) error {
	err := s.Change(ctx, w)
	if _, right := errors.AsType[CheckedError](err); right {
		return nil
	}
	return err
}

// RequireStep keeps programs from the database that are older than a step of the schema: they do not heed what the batch
// writes.
func (t *Tx) RequireStep(step int) {
	t.Add("UPDATE meta SET value = ? WHERE name = 'oldest_step' AND value < ?", step, step)
}
