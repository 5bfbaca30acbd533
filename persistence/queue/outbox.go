package queue

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/commit"
	"weir/persistence/values"
	"weir/surveys"
)

var _ surveys.Outbox = (*Outbox)(nil)

// Outbox holds what happened to contacts of surveys, until the survey broker has handled it.
type Outbox struct {
	*commit.DB
	onWritten atomic.Pointer[func()]
}

const OutboxSQL = "SELECT " + outboxColumns + " FROM outbox WHERE id > ? ORDER BY id LIMIT ?"

// OnOutboxEntries implements [surveys.Outbox].
func (s *Outbox) OnOutboxEntries(committed func()) { s.onWritten.Store(&committed) }

// written calls the function of [Outbox.OnOutboxEntries].
func (s *Outbox) written() {
	if call := s.onWritten.Load(); call != nil {
		(*call)()
	}
}

// addIncoming adds an outbox entry for a message, in the transaction that stores it.
func (s *Outbox) addIncoming(ctx context.Context, tx *sqlx.Tx, channel weir.ChannelID, m weir.Incoming) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO outbox ("+outboxColumns+") VALUES "+values.Marks(11),
		s.NextID(time.Now()), string(surveys.MessageReceived), values.Micros(m.ReceivedAt), int64(channel), 0, 0, 0, 0, "", "", string(text))
	return err
}

// OutboxEntries implements [surveys.Outbox].
func (s *Outbox) OutboxEntries(ctx context.Context, after int64, limit int) ([]surveys.OutboxEntry, error) {
	var rows []struct {
		ID         int64  `db:"id"`
		Kind       string `db:"kind"`
		At         int64  `db:"at"`
		Channel    int64  `db:"channel_id"`
		Contact    int64  `db:"contact_id"`
		Survey     int64  `db:"survey_id"`
		Respondent int64  `db:"respondent_id"`
		Serial     int    `db:"serial"`
		Outcome    string `db:"outcome"`
		Reason     string `db:"reason"`
		Message    string `db:"message"`
	}
	if err := s.Read.SelectContext(ctx, &rows, OutboxSQL, after, limit); err != nil {
		return nil, s.Failure("read the outbox", err)
	}
	list := make([]surveys.OutboxEntry, 0, len(rows))
	for _, r := range rows {
		n := surveys.OutboxEntry{
			ID: r.ID, Kind: surveys.OutboxKind(r.Kind), At: values.Instant(r.At), Channel: weir.ChannelID(r.Channel),
			Respondent: weir.Respondent{Survey: r.Survey, ID: r.Respondent, Serial: r.Serial}, Outcome: weir.Outcome(r.Outcome), Reason: r.Reason,
		}
		if r.Contact != 0 {
			n.Contact = weir.Ref{Channel: n.Channel, ID: weir.ContactID(r.Contact)}
		}
		if r.Message != "" {
			var d outboxDetails
			var into any = &d
			if n.Kind == surveys.MessageReceived {
				into = &n.Message
			}
			if err := json.Unmarshal([]byte(r.Message), into); err != nil {
				return nil, s.Failure("read the outbox", err)
			}
			n.Result, n.Messages = d.Result, d.Messages
			n.Message.ReceivedAt = values.Instant(values.Micros(n.Message.ReceivedAt))
		}
		list = append(list, n)
	}
	return list, nil
}
