package people

import (
	"context"
	"slices"
	"strconv"
	"time"

	"weir"
	"weir/internal/failpoint"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/contacts"
)

// Queue inserts contacts in the batch of a work of another package.
type Queue interface {
	InsertContacts(t *commit.Tx, list []contacts.Insertion) error
}

// messageStore records what messages from people say, and answers them.
type messageStore struct {
	*commit.DB
	*keyring
	consents *consentStore
	purposes *purposeStore
	history  *historyStore
	queue    Queue // takes the answers
	// strangers were answered by each channel, since this process owns the database. The writer alone uses it.
	strangers map[weir.ChannelID]*people.Strangers
}

// Hear implements [people.Messages].
func (s *messageStore) Hear(ctx context.Context, m *people.Message) ([]weir.Contact, error) {
	if err := s.opened(); err != nil {
		return nil, err
	}
	w := &hearing{s: s, m: m}
	r := &commit.Request{Work: w, Rows: 4, Bytes: 2000}
	if _, _, text := people.AnswerTo(m, s.purposes.Purposes()); text != "" {
		r.Channels = []weir.ChannelID{m.Channel}
	}
	call, err := s.NewCall(ctx, r)
	if err != nil {
		return nil, err
	}
	failpoint.Hit("consent.before")
	call.Submit(nil)
	if err := call.Wait(); err != nil {
		return nil, err
	}
	failpoint.Hit("consent.committed")
	if w.accepted.Contact.ID == 0 {
		return nil, nil
	}
	return []weir.Contact{w.accepted.Contact}, nil
}

// hearing is the work of [messageStore.Hear].
type hearing struct {
	s        *messageStore
	m        *people.Message
	accepted weir.Accepted // the answer; zero: none
}

// Write implements [commit.Work].
func (w *hearing) Write(t *commit.Tx, r *commit.Request) error {
	t.GiveIDs(r, 2) // of what is recorded, and of the answer
	w.accepted = weir.Accepted{}
	if w.m.Said == people.SaidMaybe {
		return w.doubt(t, r)
	}
	owner := weir.Owner{}
	if c, ok := w.m.Consent(); ok {
		c.ID = r.IDs[0]
		recording := &record{s: w.s.consents, list: []people.Consent{c}}
		if err := recording.write(t, r.At); err != nil {
			return err
		}
		// A repetition, and a message that something later overrules, are not confirmed.
		if now := recording.states[0]; now.Version != c.ID || now.Status != people.Refused {
			return nil
		}
		owner = weir.Confirming(c.ID)
	}
	return w.answer(t, r, owner)
}

// answer queues the answer to the message, unless the person had one of its kind lately.
func (w *hearing) answer(t *commit.Tx, r *commit.Request, owner weir.Owner) error {
	kind, purpose, text := people.AnswerTo(w.m, w.s.purposes.now().live)
	taken := slices.Contains(r.Channels, w.m.Channel) && t.Admits(w.m.Channel) == nil
	if text == "" || !taken {
		return nil
	}
	had, err := w.answered(t, kind, r.At)
	if err != nil || had {
		return err
	}
	known := w.m.Known
	if !known {
		if known, err = w.s.history.contactedSince(t, w.m.From, r.At.Add(-people.ContactedWithin)); err != nil {
			return err
		}
	}
	if !known && !w.s.admit(w.m.Channel, r.At) {
		return nil
	}
	hash := w.s.keys[0].History(w.m.From)
	t.Add("INSERT INTO person_answers (hash, kind, answered_at, mkey) VALUES "+columns.Marks(4)+w.s.Dialect.Merge("hash", "kind")+
		"answered_at = "+w.s.Dialect.Fresh("answered_at")+", mkey = "+w.s.Dialect.Fresh("mkey"), hash[:], string(kind), columns.Micros(r.At), w.m.Key)
	spec := weir.Spec{To: w.m.ReplyTo, Priority: weir.Reply, Messages: []string{text}, Purpose: purpose, Owner: owner}
	fresh := contacts.NewContact(weir.Ref{Channel: w.m.Channel, ID: weir.ContactID(r.IDs[1])}, spec, r.At)
	return w.s.queue.InsertContacts(t, []contacts.Insertion{{Contact: fresh, Into: &w.accepted}})
}

// admit reports whether a channel answers one more stranger.
func (s *messageStore) admit(channel weir.ChannelID, now time.Time) bool {
	if s.strangers == nil {
		s.strangers = map[weir.ChannelID]*people.Strangers{}
	}
	if s.strangers[channel] == nil {
		s.strangers[channel] = &people.Strangers{}
	}
	return s.strangers[channel].Admit(now)
}

// answered reports whether the person had an answer of a kind lately, or to this message.
func (w *hearing) answered(t *commit.Tx, kind people.Answer, now time.Time) (bool, error) {
	for _, k := range w.s.keys {
		hash := k.History(w.m.From)
		var rows []struct {
			At  int64  `db:"answered_at"`
			Key string `db:"mkey"`
		}
		if err := t.SelectContext(t.Ctx, &rows, "SELECT answered_at, mkey FROM person_answers WHERE hash = ? AND kind = ?", hash[:], string(kind)); err != nil {
			return false, err
		}
		for _, r := range rows {
			if now.Sub(columns.Instant(r.At)) < people.AnswerEvery || w.m.Key != "" && r.Key == w.m.Key {
				return true, nil
			}
		}
	}
	return false, nil
}

