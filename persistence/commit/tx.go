package commit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"weir"
	"weir/events"
	"weir/persistence/columns"
	"weir/persistence/dialect"
)

// ErrOutdated reports that the state of a contact was another than expected: the
// transaction is repeated without that assumption.
var ErrOutdated = errors.New("cached state is out of date")

// Tx is one try to write a batch: a few statements, however many contacts there are.
//
// An optimistic try assumes that the channels are as they were read last, that no key
// is taken and that contacts wait where their transitions say. The database rejects it
// if one of that is wrong; the next try reads and locks what it needs. Where round
// trips count, an optimistic try is one.
type Tx struct {
	w          *writer
	sql        dialect.Transaction
	list       []dialect.Statement // that are sent with the next one whose result is needed
	Ctx        context.Context     // of statements
	b          *batch
	Now        time.Time
	Optimistic bool
	states     map[weir.ChannelID]ChannelState
	events     []events.Event // to be written
}

// WritesContactEvents reports whether this batch writes events of contacts. It is known of
// batches with channels, and exact: enabling them changes the fence of the writer.
func (t *Tx) WritesContactEvents() bool { return t.w.s.WritesContactEvents(t.w.contactEvents) }

// WritesContactEvents reports whether events of contacts are written, given whether
// [events.Interest] has enabled them.
func (s *DB) WritesContactEvents(enabled bool) bool {
	return s.ContactEvents == events.Always || enabled && s.ContactEvents != events.Never
}

// ContactEventsEnabledSQL is an expression: 1 if [events.Interest] has enabled the events
// of contacts.
const ContactEventsEnabledSQL = "(SELECT value FROM meta WHERE name = 'contact_events')"

// epochSQL is an expression: the number of the latest ownership of the database.
const epochSQL = "(SELECT value FROM meta WHERE name = 'epoch')"

// Part is the share of one package in all batches: what can be written for all requests
// at once. Everything is called on the writer's goroutine, which writes one batch after
// the other.
type Part interface {
	// Begin forgets what an earlier try has collected.
	Begin()
	// Flush writes what the works of a batch have collected.
	Flush(t *Tx) error
	// Committed is called when the latest try was committed, before the requests are
	// answered.
	Committed()
}

// ChannelState holds the fields of a channel that a batch needs.
type ChannelState struct {
	ID       int64  `db:"id"`
	Deleting bool   `db:"deleting"`
	Deleted  bool   `db:"deleted"`
	Name     string `db:"name"`
	Epoch    int64  `db:"epoch"` // of the owner of the database
	Fence    int64  `db:"fence"` // negative: the process has no row in writers
	// ContactEvents reports whether events of contacts are enabled.
	ContactEvents bool `db:"contact_events"`
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
		if err == nil || b.inDoubt {
			return err
		}
		kind, _ := w.s.Classify(err)
		switch {
		case errors.Is(err, errExcluded):
		case !b.verify && (errors.Is(err, ErrOutdated) || b.optimistic && kind == dialect.Fault):
			b.verify, w.known = true, nil
		default:
			return err
		}
	}
}

func (t *Tx) run() error {
	t.b.row = 0
	if err := t.lock(); err != nil {
		return err
	}
	t.b.incarnations, t.b.changed = nil, nil
	parts := t.w.s.parts
	for _, p := range parts {
		p.Begin()
	}
	for _, r := range t.b.requests {
		if r.err = r.refusal; r.err != nil {
			continue
		}
		if err := r.Work.Write(t, r); err != nil {
			return err
		}
	}
	for _, p := range parts {
		if err := p.Flush(t); err != nil {
			return err
		}
	}
	if t.b.row == 0 {
		return errors.New("no part has written the row of the batch")
	}
	return nil
}

// Add adds a statement, one of few texts, which returns no rows and whose result is not
// needed. It is sent with the next one whose result is, or with COMMIT, and so is its error
// returned there. The arguments are copied.
func (t *Tx) Add(text string, args ...any) {
	t.list = append(t.list, dialect.Statement{Text: text, Args: copied(args)})
}

// AddOnce is Add for a text that does not come again.
func (t *Tx) AddOnce(text string, args ...any) {
	t.list = append(t.list, dialect.Statement{Text: text, Args: copied(args), Once: true})
}

// copied returns arguments that a caller can no longer change.
func copied(args []any) []any {
	args = slices.Clone(args)
	for i, a := range args {
		switch a := a.(type) {
		case []byte:
			args[i] = bytes.Clone(a)
		case json.RawMessage:
			args[i] = json.RawMessage(bytes.Clone(a))
		}
	}
	return args
}

