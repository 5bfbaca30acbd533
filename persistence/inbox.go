package persistence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
)

// Deliver implements [weir.Inbox]. Wake items of one channel are one.
func (s *Store) Deliver(ctx context.Context, item weir.InboxItem) error {
	_, err := s.await(ctx, func(ctx context.Context, answer func(outcome)) *request { return newDelivery(ctx, item, answer) })
	return err
}

// errKnown says that a message was received before.
var errKnown = errors.New("the message is known")

// Receive implements [weir.IncomingStore]. The row of the channel is held
// while the id is chosen, so that ids are in the order of commits and a reader
// that goes by them misses nothing.
func (s *Store) Receive(ctx context.Context, channel weir.ChannelID, m weir.Incoming) (bool, error) {
	fitIncoming(&m)
	fields, err := json.Marshal(m.Fields)
	if err != nil {
		return false, s.failure("encode a message", err)
	}
	err = s.transaction(ctx, func(tx *sqlx.Tx) error {
		if _, err := s.lockChannel(ctx, tx, channel); err != nil {
			return err
		}
		return s.insertIncoming(ctx, tx, channel, &m, string(fields))
	})
	if errors.Is(err, errKnown) {
		return true, nil
	}
	if err == nil {
		s.outboxWritten()
	}
	return false, s.failure("store a message", err)
}

// fitIncoming makes what came from outside fit its columns, so that a provider
// does not repeat for ever what cannot be stored. A guid that is too long becomes
// its digest: repeats are still recognized.
func fitIncoming(m *weir.Incoming) {
	m.From, m.To, m.Body = clipTo(m.From, maxAddr), clipTo(m.To, maxAddr), strings.ToValidUTF8(m.Body, "\uFFFD")
	if m.GUID = strings.ToValidUTF8(m.GUID, "\uFFFD"); len(m.GUID) > maxKey {
		sum := sha256.Sum256([]byte(m.GUID))
		m.GUID = "sha256-" + hex.EncodeToString(sum[:])
	}
}

func (s *Store) insertIncoming(ctx context.Context, tx *sqlx.Tx, channel weir.ChannelID, m *weir.Incoming, fields string) error {
	var guid any
	if m.GUID != "" {
		guid = m.GUID
		var known int
		err := tx.GetContext(ctx, &known, "SELECT COUNT(*) FROM incoming WHERE channel_id = ? AND guid = ?", int64(channel), guid)
		if err != nil {
			return err
		}
		if known > 0 {
			return errKnown
		}
	}
	var last int64
	if err := tx.GetContext(ctx, &last, "SELECT COALESCE(MAX(id), 0) FROM incoming WHERE channel_id = ?", int64(channel)); err != nil {
		return err
	}
	id := max(s.ids.next(time.Now()), last+1)
	_, err := tx.ExecContext(ctx, "INSERT INTO incoming (channel_id, id, guid, sender, recipient, body, fields, received_at) VALUES "+marks(8),
		int64(channel), id, guid, m.From, m.To, m.Body, fields, micros(m.ReceivedAt))
	if err != nil {
		return err
	}
	return s.outboxIncoming(ctx, tx, channel, id, *m)
}

// IncomingSince implements [weir.IncomingStore].
func (s *Store) IncomingSince(ctx context.Context, channel weir.ChannelID, after int64, limit int) ([]weir.Incoming, error) {
	var rows []struct {
		ID         int64   `db:"id"`
		GUID       *string `db:"guid"`
		Sender     string  `db:"sender"`
		Recipient  string  `db:"recipient"`
		Body       string  `db:"body"`
		Fields     string  `db:"fields"`
		ReceivedAt int64   `db:"received_at"`
	}
	err := s.read.SelectContext(ctx, &rows, "SELECT id, guid, sender, recipient, body, fields, received_at FROM incoming "+
		"WHERE channel_id = ? AND id > ? ORDER BY id LIMIT ?", int64(channel), after, limit)
	if err != nil {
		return nil, s.failure("read messages", err)
	}
	list := make([]weir.Incoming, 0, len(rows))
	for _, r := range rows {
		m := weir.Incoming{ID: r.ID, From: r.Sender, To: r.Recipient, Body: r.Body, ReceivedAt: instant(r.ReceivedAt)}
		if r.GUID != nil {
			m.GUID = *r.GUID
		}
		if err := json.Unmarshal([]byte(r.Fields), &m.Fields); err != nil {
			return nil, s.failure("read messages", err)
		}
		list = append(list, m)
	}
	return list, nil
}
