package events

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/events"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/database"
)

var (
	_ events.WebhookStore    = (*Webhooks)(nil)
	_ events.WebhookDelivery = (*Webhooks)(nil)
)

// Webhooks keeps the webhooks that clients created, with their tries and failures.
type Webhooks struct {
	*commit.DB
	log   *Log
	hooks database.Hooks // of changes
}

// NewWebhooks returns the webhooks in a database with this log.
func NewWebhooks(db *commit.DB, log *Log) *Webhooks { return &Webhooks{DB: db, log: log} }

const webhookColumns = "id, url, types, channel, survey, description, enabled, pii, secret, old_secrets, old_until, disabled, failing_since, revision, generation, created_at, updated_at"

// webhookRow is a row of webhooks.
type webhookRow struct {
	ID           string `db:"id"`
	URL          string `db:"url"`
	Types        string `db:"types"`
	Channel      string `db:"channel"`
	Survey       string `db:"survey"`
	Description  string `db:"description"`
	Enabled      bool   `db:"enabled"`
	PII          bool   `db:"pii"`
	Secret       string `db:"secret"`
	OldSecrets   []byte `db:"old_secrets"` // JSON
	OldUntil     int64  `db:"old_until"`   // of the last of them
	Disabled     string `db:"disabled"`
	FailingSince int64  `db:"failing_since"`
	Revision     int64  `db:"revision"`
	Generation   int64  `db:"generation"`
	CreatedAt    int64  `db:"created_at"`
	UpdatedAt    int64  `db:"updated_at"`
}

func (r *webhookRow) webhook() (events.Webhook, error) {
	w := events.Webhook{
		ID: r.ID, URL: r.URL, Types: strings.Split(r.Types, ","), Channel: r.Channel, Survey: r.Survey, Description: r.Description,
		Enabled: r.Enabled, PII: r.PII, Secret: r.Secret,
		Disabled: r.Disabled, FailingSince: columns.Instant(r.FailingSince), Revision: r.Revision, Generation: r.Generation,
		Created: columns.Instant(r.CreatedAt), Updated: columns.Instant(r.UpdatedAt),
	}
	return w, json.Unmarshal(r.OldSecrets, &w.OldSecrets)
}

func noWebhook() error { return weir.Errorf(weir.CodeNotFound, "there is no such webhook") }

// OnWebhooks implements [events.WebhookStore].
func (h *Webhooks) OnWebhooks(changed func()) (stop func()) { return h.hooks.Add(changed) }

// WebhooksChanged calls the functions of [Webhooks.OnWebhooks].
func (h *Webhooks) WebhooksChanged() { h.hooks.Call() }

// changeWebhooks changes webhooks in a transaction, and lets every process notice. Its
// first statement holds the counter of changes, so that changes follow each other.
func (h *Webhooks) changeWebhooks(ctx context.Context, doing string, change func(*sqlx.Tx) error) error {
	err := h.Transaction(ctx, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE meta SET value = value + 1 WHERE name = 'webhooks'"); err != nil {
			return err
		}
		return change(tx)
	})
	if err != nil {
		return h.Failure(doing, err)
	}
	h.hooks.Call()
	return nil
}

// AddWebhook implements [events.WebhookStore].
func (h *Webhooks) AddWebhook(ctx context.Context, w events.Webhook) error {
	return h.changeWebhooks(ctx, "store a webhook", func(tx *sqlx.Tx) error {
		var there int
		if err := tx.GetContext(ctx, &there, "SELECT COUNT(*) FROM webhooks"); err != nil {
			return err
		}
		if there >= events.MaxWebhooks {
			return weir.Errorf(weir.CodeConflict, "there are %d webhooks, which is the most; delete some", there)
		}
		old, err := json.Marshal(w.OldSecrets) //nolint:gosec // for the database, where secrets are kept
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(
			ctx, "INSERT INTO webhooks ("+webhookColumns+") VALUES "+columns.RowsOf(1, 17),
			w.ID, w.URL, strings.Join(w.Types, ","), w.Channel, w.Survey, w.Description, w.Enabled, w.PII, w.Secret, string(old), columns.Micros(w.OldUntil()),
			w.Disabled, columns.Micros(w.FailingSince), w.Revision, w.Generation, columns.Micros(w.Created), columns.Micros(w.Updated),
		)
		if err != nil {
			return err
		}
		if w.WantsContacts() {
			if err := enableContactEvents(ctx, tx); err != nil {
				return err
			}
		}
		// Last, because it holds the row that gives ids.
		return register(ctx, tx, h.Dialect.ForUpdate, w.Receiver())
	})
}

// Webhook implements [events.WebhookStore].
func (h *Webhooks) Webhook(ctx context.Context, id string) (events.Webhook, error) {
	var row webhookRow
	err := h.Read.GetContext(ctx, &row, "SELECT "+webhookColumns+" FROM webhooks WHERE id = ?", id)
	if errors.Is(err, sql.ErrNoRows) {
		return events.Webhook{}, noWebhook()
	}
	if err != nil {
		return events.Webhook{}, h.Failure("read a webhook", err)
	}
	w, err := row.webhook()
	return w, h.Failure("read a webhook", err)
}