// with returns what was added, and a statement behind it.
func (t *Tx) with(s dialect.Statement) []dialect.Statement {
	list := append(t.list, s)
	t.list = nil
	return list
}

// Exec runs a statement, one of few texts, and returns how many rows it changed.
func (t *Tx) Exec(text string, args ...any) (int64, error) {
	return t.sql.Exec(t.Ctx, t.with(dialect.Statement{Text: text, Args: args}))
}

// ExecOnce is Exec for a text that does not come again.
func (t *Tx) ExecOnce(text string, args ...any) (int64, error) {
	return t.sql.Exec(t.Ctx, t.with(dialect.Statement{Text: text, Args: args, Once: true}))
}

// Get reads one number by a statement that is one of few texts.
func (t *Tx) Get(n *int64, text string, args ...any) error {
	return t.sql.Get(t.Ctx, n, t.with(dialect.Statement{Text: text, Args: args}))
}

// Select reads rows by a query that is one of few texts.
func (t *Tx) Select(dest any, text string, args ...any) error {
	return t.sql.Select(t.Ctx, dest, t.with(dialect.Statement{Text: text, Args: args}))
}

// SelectContext implements [dialect.Reader].
func (t *Tx) SelectContext(ctx context.Context, dest any, text string, args ...any) error {
	return t.sql.Select(ctx, dest, t.with(dialect.Statement{Text: text, Args: args, Once: true}))
}

// GetContext implements [dialect.Reader].
func (t *Tx) GetContext(ctx context.Context, dest any, text string, args ...any) error {
	return t.sql.Get(ctx, dest, t.with(dialect.Statement{Text: text, Args: args, Once: true}))
}

// lock makes sure that the states of the channels concerned are known until the end. An
// optimistic try has nothing to read: its row is refused if they have changed; see [Tx.Log].
// Any other try locks the fence of this process first, so that what it reads behind that stays so.
func (t *Tx) lock() error {
	list := t.channels()
	t.Optimistic = !t.b.verify && t.w.known != nil
	for _, id := range list {
		state, ok := t.w.known[id]
		t.states[id] = state
		t.Optimistic = t.Optimistic && ok
	}
	if t.b.optimistic = t.Optimistic; t.Optimistic {
		return nil
	}
	t.Add(t.w.s.text.lock, t.w.s.Start())
	if len(list) > 0 {
		return t.readChannels(list)
	}
	var is ChannelState
	if err := t.GetContext(t.Ctx, &is, t.w.s.text.fence, t.w.s.Start()); err != nil {
		return err
	}
	if is.Epoch != t.w.s.Epoch() {
		return t.w.s.Lose()
	}
	t.w.setFence(is.Fence)
	return nil
}

// channels lists the channels of the batch.
func (t *Tx) channels() []weir.ChannelID {
	seen := map[weir.ChannelID]bool{}
	var list []weir.ChannelID
	for _, r := range t.b.requests {
		for _, channel := range r.Channels {
			if !seen[channel] {
				seen[channel] = true
				list = append(list, channel)
			}
		}
	}
	slices.Sort(list)
	return list
}

// readChannels reads channels and locks them until the end. It remembers them: they are
// changed by requests of this writer alone. Behind the row of this writer, which is held, the
// epoch is that of the owner: another one raises it before it raises the fence.
func (t *Tx) readChannels(list []weir.ChannelID) error {
	var found []ChannelState
	err := t.SelectContext(t.Ctx, &found,
		"SELECT c.id, c.deleting, c.deleted, COALESCE(c.name, c.former_name, '') AS name, COALESCE(w.fence, -1) AS fence, "+
			epochSQL+" AS epoch, "+ContactEventsEnabledSQL+" AS contact_events "+
			"FROM channels c LEFT JOIN writers w ON w.start_number = ? WHERE c.id IN "+columns.Marks(len(list))+t.w.s.Dialect.ForShare,
		append([]any{t.w.s.Start()}, columns.Arguments(list)...)...)
	if err != nil {
		return err
	}
	clear(t.states)
	for _, s := range found {
		switch {
		case s.Fence < 0:
			return errors.New("the row of this process in writers is gone")
		case s.Epoch != t.w.s.Epoch():
			return t.w.s.Lose()
		}
		t.w.setFence(s.Fence)
		t.w.setContactEvents(s.ContactEvents)
		id := weir.ChannelID(s.ID)
		if t.states[id] = s; !s.Deleting && !s.Deleted {
			t.w.known[id] = s
		}
	}
	return nil
}

// Emit adds events, which are written as the last step of the batch and get their
// ids then.
func (t *Tx) Emit(list ...events.Event) { t.events = append(t.events, list...) }

// NextID gives an id for this try.
func (t *Tx) NextID() int64 { return t.w.s.NextID(t.Now) }

