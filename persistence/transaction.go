package persistence

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
)

// errStale says that a revision was another than expected: the transaction
// has to be repeated with care.
var errStale = errors.New("a revision was another")

// transaction is one try to write a batch: a few statements, however many
// contacts there are.
type transaction struct {
	w      *writer
	tx     *sqlx.Tx
	b      *batch
	now    time.Time
	states map[weir.ChannelID]channelState
	counts map[weir.ChannelID]int64 // by how much the number of waiting contacts changes
	wakes  []weir.ChannelID         // channels whose owner is somebody else
}

// channelState is what a batch has to know of a channel.
type channelState struct {
	ID       int64  `db:"id"`
	Deleting bool   `db:"deleting"`
	Deleted  bool   `db:"deleted"`
	Owner    string `db:"owner"`
	Epoch    int64  `db:"epoch"`
	Live     bool   `db:"live"`
}

func newTransaction(w *writer, tx *sqlx.Tx, b *batch) *transaction {
	return &transaction{
		w: w, tx: tx, b: b, now: time.Now(),
		states: map[weir.ChannelID]channelState{}, counts: map[weir.ChannelID]int64{},
	}
}

func (t *transaction) run() error {
	for _, r := range t.b.requests {
		r.outcome = outcome{}
	}
	for _, step := range []func() error{t.mark, t.readChannels, t.accept, t.change, t.count, t.deliver} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) exec(text string, args ...any) (int64, error) {
	return t.w.cache.exec(t.w.ctx, t.tx, text, args...)
}

// mark leaves the number of this batch, for the case that COMMIT breaks.
func (t *transaction) mark() error {
	n, err := t.exec(t.w.s.text.mark, t.b.number, t.w.start)
	if err == nil && n != 1 {
		err = fmt.Errorf("the row of this process in writers is gone")
	}
	return err
}

// readChannels reads leases and states of the channels concerned and holds on
// to them until the end, so that none changes hands meanwhile.
func (t *transaction) readChannels() error {
	var list []any
	for _, r := range t.b.requests {
		if _, ok := t.states[r.channel]; !ok && r.item == nil {
			t.states[r.channel] = channelState{}
			list = append(list, int64(r.channel))
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b any) int { return int(a.(int64) - b.(int64)) })
	var found []channelState
	err := t.tx.SelectContext(t.w.ctx, &found,
		"SELECT c.id, c.deleting, c.deleted, COALESCE(l.owner, '') AS owner, COALESCE(l.epoch, 0) AS epoch, "+
			"COALESCE(l.expires_at > "+t.w.s.database.Now()+", 0) AS live "+
			"FROM channels c LEFT JOIN leases l ON l.channel_id = c.id WHERE c.id IN "+marks(len(list))+t.w.s.sql.ForShare, list...)
	for _, s := range found {
		t.states[weir.ChannelID(s.ID)] = s
	}
	return err
}

// count adds up the numbers of waiting contacts.
func (t *transaction) count() error {
	var args []any
	for channel, delta := range t.counts {
		if delta != 0 {
			args = append(args, int64(channel), delta)
		}
	}
	if len(args) == 0 {
		return nil
	}
	_, err := t.exec("INSERT INTO channel_counts (channel_id, queued) VALUES "+rowsOf(len(args)/2, 2)+t.w.s.text.addCounts, args...)
	return err
}

// deliver writes inbox items: those handed over, and a wake for each channel
// that got contacts here and is run elsewhere. A wake item that is there
// already takes a new id, so that deleting the old one does not lose it.
func (t *transaction) deliver() error {
	wake := map[weir.ChannelID]bool{}
	for _, c := range t.wakes {
		wake[c] = true
	}
	var args []any
	for _, r := range t.b.requests {
		if r.item == nil {
			continue
		}
		if r.item.Kind == weir.InboxWake {
			wake[r.item.Channel] = true
			continue
		}
		args = append(args, t.w.s.ids.next(t.now), int64(r.item.Channel), r.item.Kind, payload(r.item.Payload), nil)
	}
	for channel := range wake {
		args = append(args, t.w.s.ids.next(t.now), int64(channel), weir.InboxWake, []byte{}, int64(1))
	}
	if len(args) == 0 {
		return nil
	}
	_, err := t.exec(t.w.s.text.insertInbox+rowsOf(len(args)/5, 5)+t.w.s.text.renewWake, args...)
	return err
}

// payload is never NULL.
func payload(p []byte) []byte {
	if p == nil {
		return []byte{}
	}
	return p
}
