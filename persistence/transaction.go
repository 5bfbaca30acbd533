package persistence

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/events"
	"weir/persistence/dialect"
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
	events []events.Event           // to be announced
}

// channelState is what a batch has to know of a channel.
type channelState struct {
	ID       int64  `db:"id"`
	Deleting bool   `db:"deleting"`
	Deleted  bool   `db:"deleted"`
	Owner    string `db:"owner"`
	Epoch    int64  `db:"epoch"`
	Live     bool   `db:"live"`
	Mark     int64  `db:"mark"` // the number of the batch that read it
}

// transactAll repeats a transaction that found out why it has to be done in
// another way: with care, with a look at the channels, without some requests.
func (w *writer) transactAll(b *batch) error {
	for _, r := range b.requests {
		r.refusal = nil
	}
	for {
		err := w.transact(b)
		switch {
		case errors.Is(err, errStale) && !b.careful:
			b.careful = true
		case errors.Is(err, errReused), w.disappointed(b, err):
		default:
			return err
		}
	}
}

// disappointed tells whether a batch was refused that took things to be as
// expected. It is to be written with a look at them then.
func (w *writer) disappointed(b *batch, err error) bool {
	if err == nil || !b.hopeful || b.doubt {
		return false
	}
	if kind, _ := w.s.classify(err); kind != dialect.Fault {
		return false
	}
	b.wary, w.states = true, nil
	return true
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
	t.b.noticed, t.b.told, t.b.wrote = false, false, journaled{}
	for _, step := range []func() error{t.mark, t.readChannels, t.work, t.accept, t.change, t.count, t.deliver, t.tell} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) exec(text string, args ...any) (int64, error) {
	return t.w.cache.exec(t.w.ctx, t.tx, text, args...)
}

// later runs a statement of which nobody needs to know how many rows it changed.
// Where that saves a round trip it is sent with the next one.
func (t *transaction) later(text string, args ...any) error {
	return t.w.cache.later(t.w.ctx, t.tx, text, args...)
}

// get reads one number by a statement whose text is one of few.
func (t *transaction) get(n *int64, text string, args ...any) error {
	return t.w.cache.get(t.w.ctx, t.tx, n, text, args...)
}

// mark leaves the number of this batch, for the case that COMMIT breaks. A hopeful
// batch does so with a look at the channels, as part of it.
func (t *transaction) mark() error {
	if t.b.hopeful = t.hopes(); t.b.hopeful {
		return nil
	}
	return t.later(t.w.s.text.mark, t.b.number, t.w.start)
}

// hopes tells whether all channels concerned were ours, and took contacts, when
// they were read last. Then a batch is written in one round trip.
func (t *transaction) hopes() bool {
	if t.w.s.sql.MarkOwned == nil || t.b.wary {
		return false
	}
	some := false
	for _, r := range t.b.requests {
		for _, channel := range r.channels() {
			state, ok := t.w.states[channel]
			if !ok || state.Owner != t.w.s.owner || state.Deleting || state.Deleted {
				return false
			}
			some = true
		}
	}
	return some
}

// owned holds on to the channels, which are as they were known, or the batch is
// refused.
func (t *transaction) owned(channels []any) error {
	sum := int64(0)
	for _, c := range channels {
		sum += t.states[weir.ChannelID(c.(int64))].Epoch
	}
	args := append([]any{len(channels), sum, t.b.number}, channels...)
	return t.later(t.w.s.sql.MarkOwned(len(channels)), append(args, t.w.s.owner, t.w.start)...)
}

// readChannels reads leases and states of the channels concerned and holds on
// to them until the end, so that none changes hands meanwhile.
func (t *transaction) readChannels() error {
	var list []any
	known := t.w.knownStates()
	for _, r := range t.b.requests {
		for _, channel := range r.channels() {
			if _, ok := t.states[channel]; ok {
				continue
			}
			state, ok := known[channel]
			if ok = ok && (t.w.s.alone || t.b.hopeful); ok {
				t.states[channel] = state
			} else {
				t.states[channel] = channelState{}
			}
			if !ok || t.b.hopeful {
				list = append(list, int64(channel))
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b any) int { return int(a.(int64) - b.(int64)) })
	if t.b.hopeful {
		return t.owned(list)
	}
	var found []channelState
	err := t.tx.SelectContext(t.w.ctx, &found,
		"SELECT c.id, c.deleting, c.deleted, COALESCE(l.owner, '') AS owner, COALESCE(l.epoch, 0) AS epoch, "+
			"COALESCE(l.expires_at > "+t.w.s.database.Now()+", 0) AS live, "+
			"COALESCE((SELECT batch FROM writers WHERE start_number = ?), 0) AS mark "+
			"FROM channels c LEFT JOIN leases l ON l.channel_id = c.id WHERE c.id IN "+marks(len(list))+t.w.s.sql.ForShare, append([]any{t.w.start}, list...)...)
	for _, s := range found {
		if s.Mark != t.b.number {
			return fmt.Errorf("the row of this process in writers is gone")
		}
		t.states[weir.ChannelID(s.ID)] = s
		known[weir.ChannelID(s.ID)] = s
	}
	return err
}

// knownStates are the states of channels that were read in earlier batches. Where
// this process is alone they cannot have changed: a transaction that could have
// changed one counts itself before it is committed, and this one began after that.
func (w *writer) knownStates() map[weir.ChannelID]channelState {
	now := w.s.writes.Load()
	if w.states == nil || w.s.alone && w.asOf != now {
		w.states, w.asOf = map[weir.ChannelID]channelState{}, now
	}
	return w.states
}

// emit has events written as the last step of the batch; they get their ids
// then.
func (t *transaction) emit(list ...events.Event) { t.events = append(t.events, list...) }

// work does what requests bring beside contacts.
func (t *transaction) work() error {
	for _, r := range t.b.requests {
		if r.work == nil {
			continue
		}
		if err := r.work.write(t, r); err != nil {
			return err
		}
	}
	return nil
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
	return t.later("INSERT INTO channel_counts (channel_id, queued) VALUES "+rowsOf(len(args)/2, 2)+t.w.s.text.addCounts, args...)
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
	return t.later(t.w.s.text.insertInbox+rowsOf(len(args)/5, 5)+t.w.s.text.renewWake, args...)
}

// payload is never NULL.
func payload(p []byte) []byte {
	if p == nil {
		return []byte{}
	}
	return p
}
