package persistence

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/events"
	"weir/persistence/dialect"
)

// errOutdated reports that the state of a contact was another than expected: the
// transaction is repeated without that assumption.
var errOutdated = errors.New("cached state is out of date")

// transaction is one try to write a batch: a few statements, however many
// contacts there are.
//
// An optimistic try assumes that the channels are as they were read last, that no key
// is taken and that contacts wait where their transitions say. The database rejects it
// if one of that is wrong; the next try reads and locks what it needs. Where round
// trips count, an optimistic try is one.
type transaction struct {
	w          *writer
	tx         *sqlx.Tx
	b          *batch
	now        time.Time
	optimistic bool
	states     map[weir.ChannelID]channelState
	counts     map[weir.ChannelID]delta
	wakes      []weir.ChannelID // channels with another owner
	events     []events.Event   // to be announced
}

// delta is by how much the counters of a channel change.
type delta struct{ queued, inFlight int64 }

// channelState holds the fields of a channel that a batch needs.
type channelState struct {
	ID       int64  `db:"id"`
	Deleting bool   `db:"deleting"`
	Deleted  bool   `db:"deleted"`
	Owner    string `db:"owner"`
	Epoch    int64  `db:"epoch"`
	Live     bool   `db:"live"`
	Mark     int64  `db:"mark"` // the number of the batch that read it
	Fence    int64  `db:"fence"`
}

// transactAll repeats a transaction that has found why it has to be done in another
// way: with a look at the database first, or without some requests.
func (w *writer) transactAll(b *batch) error {
	for _, r := range b.requests {
		r.refusal = nil
	}
	b.verify = false
	for {
		err := w.transact(b)
		switch {
		case err == nil || b.inDoubt:
			return err
		case errors.Is(err, errReused):
		case !b.verify && (errors.Is(err, errOutdated) || b.optimistic && w.isFault(err)):
			b.verify, w.owned = true, nil
		default:
			return err
		}
	}
}

// isFault reports whether the database rejected a statement.
func (w *writer) isFault(err error) bool {
	kind, _ := w.s.classify(err)
	return kind == dialect.Fault
}

func newTransaction(w *writer, tx *sqlx.Tx, b *batch) *transaction {
	return &transaction{
		w: w, tx: tx, b: b, now: time.Now(),
		states: map[weir.ChannelID]channelState{}, counts: map[weir.ChannelID]delta{},
	}
}

func (t *transaction) run() error {
	for _, r := range t.b.requests {
		r.outcome = outcome{}
	}
	t.b.outbox, t.b.announced, t.b.wrote = false, false, landing{}
	for _, step := range []func() error{t.mark, t.work, t.accept, t.change, t.dropFlights, t.count, t.deliver, t.writeEvents} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) exec(text string, args ...any) (int64, error) {
	return t.w.cache.exec(t.w.ctx, t.tx, text, args...)
}

// later runs a statement whose number of rows is not needed. Where that saves a
// round trip it is sent with the next one.
func (t *transaction) later(text string, args ...any) error {
	return t.w.cache.later(t.w.ctx, t.tx, text, args...)
}

// get reads one number by a statement that is one of few texts.
func (t *transaction) get(n *int64, text string, args ...any) error {
	return t.w.cache.get(t.w.ctx, t.tx, n, text, args...)
}

// mark records the number of this batch, in case that COMMIT breaks, and makes sure
// that the states of the channels concerned are known until the end. It is the first
// statement, whatever else is sent with it: [writer.committed] waits for its row, and an
// optimistic batch that the server executes late is rejected by it.
func (t *transaction) mark() error {
	list := t.channels()
	t.optimistic = !t.b.verify && t.w.owned != nil
	for _, id := range list {
		state, ok := t.w.owned[id]
		t.states[id] = state
		t.optimistic = t.optimistic && ok
	}
	if t.b.optimistic = t.optimistic; t.optimistic {
		return t.later(t.w.s.text.markFenced, t.w.fence, t.b.number, t.w.start)
	}
	if err := t.later(t.w.s.text.mark, t.b.number, t.w.start); err != nil {
		return err
	}
	if len(list) > 0 {
		return t.readChannels(list)
	}
	var fence int64
	if err := t.get(&fence, t.w.s.text.fence, t.w.start); err != nil {
		return err
	}
	t.w.learn(fence)
	return nil
}

// channels lists the channels of the batch.
func (t *transaction) channels() []weir.ChannelID {
	seen := map[weir.ChannelID]bool{}
	var list []weir.ChannelID
	for _, r := range t.b.requests {
		for _, channel := range r.channels() {
			if !seen[channel] {
				seen[channel] = true
				list = append(list, channel)
			}
		}
	}
	slices.Sort(list)
	return list
}

// readChannels reads channels and their leases and locks them until the end. It
// remembers those of this process: whoever changes one of them changes the fence of
// its owner in the same transaction.
func (t *transaction) readChannels(list []weir.ChannelID) error {
	var found []channelState
	err := t.tx.SelectContext(t.w.ctx, &found,
		"SELECT c.id, c.deleting, c.deleted, COALESCE(l.owner, '') AS owner, COALESCE(l.epoch, 0) AS epoch, "+
			"COALESCE(l.expires_at > "+t.w.s.database.Now()+", 0) AS live, COALESCE(w.batch, 0) AS mark, COALESCE(w.fence, 0) AS fence "+
			"FROM channels c LEFT JOIN leases l ON l.channel_id = c.id LEFT JOIN writers w ON w.start_number = ? WHERE c.id IN "+marks(len(list))+t.w.s.sql.ForShare,
		append([]any{t.w.start}, arguments(list)...)...)
	if err != nil {
		return err
	}
	clear(t.states)
	for _, s := range found {
		if s.Mark != t.b.number {
			return errors.New("the row of this process in writers is gone")
		}
		t.w.learn(s.Fence)
		id := weir.ChannelID(s.ID)
		if t.states[id] = s; s.Owner == t.w.s.owner && !s.Deleting && !s.Deleted {
			t.w.owned[id] = s
		}
	}
	return nil
}

// emit adds events, which are written as the last step of the batch and get their
// ids then.
func (t *transaction) emit(list ...events.Event) { t.events = append(t.events, list...) }

// work does the works of requests.
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

// count adds to the counters of channels.
func (t *transaction) count() error {
	var args []any
	for _, channel := range slices.Sorted(maps.Keys(t.counts)) {
		if d := t.counts[channel]; d != (delta{}) {
			args = append(args, int64(channel), d.queued, d.inFlight)
		}
	}
	return t.insertCounts(args, len(args)/3)
}

func (t *transaction) insertCounts(args []any, n int) error {
	if n == 0 {
		return nil
	}
	return t.later("INSERT INTO channel_counts (channel_id, queued, in_flight) VALUES "+rowsOf(n, 3)+t.w.s.text.addCounts, args...)
}

// deliver writes inbox items: those of requests, and a wake for each channel
// that got contacts here and has its owner elsewhere. An existing wake item takes a
// new id, so that deleting the old one does not lose it.
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