// doubt keeps a message for a decision. Of a person who has refused already there is nothing
// to decide.
func (w *hearing) doubt(t *commit.Tx, r *commit.Request) error {
	var known int64
	hashes := w.s.hashArguments(w.m.From)
	if err := t.Get(&known, "SELECT COUNT(*) FROM undecided_messages WHERE mkey = ? AND hash IN "+columns.Marks(len(hashes)), append([]any{w.m.Key}, hashes...)...); err != nil {
		return err
	}
	states, err := readStates(t.Ctx, t, w.s.hashes(w.m.From))
	if err != nil {
		return err
	}
	var list []people.State
	for i := range states {
		list = append(list, states[i].state())
	}
	if refused, _ := people.Decide(list, people.AllPurposes); refused || known > 0 && w.m.Key != "" {
		return nil
	}
	hash := w.s.keys[0].Hash(w.m.From)
	t.Add("INSERT INTO undecided_messages (id, hash, mkey, addr, channel, words, found, said_at, decision, decided_at, actor) VALUES "+columns.Marks(11),
		r.IDs[0], hash[:], columns.TextOrNull(w.m.Key), columns.ClipTo(w.m.From, maxAddress), columns.ClipTo(w.m.Name, maxActor), columns.ClipTo(w.m.Text, maxWords),
		columns.ClipTo(w.m.Found, maxActor), columns.Micros(w.m.At), "", 0, "")
	return nil
}

// undecidedRow is a row of undecided_messages.
type undecidedRow struct {
	ID       int64  `db:"id"`
	Address  string `db:"addr"`
	Channel  string `db:"channel"`
	Text     string `db:"words"`
	Found    string `db:"found"`
	SaidAt   int64  `db:"said_at"`
	Decision string `db:"decision"`
}

func (r *undecidedRow) message() people.Undecided {
	return people.Undecided{ID: r.ID, Address: r.Address, Channel: r.Channel, Text: r.Text, Found: r.Found, At: columns.Instant(r.SaidAt)}
}

const (
	readUndecided      = "SELECT id, addr, channel, words, found, said_at, decision FROM undecided_messages WHERE "
	undecidedSQL       = readUndecided + "decision = '' AND id > ? ORDER BY id LIMIT ?"
	countUndecidedSQL  = "SELECT COUNT(*) FROM (SELECT 1 FROM undecided_messages WHERE decision = '' LIMIT ?) AS part"
	oldestUndecidedSQL = "SELECT COALESCE(MAX(said_at), 0) FROM (SELECT said_at FROM undecided_messages WHERE said_at < ? ORDER BY said_at LIMIT ?) AS part"
)

// Undecided implements [people.Messages].
func (s *messageStore) Undecided(ctx context.Context, after int64, limit int) ([]people.Undecided, error) {
	var rows []undecidedRow
	if err := s.Read.SelectContext(ctx, &rows, undecidedSQL, after, limit); err != nil {
		return nil, s.Failure("read undecided messages", err)
	}
	list := make([]people.Undecided, len(rows))
	for i := range rows {
		list[i] = rows[i].message()
	}
	return list, nil
}

// CountUndecided implements [people.Messages].
func (s *messageStore) CountUndecided(ctx context.Context, limit int) (n int, _ error) {
	err := s.Read.GetContext(ctx, &n, countUndecidedSQL, limit)
	return n, s.Failure("count undecided messages", err)
}

// Decide implements [people.Messages].
func (s *messageStore) Decide(ctx context.Context, id int64, d people.Decision, by string) (people.Undecided, people.State, error) {
	w := &decision{s: s, id: id, decision: d, by: by}
	err := s.DB.Change(ctx, w)
	return w.message, w.state, err
}

// decision is the work of [messageStore.Decide].
type decision struct {
	s        *messageStore
	id       int64
	decision people.Decision
	by       string

	message people.Undecided
	state   people.State
}

// Write implements [commit.Work].
func (w *decision) Write(t *commit.Tx, r *commit.Request) error {
	t.GiveIDs(r, 1)
	var rows []undecidedRow
	if err := t.SelectContext(t.Ctx, &rows, readUndecided+"id = ? AND addr <> ''", w.id); err != nil {
		return err
	}
	if len(rows) == 0 {
		r.Refuse(weir.Errorf(weir.CodeNotFound, "there is no such message; it may have been deleted after its retention"))
		return nil
	}
	w.message = rows[0].message()
	if was := people.Decision(rows[0].Decision); was != "" && was != w.decision {
		r.Refuse(weir.Errorf(weir.CodeConflict, "it is decided already: %s", was))
		return nil
	}
	if w.decision == people.DecidedRefused {
		recording := &record{s: w.s.consents, list: []people.Consent{{
			ID: r.IDs[0], Key: "message-decided:" + strconv.FormatInt(w.id, 10), Address: w.message.Address, Purpose: people.AllPurposes, Status: people.Refused,
			Source: people.FromOperator, At: w.message.At, Words: w.message.Text, By: w.by, Late: true, Heard: w.id,
		}}}
		if err := recording.write(t, r.At); err != nil {
			return err
		}
		w.state = recording.states[0]
	}
	if rows[0].Decision != "" {
		return nil
	}
	set := "UPDATE undecided_messages SET decision = ?, decided_at = ?, actor = ? WHERE decision = '' AND "
	args := []any{string(w.decision), columns.Micros(r.At), columns.ClipTo(w.by, maxActor)}
	t.Add(set+"id = ?", append(slices.Clone(args), w.id)...)
	if w.decision == people.DecidedRefused {
		hashes := w.s.hashArguments(w.message.Address)
		t.AddOnce(set+"hash IN "+columns.Marks(len(hashes)), append(args, hashes...)...)
	}
	return nil
}

// PurgeUndecided implements [people.Messages].
func (s *messageStore) PurgeUndecided(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := purge(ctx, s.DB, oldestUndecidedSQL, "DELETE FROM undecided_messages WHERE said_at <= ?", before, limit)
	return n, s.Failure("purge undecided messages", err)
}