// Webhooks implements [events.WebhookStore].
func (h *Webhooks) Webhooks(ctx context.Context, after string, limit int) ([]events.Webhook, error) {
	var rows []webhookRow
	err := h.Read.SelectContext(ctx, &rows, "SELECT "+webhookColumns+" FROM webhooks WHERE id > ? ORDER BY id LIMIT ?", after, limit)
	list := make([]events.Webhook, len(rows))
	for i := 0; i < len(rows) && err == nil; i++ {
		list[i], err = rows[i].webhook()
	}
	return list, h.Failure("read the webhooks", err)
}

// lockWebhook reads a webhook and holds its row. revision is that which it must have; 0:
// any.
func (h *Webhooks) lockWebhook(ctx context.Context, tx *sqlx.Tx, id string, revision int64) (events.Webhook, error) {
	var row webhookRow
	err := tx.GetContext(ctx, &row, "SELECT "+webhookColumns+" FROM webhooks WHERE id = ?"+h.Dialect.ForUpdate, id)
	if errors.Is(err, sql.ErrNoRows) {
		return events.Webhook{}, noWebhook()
	}
	if err != nil {
		return events.Webhook{}, err
	}
	if revision != 0 && row.Revision != revision {
		return events.Webhook{}, weir.Errorf(weir.CodePrecondition, "the webhook was changed meanwhile; read it again")
	}
	return row.webhook()
}

// UpdateWebhook implements [events.WebhookStore].
func (h *Webhooks) UpdateWebhook(ctx context.Context, w events.Webhook, now time.Time) (events.Webhook, error) {
	err := h.changeWebhooks(ctx, "change a webhook", func(tx *sqlx.Tx) error {
		was, err := h.lockWebhook(ctx, tx, w.ID, w.Revision)
		if err != nil {
			return err
		}
		next := w
		next.Generation, next.Revision, next.Updated = was.Generation+1, was.Revision+1, now
		old, err := json.Marshal(next.OldSecrets) //nolint:gosec // for the database, where secrets are kept
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(
			ctx, "UPDATE webhooks SET url = ?, types = ?, channel = ?, survey = ?, description = ?, enabled = ?, pii = ?, secret = ?, old_secrets = ?, old_until = ?, "+
				"disabled = ?, failing_since = ?, revision = ?, generation = ?, updated_at = ? WHERE id = ?",
			next.URL, strings.Join(next.Types, ","), next.Channel, next.Survey, next.Description, next.Enabled, next.PII, next.Secret, string(old), columns.Micros(next.OldUntil()),
			next.Disabled, columns.Micros(next.FailingSince), next.Revision, next.Generation, columns.Micros(now), next.ID,
		)
		if err != nil || !next.WantsContacts() {
			return err
		}
		return enableContactEvents(ctx, tx)
	})
	if err != nil {
		return events.Webhook{}, err
	}
	return h.Webhook(ctx, w.ID)
}

// DeleteWebhook implements [events.WebhookStore].
func (h *Webhooks) DeleteWebhook(ctx context.Context, id string, revision int64) error {
	return h.changeWebhooks(ctx, "delete a webhook", func(tx *sqlx.Tx) error {
		if _, err := h.lockWebhook(ctx, tx, id, revision); err != nil {
			return err
		}
		receiver := events.WebhookReceiver(id)
		for _, row := range []struct{ where, is string }{
			{"webhooks WHERE id", id}, {"webhook_tries WHERE webhook", id}, {"webhook_failures WHERE webhook", id},
			{"receivers WHERE name", receiver}, {"deliveries WHERE receiver", receiver},
		} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+row.where+" = ?", row.is); err != nil {
				return err
			}
		}
		return nil
	})
}

// SetFailing implements [events.WebhookDelivery].
func (h *Webhooks) SetFailing(ctx context.Context, id string, since time.Time) error {
	_, err := h.Exec(ctx, "UPDATE webhooks SET failing_since = ? WHERE id = ?", columns.Micros(since), id)
	return err
}

// DisableWebhook implements [events.WebhookDelivery].
func (h *Webhooks) DisableWebhook(ctx context.Context, w events.Webhook, reason string, now time.Time) error {
	data, err := json.Marshal(map[string]string{"webhook": w.ID, "reason": reason})
	if err != nil {
		return err
	}
	var done bool
	err = h.changeWebhooks(ctx, "disable a webhook", func(tx *sqlx.Tx) error {
		is, err := h.lockWebhook(ctx, tx, w.ID, 0)
		if done = err == nil && is.Generation == w.Generation && is.Enabled; !done {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE webhooks SET enabled = ?, disabled = ?, revision = revision + 1, generation = generation + 1, updated_at = ? WHERE id = ?",
			false, reason, columns.Micros(now), w.ID)
		if err != nil {
			return err
		}
		return h.log.AppendEvents(ctx, tx, now, events.Event{
			Type: events.WebhookDisabled, Source: events.SourceWebhooks, Subject: w.Receiver(), At: now, Data: data,
		})
	})
	if done && err == nil {
		h.log.EventsAppended()
	}
	return err
}
