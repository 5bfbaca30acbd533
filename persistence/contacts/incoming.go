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
	"weir/internal/digest"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/multirow"
)

// Incoming keeps the messages of people.
type Incoming struct {
	*commit.DB
	receipts *receipts
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
	w := &receipt{batch: s.receipts, channel: channel, m: m, fields: string(fields)}
	err = s.Await(ctx, &commit.Request{Work: w, Channels: []weir.ChannelID{channel}, Rows: 3, Bytes: 200 + 2*(len(m.Body)+len(fields))})
	if err != nil {
		return false, err
	}
	return w.known, nil
}

// receipt is the work of [Incoming.Receive].
type receipt struct {
	batch   *receipts
	channel weir.ChannelID
	m       weir.Incoming
	fields  string
	id      int64 // that the writer has given
	known   bool  // it was received before
}

// Write implements [commit.Work].
func (w *receipt) Write(t *commit.Tx, r *commit.Request) error {
	t.GiveIDs(r, 1)
	w.known = false
	if ch := t.Channel(w.channel); ch.ID == 0 || ch.Deleted {
		r.Refuse(weir.Errorf(weir.CodeNotFound, "no such channel"))
		return nil
	}
	w.id = r.IDs[0]
	w.batch.list = append(w.batch.list, w)
	return nil
}

// receipts writes the messages of a batch, those of each channel by the same few statements.
type receipts struct {
	observer Observer
	list     []*receipt
}

func (s *receipts) begin() { s.list = s.list[:0] }

func (s *receipts) write(t *commit.Tx) error {
	slices.SortStableFunc(s.list, func(a, b *receipt) int { return cmp.Compare(a.channel, b.channel) })
	for list := s.list; len(list) > 0; {
		n := 1
		for n < len(list) && list[n].channel == list[0].channel {
			n++
		}
		if err := s.writeChannel(t, list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// writeChannel writes the messages of one channel, except those that were received before.
func (s *receipts) writeChannel(t *commit.Tx, list []*receipt) error {
	var guids []any
	for _, w := range list {
		if w.m.GUID != "" {
			guids = append(guids, w.m.GUID, reusedGUID(&w.m))
		}
	}
	channel := list[0].channel
	stored, last, err := storedMessages(t, channel, guids)
	if err != nil {
		return err
	}
	var args []any
	rows := 0
	for _, w := range list {
		var guid any
		if w.m.GUID != "" {
			known, first := sameMessage(&w.m, stored)
			if w.known = known != nil; w.known {
				continue
			}
			given := w.m.GUID
			if !first {
				given = reusedGUID(&w.m)
			}
			stored[given] = &incomingRow{GUID: &given, Sender: w.m.From, Body: w.m.Body, Fields: w.fields}
			guid = given
		}
		last = max(w.id, last+1)
		w.m.ID = last
		args = append(args, int64(channel), w.m.ID, guid, w.m.From, w.m.To, w.m.Body, w.fields, columns.Micros(w.m.ReceivedAt))
		rows++
		if err := s.tell(t, w); err != nil {
			return err
		}
	}
	_, err = multirow.InsertCounted(t, "INSERT INTO incoming (channel_id, id, guid, sender, recipient, body, fields, received_at) VALUES ", "", args, rows)
	return err
}

// tell passes a message that is new on to who observes messages.
func (s *receipts) tell(t *commit.Tx, w *receipt) error {
	if t.WritesContactEvents() {
		e, err := messageEvent(t.Channel(w.channel).Name, w.m.ID, &w.m)
		if err != nil {
			return err
		}
		t.Emit(e)
	}
	return s.observer.Received(t, w.channel, &w.m)
}

// storedMessages returns the messages of a channel with some guids, by guid, and the id of its latest message, which is
// in the future if it is of a process whose clock was ahead.
func storedMessages(t *commit.Tx, channel weir.ChannelID, guids []any) (stored map[string]*incomingRow, last int64, _ error) {
	places := multirow.PlacesFor(len(guids))
	args := append([]any{int64(channel)}, multirow.Fill(guids, places-len(guids))...)
	var rows []incomingRow
	if err := t.Select(&rows, storedSQL(places), append(args, int64(channel))...); err != nil {
		return nil, 0, err
	}
	stored = make(map[string]*incomingRow, len(guids))
	for i := range rows {
		if r := &rows[i]; r.GUID == nil {
			last = r.ID
		} else {
			stored[*r.GUID] = r
		}
	}
	return stored, last, nil
}

// storedSQL finds the messages of a channel with n guids, and in a row without a guid the id of the latest.
func storedSQL(n int) string {
	return "SELECT id, guid, sender, body, fields, received_at FROM incoming WHERE channel_id = ? AND guid IN " + columns.Marks(n) +
		" UNION ALL SELECT COALESCE(MAX(id), 0), NULL, '', '', '', 0 FROM incoming WHERE channel_id = ?"
}

// fitIncoming makes what came from outside fit its columns, so that a provider
// does not repeat for ever what cannot be stored. A guid that is too long becomes
// its digest: repeats are still recognized. So does one that looks like what [reusedGUID] makes.
func fitIncoming(m *weir.Incoming) {
	m.From, m.To, m.Body = columns.ClipTo(m.From, maxAddr), columns.ClipTo(m.To, maxAddr), strings.ToValidUTF8(m.Body, "\uFFFD")
	if m.GUID = strings.ToValidUTF8(m.GUID, "\uFFFD"); len(m.GUID) > maxKey || strings.HasPrefix(m.GUID, reusedPrefix) {
		sum := sha256.Sum256([]byte(m.GUID))
		m.GUID = "sha256-" + hex.EncodeToString(sum[:])
	}
}

// sameMessage returns the stored message that a message repeats, or nil, among those with its guids. first reports
// whether its guid is unused: gateways reuse ids, and a message with another sender or text is another message.
func sameMessage(m *weir.Incoming, stored map[string]*incomingRow) (known *incomingRow, first bool) {
	first = true
	for _, guid := range []string{m.GUID, reusedGUID(m)} {
		r := stored[guid]
		if r == nil {
			continue
		}
		first = false
		if r.erased() && guid == reusedGUID(m) || !r.erased() && r.Sender == m.From && r.Body == m.Body {
			known = r
		}
	}
	return known, first
}

// reusedGUID stands for the guid of a message if another message has that, and of one that is erased.
func reusedGUID(m *weir.Incoming) string {
	sum := digest.Of(m.GUID, m.From, m.Body)
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
	var rows []incomingRow
	err := s.Read.SelectContext(ctx, &rows, readIncoming+"channel_id = ? AND guid IN (?, ?)", int64(channel), m.GUID, reusedGUID(&m))
	stored := map[string]*incomingRow{}
	for i := range rows {
		stored[*rows[i].GUID] = &rows[i]
	}
	known, _ := sameMessage(&m, stored)
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