// Admits returns an error unless a channel takes contacts.
func (t *Tx) Admits(channel weir.ChannelID) error {
	switch state := t.states[channel]; {
	case state.ID == 0, state.Deleted:
		return weir.Errorf(weir.CodeNotFound, "no such channel")
	case state.Deleting:
		return weir.Errorf(weir.CodeConflict, "the channel is being deleted")
	}
	return nil
}

// GiveIDs gives a request n ids at its first try.
func (t *Tx) GiveIDs(r *Request, n int) {
	if r.IDs != nil {
		return
	}
	r.At = time.Now()
	r.IDs = make([]int64, n)
	for i := range r.IDs {
		r.IDs[i] = t.w.s.NextID(r.At)
	}
}

// IsCurrent reports whether an incarnation is the latest of its channel, inside a batch.
func (t *Tx) IsCurrent(i weir.Incarnation) bool {
	if n, ok := t.b.incarnations[i.Channel]; ok {
		return n == i.Number
	}
	return i.Number != 0 && t.w.incarnations[i.Channel] == i.Number
}

// Changes notes that the request, which is alone in its batch, changes a channel.
func (t *Tx) Changes(id weir.ChannelID) { t.b.changed = append(t.b.changed, id) }

// Channel returns what the batch knows of one of its channels; the zero value: there is
// no such channel.
func (t *Tx) Channel(id weir.ChannelID) ChannelState { return t.states[id] }

// Events returns what was emitted.
func (t *Tx) Events() []events.Event { return t.events }

// Guarded is a statement that has to change a number of rows. Otherwise the batch fails with
// [ErrOutdated], or with an error of the database.
type Guarded struct {
	Rows int64
	Text string // one of few
	Args []any
}

// Log runs guarded statements and writes the row of the batch, which every batch has once, by
// one part: an id of its own, and data about the contacts in flight.
//
// The row shows that the batch was committed, should the answer to COMMIT be lost, and
// its insert keeps a former owner out: it fails unless the fence of this process is the
// one that is known, and locks the fence until the end. It may be anywhere in the transaction.
// If another process takes the database before it, the insert fails, however late the server
// executes it; if after it, taking the database waits. Where a result costs a round trip, it
// also checks how many rows the last of the guarded statements has changed.
func (t *Tx) Log(data []byte, guarded ...Guarded) (id int64, err error) {
	if t.b.row != 0 {
		return 0, errors.New("the batch has its row already")
	}
	text, args := t.w.s.text.log, []any{t.w.fence}
	for i, g := range guarded {
		if t.w.s.Dialect.RowCount != "" && i == len(guarded)-1 {
			t.Add(g.Text, g.Args...)
			text, args = t.w.s.text.logGuarded, append(args, g.Rows)
			break
		}
		did, err := t.Exec(g.Text, g.Args...)
		switch {
		case err != nil:
			return 0, err
		case did != g.Rows:
			return 0, ErrOutdated
		}
	}
	t.b.row = t.NextID()
	t.Add(text, append([]any{t.b.row}, append(args, data, t.w.s.Start())...)...)
	return t.b.row, nil
}

// statements are the texts that are put together once.
type statements struct {
	lock       string
	fence      string
	raiseFence string
	log        string
	logGuarded string
	logged     string
}

func newStatements(d dialect.Statements) statements {
	// The row gets NULL for its data if a condition does not hold, or this process has no row
	// in writers. Its id would not do: SQLite makes one up for NULL.
	log := func(conditions string) string {
		return "INSERT INTO contacts_in_flight (id, data) SELECT ?, CASE WHEN w.fence = ?" + conditions +
			" THEN ? END FROM (SELECT 1 AS one) o LEFT JOIN writers w ON w.start_number = ?" + d.ForShare
	}
	return statements{
		lock:       "UPDATE writers SET fence = fence WHERE start_number = ?",
		fence:      "SELECT fence, " + epochSQL + " AS epoch FROM writers WHERE start_number = ?",
		raiseFence: "UPDATE writers SET fence = fence + 1 WHERE start_number = ?",
		log:        log(""),
		logGuarded: log(" AND " + d.RowCount + " = ?"),
		logged:     "SELECT COUNT(*) FROM contacts_in_flight WHERE id = ?",
	}
}

// Text returns a text that is put together when it is asked for the first time.
func (t *Tx) Text(name dialect.TextName, build func() string) string {
	text, ok := t.w.texts[name]
	if !ok {
		text = build()
		t.w.texts[name] = text
	}
	return text
}

// Dialect returns what the statements of the database look like.
func (t *Tx) Dialect() *dialect.Statements { return &t.w.s.Dialect }
