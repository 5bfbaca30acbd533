package events

import (
	"context"
	"slices"

	"github.com/jmoiron/sqlx"

	"weir/events"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/multirow"
)

var _ events.Receivers = (*Receivers)(nil)

// Receivers keeps how far each receiver of events has got.
type Receivers struct{ *commit.DB }

// Register implements [events.Receivers]. The row that gives ids is held
// first, so that no event commits between the look at it and the receiver.
func (r *Receivers) Register(ctx context.Context, receiver string) error {
	err := r.Transaction(ctx, func(tx *sqlx.Tx) error { return register(ctx, tx, r.Dialect.ForUpdate, receiver) })
	return r.Failure("register a receiver of events", err)
}

// register is [Receivers.Register] within a transaction, as its last step.
func register(ctx context.Context, tx *sqlx.Tx, forUpdate, receiver string) error {
	var last, known int64
	if err := tx.GetContext(ctx, &last, latestEvent+forUpdate); err != nil {
		return err
	}
	if err := tx.GetContext(ctx, &known, "SELECT COUNT(*) FROM receivers WHERE name = ?", receiver); err != nil || known > 0 {
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO receivers (name, event_id) VALUES (?, ?)", receiver, last)
	return err
}

// Progress implements [events.Receivers].
func (r *Receivers) Progress(ctx context.Context, receiver string) (events.Progress, error) {
	var p events.Progress
	err := r.Read.GetContext(ctx, &p.Cursor, "SELECT COALESCE(MAX(event_id), 0) FROM receivers WHERE name = ?", receiver)
	if err != nil {
		return p, r.Failure("read a receiver of events", err)
	}
	var rows []struct {
		Event  int64  `db:"event_id"`
		Order  string `db:"subject"`
		Tries  int    `db:"tries"`
		NextAt int64  `db:"next_at"`
	}
	err = r.Read.SelectContext(ctx, &rows, "SELECT event_id, subject, tries, next_at FROM deliveries WHERE receiver = ? ORDER BY event_id", receiver)
	for _, r := range rows {
		p.Deferred = append(p.Deferred, events.Deferred{Event: r.Event, Order: r.Order, Tries: r.Tries, NextAt: columns.Instant(r.NextAt)})
	}
	return p, r.Failure("read a receiver of events", err)
}

// Advance implements [events.Receivers].
func (r *Receivers) Advance(ctx context.Context, step events.Step) error {
	bytes := 0
	for i := range step.Put {
		bytes += 100 + len(step.Put[i].Order)
	}
	return r.Await(ctx, &commit.Request{Work: &advance{step}, Rows: 1 + len(step.Put) + len(step.Done) + len(step.Abandoned), Bytes: bytes})
}

// advance is a pending step of a receiver.
type advance struct{ step events.Step }

func (a *advance) Write(t *commit.Tx, _ *commit.Request) error {
	t.Add("UPDATE receivers SET event_id = ? WHERE name = ?", a.step.Cursor, a.step.Receiver)
	a.abandon(t)
	gone := slices.Clone(a.step.Done)
	var args []any
	for _, p := range a.step.Put {
		gone = append(gone, p.Event)
		args = append(args, a.step.Receiver, p.Event, p.Order, p.Tries, columns.Micros(p.NextAt))
	}
	for part := range slices.Chunk(gone, columns.PurgeChunk) {
		t.AddOnce("DELETE FROM deliveries WHERE receiver = ? AND event_id IN "+columns.Marks(len(part)), append([]any{a.step.Receiver}, columns.Arguments(part)...)...)
	}
	if len(args) == 0 {
		return nil
	}
	var known int64 // a webhook may have been deleted
	if err := t.Get(&known, "SELECT COUNT(*) FROM receivers WHERE name = ?", a.step.Receiver); err != nil || known == 0 {
		return err
	}
	_, err := multirow.InsertCounted(t, "INSERT INTO deliveries (receiver, event_id, subject, tries, next_at) VALUES ", "", args, len(a.step.Put))
	return err
}

// abandon stores events of a webhook that were given up.
func (a *advance) abandon(t *commit.Tx) {
	id, _ := events.WebhookID(a.step.Receiver)
	merge := t.Dialect().Merge("webhook", "event_id") + "failed_at = " + t.Dialect().Fresh("failed_at")
	for _, p := range a.step.Abandoned {
		t.AddOnce("INSERT INTO webhook_failures (webhook, event_id, subject, failed_at, replay) SELECT id, ?, ?, ?, 0 FROM webhooks WHERE id = ?"+merge,
			p.Event, p.Order, columns.Micros(p.NextAt), id)
	}
}
