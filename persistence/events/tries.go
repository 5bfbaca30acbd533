package events

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/events"
	"weir/persistence/columns"
	"weir/persistence/commit"
)

const (
	tryColumns = "webhook, id, at, event_id, type, status, duration, error, abandoned"
	// maxFailures is how many abandoned events of each webhook are kept.
	maxFailures = 10_000
)

// AddTries implements [events.WebhookStore].
func (h *Webhooks) AddTries(ctx context.Context, list []events.Try) error {
	if len(list) == 0 {
		return nil
	}
	byWebhook := map[string][]any{}
	for i := range list {
		t := &list[i]
		byWebhook[t.Webhook] = append(byWebhook[t.Webhook], t.Webhook, h.NextID(t.At), columns.Micros(t.At), t.Event, t.Type, t.Status, t.Duration.Microseconds(), t.Error, t.Abandoned)
	}
	for webhook, args := range byWebhook {
		err := h.Transaction(ctx, func(tx *sqlx.Tx) error { return h.addTries(ctx, tx, webhook, args) })
		if err != nil {
			return h.Failure("store tries to deliver events", err)
		}
	}
	return nil
}

// addTries adds tries of a webhook, and deletes all but the latest.
func (h *Webhooks) addTries(ctx context.Context, tx *sqlx.Tx, webhook string, args []any) error {
	const width = 9
	var there int
	if err := tx.GetContext(ctx, &there, "SELECT COUNT(*) FROM webhooks WHERE id = ?", webhook); err != nil || there == 0 {
		return err
	}
	for part := range slices.Chunk(args, columns.PurgeChunk*width) {
		if _, err := tx.ExecContext(ctx, "INSERT INTO webhook_tries ("+tryColumns+") VALUES "+columns.RowsOf(len(part)/width, width), part...); err != nil {
			return err
		}
	}
	var old []int64
	err := tx.SelectContext(ctx, &old, "SELECT id FROM webhook_tries WHERE webhook = ? ORDER BY id DESC LIMIT 1 OFFSET ?", webhook, events.KeptTries)
	if err != nil || len(old) == 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM webhook_tries WHERE webhook = ? AND id <= ?", webhook, old[0])
	return err
}

// Tries implements [events.WebhookStore].
func (h *Webhooks) Tries(ctx context.Context, id string, before int64, limit int) ([]events.Try, error) {
	if _, err := h.Webhook(ctx, id); err != nil {
		return nil, err
	}
	if before == 0 {
		before = math.MaxInt64
	}
	var rows []struct {
		Webhook   string `db:"webhook"`
		ID        int64  `db:"id"`
		At        int64  `db:"at"`
		Event     int64  `db:"event_id"`
		Type      string `db:"type"`
		Status    int    `db:"status"`
		Duration  int64  `db:"duration"`
		Error     string `db:"error"`
		Abandoned bool   `db:"abandoned"`
	}
	err := h.Read.SelectContext(ctx, &rows, "SELECT "+tryColumns+" FROM webhook_tries WHERE webhook = ? AND id < ? ORDER BY id DESC LIMIT ?", id, before, limit)
	list := make([]events.Try, len(rows))
	for i, r := range rows {
		list[i] = events.Try{
			ID: r.ID, Webhook: r.Webhook, At: columns.Instant(r.At), Event: r.Event, Type: r.Type, Status: r.Status,
			Duration: time.Duration(r.Duration) * time.Microsecond, Error: r.Error, Abandoned: r.Abandoned,
		}
	}
	return list, h.Failure("read tries to deliver events", err)
}

// ReplayEvent implements [events.WebhookStore].
func (h *Webhooks) ReplayEvent(ctx context.Context, id string, e events.Event, now time.Time) error {
	return h.changeWebhooks(ctx, "replay an event", func(tx *sqlx.Tx) error {
		if err := h.restartIn(ctx, tx, id); err != nil {
			return err
		}
		var cursor int64
		err := tx.GetContext(ctx, &cursor, "SELECT event_id FROM receivers WHERE name = ?", events.WebhookReceiver(id))
		if err != nil {
			return err
		}
		if e.ID > cursor {
			return weir.Errorf(weir.CodeConflict, "the webhook has not got as far as event %d yet, which will be sent without a replay", e.ID)
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO webhook_failures (webhook, event_id, subject, failed_at, replay) VALUES (?, ?, ?, ?, 1)"+
			h.Dialect.Merge("webhook", "event_id")+"replay = 1", id, e.ID, e.Subject, columns.Micros(now))
		return err
	})
}

