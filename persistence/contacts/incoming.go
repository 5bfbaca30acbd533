package contacts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
)

// Incoming keeps the messages of people.
type Incoming struct {
	*commit.DB
	observer Observer
}

var _ weir.IncomingStore = (*Incoming)(nil)

// Receive implements [weir.IncomingStore]. The writer gives the ids, in the order of commits, so that a reader
// that goes by them misses nothing.
func (s *Incoming) Receive(ctx context.Context, channel weir.ChannelID, m weir.Incoming) (bool, error) {
	fitIncoming(&m)
	fields, err := json.Marshal(m.Fields)
	if err != nil {
		return false, s.Failure("encode a message", err)
	}
	w := &receipt{s: s, channel: channel, m: m, fields: string(fields)}
	err = s.Await(ctx, &commit.Request{Work: w, Channels: []weir.ChannelID{channel}, Rows: 3, Bytes: 200 + 2*(len(m.Body)+len(fields))})
	if err != nil {
		return false, err
	}
	if !w.known {
		s.observer.ReceivedCommitted()
	}
	return w.known, nil
}

// receipt is the work of [Incoming.Receive].
type receipt struct {
	s       *Incoming
	channel weir.ChannelID
	m       weir.Incoming
	fields  string
	known   bool // it was received before
}

// Write implements [commit.Work].
func (w *receipt) Write(t *commit.Tx, r *commit.Request) error {
	t.GiveIDs(r, 1)
	w.known = false
	ch := t.Channel(w.channel)
	if ch.ID == 0 || ch.Deleted {
		r.Refuse(weir.Errorf(weir.CodeNotFound, "no such channel"))
		return nil
	}
	var guid any
	if w.m.GUID != "" {
		known, first, err := sameMessage(t.Ctx, t, w.channel, &w.m)
		if err != nil {
			return err
		}
		if w.known = known != nil; w.known {
			return nil
		}
		if guid = w.m.GUID; !first {
			guid = reusedGUID(&w.m)
		}
	}
	var last int64 // of a process whose clock was ahead
	if err := t.Get(&last, "SELECT COALESCE(MAX(id), 0) FROM incoming WHERE channel_id = ?", int64(w.channel)); err != nil {
		return err
	}
	w.m.ID = max(r.IDs[0], last+1)
	t.Add("INSERT INTO incoming (channel_id, id, guid, sender, recipient, body, fields, received_at) VALUES "+columns.Marks(8),
		int64(w.channel), w.m.ID, guid, w.m.From, w.m.To, w.m.Body, w.fields, columns.Micros(w.m.ReceivedAt))
	if t.WritesContactEvents() {
		e, err := messageEvent(ch.Name, w.m.ID, &w.m)
		if err != nil {
			return err
		}
		t.Emit(e)
	}
	return w.s.observer.Received(t, w.channel, &w.m)
}

// fitIncoming makes what came from outside fit its columns, so that a provider
// does not repeat for ever what cannot be stored. A guid that is too long becomes
// its digest: repeats are still recognized.
func fitIncoming(m *weir.Incoming) {
	m.From, m.To, m.Body = columns.ClipTo(m.From, maxAddr), columns.ClipTo(m.To, maxAddr), strings.ToValidUTF8(m.Body, "\uFFFD")
	if m.GUID = strings.ToValidUTF8(m.GUID, "\uFFFD"); len(m.GUID) > maxKey {
		sum := sha256.Sum256([]byte(m.GUID))
		m.GUID = "sha256-" + hex.EncodeToString(sum[:])
	}
}

// sameMessage returns the stored message that a message repeats, or nil. first reports whether its guid is
// unused: gateways reuse ids, and a message with another sender or text is another message.
func sameMessage(ctx context.Context, q dialect.Reader, channel weir.ChannelID, m *weir.Incoming) (known *incomingRow, first bool, err error) {
	var rows []incomingRow
	err = q.SelectContext(ctx, &rows, readIncoming+"channel_id = ? AND guid IN (?, ?)", int64(channel), m.GUID, reusedGUID(m))
	for i := range rows {
		r := &rows[i]
		if r.erased() && *r.GUID == reusedGUID(m) || !r.erased() && r.Sender == m.From && r.Body == m.Body {
			known = r
		}
	}
	return known, len(rows) == 0, err
}

// reusedGUID stands for the guid of a message if another message has that, and of one that is erased.
func reusedGUID(m *weir.Incoming) string {
	sum := sha256.Sum256([]byte(m.GUID + "\x00" + m.From + "\x00" + m.Body))
	return reusedPrefix + hex.EncodeToString(sum[:])
}

const reusedPrefix = "reused-"

// eraseMessage leaves of a message nothing but when it was received and a digest of its id,
// sender and text. Without an id a repetition is like any message of the same text.
func eraseMessage(ctx context.Context, tx *sqlx.Tx, r *incomingRow) error {
	if r.GUID == nil {
		_, err := tx.ExecContext(ctx, "DELETE FROM incoming WHERE channel_id = ? AND id = ?", r.Channel, r.ID)
		return err
	}
	guid := *r.GUID
	if !strings.HasPrefix(guid, reusedPrefix) {
		guid = reusedGUID(&weir.Incoming{GUID: guid, From: r.Sender, Body: r.Body})
	}
	_, err := tx.ExecContext(ctx, "UPDATE incoming SET guid = ?, sender = '', recipient = '', body = '', fields = '' WHERE channel_id = ? AND id = ?", guid, r.Channel, r.ID)
	return err
}

// incomingRow is a row of incoming.
type incomingRow struct {
	Channel    int64   `db:"channel_id"`
	ID         int64   `db:"id"`
	GUID       *string `db:"guid"`
	Sender     string  `db:"sender"`
	Recipient  string  `db:"recipient"`
	Body       string  `db:"body"`
	Fields     string  `db:"fields"`
	ReceivedAt int64   `db:"received_at"`
}

// erased reports whether of the message only a digest is left.
func (r *incomingRow) erased() bool { return r.Fields == "" }

const notErased = "fields <> ''"

const readIncoming = "SELECT channel_id, id, guid, sender, recipient, body, fields, received_at FROM incoming WHERE "

func (r *incomingRow) message() (weir.Incoming, error) {
	m := weir.Incoming{ID: r.ID, From: r.Sender, To: r.Recipient, Body: r.Body, ReceivedAt: columns.Instant(r.ReceivedAt)}
	if r.GUID != nil {
		m.GUID = *r.GUID
	}
	return m, json.Unmarshal([]byte(r.Fields), &m.Fields)
}

// ReceivedAt implements [weir.IncomingStore].
func (s *Incoming) ReceivedAt(ctx context.Context, channel weir.ChannelID, m weir.Incoming) (at time.Time, erased bool, _ error) {
	fitIncoming(&m)
	known, _, err := sameMessage(ctx, s.Read, channel, &m)
	if err == nil && known == nil {
		err = sql.ErrNoRows
	}
	if err != nil {
		return time.Time{}, false, s.Failure("read when a message was received", err)
	}
	return columns.Instant(known.ReceivedAt), known.erased(), nil
}

// IncomingSince implements [weir.IncomingStore].
func (s *Incoming) IncomingSince(ctx context.Context, channel weir.ChannelID, after int64, limit int) ([]weir.Incoming, error) {
	var rows []incomingRow
	err := s.Read.SelectContext(ctx, &rows, readIncoming+"channel_id = ? AND id > ? AND "+notErased+" ORDER BY id LIMIT ?", int64(channel), after, limit)
	if err != nil {
		return nil, s.Failure("read messages", err)
	}
	list := make([]weir.Incoming, 0, len(rows))
	for i := range rows {
		m, err := rows[i].message()
		if err != nil {
			return nil, s.Failure("read messages", err)
		}
		list = append(list, m)
	}
	return list, nil
}

// fromSQL finds the newest messages of n senders, some of each.
func fromSQL(n int) string {
	one := "SELECT channel_id, id FROM (SELECT channel_id, id FROM incoming WHERE sender = ? AND id < ? ORDER BY id DESC LIMIT ?) AS part"
	return one + strings.Repeat(" UNION ALL "+one, n-1)
}

// IncomingFrom implements [weir.AddressReader].
func (s *Incoming) IncomingFrom(ctx context.Context, from []string, before int64, limit int) ([]weir.Received, error) {
	var args []any
	for _, sender := range from {
		args = append(args, sender, cmp.Or(before, math.MaxInt64), limit)
	}
	var found []keyOf
	if err := s.Read.SelectContext(ctx, &found, fromSQL(len(from)), args...); err != nil {
		return nil, s.Failure("find the messages of a person", err)
	}
	slices.SortFunc(found, func(a, b keyOf) int { return cmp.Compare(b.ID, a.ID) })
	list := make([]weir.Received, 0, len(found))
	for _, ref := range found[:min(len(found), limit)] {
		var rows []incomingRow
		if err := s.Read.SelectContext(ctx, &rows, readIncoming+"channel_id = ? AND id = ? AND "+notErased, ref.Channel, ref.ID); err != nil {
			return nil, s.Failure("read messages", err)
		}
		for i := range rows { // none: it was purged or erased meanwhile
			m, err := rows[i].message()
			if err != nil {
				return nil, s.Failure("read messages", err)
			}
			list = append(list, weir.Received{Channel: weir.ChannelID(ref.Channel), Incoming: m})
		}
	}
	return list, nil
}