// restartIn has the delivery to a webhook begin anew.
func (h *Webhooks) restartIn(ctx context.Context, tx *sqlx.Tx, id string) error {
	if _, err := h.lockWebhook(ctx, tx, id, 0); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE webhooks SET generation = generation + 1 WHERE id = ?", id)
	return err
}

// ReplayFailed implements [events.WebhookStore].
func (h *Webhooks) ReplayFailed(ctx context.Context, id string, since time.Time) (n int, more bool, err error) {
	err = h.changeWebhooks(ctx, "replay events", func(tx *sqlx.Tx) error {
		if err := h.restartIn(ctx, tx, id); err != nil {
			return err
		}
		var found []int64
		err := tx.SelectContext(ctx, &found, "SELECT event_id FROM webhook_failures WHERE webhook = ? AND replay = 0 AND failed_at >= ? ORDER BY event_id LIMIT ?",
			id, columns.Micros(since), events.MaxReplay+1)
		if err != nil {
			return err
		}
		if more = len(found) > events.MaxReplay; more {
			found = found[:events.MaxReplay]
		}
		for part := range slices.Chunk(found, columns.PurgeChunk) {
			if _, err := tx.ExecContext(ctx, "UPDATE webhook_failures SET replay = 1 WHERE webhook = ? AND event_id IN "+columns.Marks(len(part)), append([]any{id}, columns.Arguments(part)...)...); err != nil {
				return err
			}
		}
		n = len(found)
		return nil
	})
	return n, more, err
}

// AdoptReplays implements [events.WebhookDelivery].
func (h *Webhooks) AdoptReplays(ctx context.Context, id string, now time.Time) error {
	return h.Await(ctx, &commit.Request{Work: &adoption{id, now}, Rows: events.MaxReplay})
}

// adoption is a pending set of replays of a receiver.
type adoption struct {
	id  string
	now time.Time
}

func (a *adoption) Write(t *commit.Tx, _ *commit.Request) error {
	receiver := events.WebhookReceiver(a.id)
	// What lies beyond the cursor is to be delivered anyway.
	const replayed = "event_id IN (SELECT event_id FROM webhook_failures WHERE webhook = ? AND replay = 1)"
	t.AddOnce("DELETE FROM deliveries WHERE receiver = ? AND "+replayed, receiver, a.id)
	t.AddOnce("INSERT INTO deliveries (receiver, event_id, subject, tries, next_at) SELECT r.name, f.event_id, f.subject, 0, ? "+
		"FROM webhook_failures f JOIN receivers r ON r.name = ? WHERE f.webhook = ? AND f.replay = 1 AND f.event_id <= r.event_id", columns.Micros(a.now), receiver, a.id)
	t.AddOnce("DELETE FROM webhook_failures WHERE webhook = ? AND replay = 1", a.id)
	return nil
}

// PurgeWebhooks deletes tries from before an instant, abandoned events that are no longer
// in the log or too many, and expired signing secrets.
func (h *Webhooks) PurgeWebhooks(ctx context.Context, before, now time.Time) error {
	if _, err := h.Exec(ctx, "DELETE FROM webhook_tries WHERE at < ?", columns.Micros(before)); err != nil {
		return err
	}
	if _, err := h.Exec(ctx, "UPDATE webhooks SET old_secrets = 'null', old_until = 0 WHERE old_until > 0 AND old_until < ?", columns.Micros(now)); err != nil {
		return err
	}
	if _, err := h.Exec(ctx, "DELETE FROM webhook_failures WHERE failed_at < ?", columns.Micros(before)); err != nil {
		return err
	}
	var crowded []string
	if err := h.Read.SelectContext(ctx, &crowded, "SELECT webhook FROM webhook_failures GROUP BY webhook HAVING COUNT(*) > ?", maxFailures); err != nil {
		return h.Failure("count abandoned events", err)
	}
	for _, id := range crowded {
		var last int64
		if err := h.Read.GetContext(ctx, &last, "SELECT event_id FROM webhook_failures WHERE webhook = ? ORDER BY event_id DESC LIMIT 1 OFFSET ?", id, maxFailures); err != nil {
			return h.Failure("count abandoned events", err)
		}
		if _, err := h.Exec(ctx, "DELETE FROM webhook_failures WHERE webhook = ? AND event_id <= ?", id, last); err != nil {
			return err
		}
	}
	return nil
}
