package people

import (
	"context"
	"math/bits"
	"slices"
	"strings"
	"time"

	"weir/internal/failpoint"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
)

// consentStore keeps what people said.
type consentStore struct {
	*commit.DB
	*keyring
	said known // who has a state
	// Used on the writer's goroutine only.
	refused bool // there may be refusals
	looked  bool // refused was read
}

// findRefusals finds out, once, whether there may be refusals.
func (s *consentStore) findRefusals(t *commit.Tx) error {
	if s.looked { // from then on this owner itself writes every refusal
		return nil
	}
	var there int64
	if err := t.Get(&there, "SELECT COUNT(*) FROM (SELECT 1 FROM consent_states LIMIT 1) AS some"); err != nil {
		return err
	}
	s.looked, s.refused = true, s.refused || there > 0
	return nil
}

// RecordConsents implements [people.Store].
func (s *consentStore) RecordConsents(ctx context.Context, list []people.Consent) ([]people.State, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if err := s.opened(); err != nil {
		return nil, err
	}
	w := &record{s: s, list: list}
	call, err := s.NewCall(ctx, w.request())
	if err != nil {
		return nil, err
	}
	failpoint.Hit("consent.before")
	call.Submit(nil)
	if err := call.Wait(); err != nil {
		return nil, err
	}
	failpoint.Hit("consent.committed")
	return w.states, nil
}

// record is the work of [consentStore.RecordConsents].
type record struct {
	s      *consentStore
	list   []people.Consent
	states []people.State
}

type stateKey struct {
	hash    people.Hash
	purpose string
}

// Write implements [commit.Work].
func (w *record) Write(t *commit.Tx, r *commit.Request) error {
	t.GiveIDs(r, len(w.list))
	for i := range w.list {
		w.list[i].ID = r.IDs[i]
	}
	return w.write(t, r.At)
}

// write records consents, which have their ids, at an instant.
func (w *record) write(t *commit.Tx, at time.Time) error {
	w.states = make([]people.State, len(w.list))
	hashes := make([][]people.Hash, len(w.list)) // of each consent
	for i := range w.list {
		hashes[i] = w.s.hashes(w.list[i].Address)
	}
	states, err := w.s.states(t, slices.Concat(hashes...))
	if err != nil {
		return err
	}
	known, err := w.known(t, hashes, states)
	if err != nil {
		return err
	}
	var rows, changed []any
	fresh := map[stateKey]people.State{}
	for i := range w.list {
		c := w.list[i]
		own := hashes[i]
		now := stateOf(states, own, c.Purpose)
		if known.has(own, c.Key) {
			w.states[i] = now
			continue
		}
		var theirs []people.State
		for _, h := range own {
			theirs = append(theirs, states[h]...)
		}
		c.Follow(theirs, at)
		c.At = columns.Instant(columns.Micros(c.At)) // as it is stored
		if c.Erased {
			c.Address, c.Words = "", ""
		}
		hash := own[0]
		known[recordKey{hash, c.Key}] = true
		rows = append(rows, c.ID, hash[:], w.s.keys[0].ID(), columns.TextOrNull(c.Key), columns.ClipTo(c.Address, maxAddress), c.Purpose, string(c.Status), string(c.Source),
			columns.Micros(c.At), columns.ClipTo(c.Words, maxWords), columns.ClipTo(c.By, maxActor))
		next := people.Next(now, &c)
		w.states[i] = next
		states.put(hash, next)
		fresh[stateKey{hash, c.Purpose}] = next
		w.s.refused = w.s.refused || next.Status == people.Refused
	}
	for k, n := range fresh {
		w.s.said.add(k.hash)
		changed = append(changed, k.hash[:], k.purpose, string(n.Status), string(n.Source), columns.Micros(n.At), n.Version)
	}
	if w.s.refused {
		t.RequireStep(consentsStep)
	}
	insertRows(t, "INSERT INTO consents ("+consentColumns+") VALUES ", "", rows, consentWidth)
	insertRows(t, "INSERT INTO consent_states ("+stateColumns+") VALUES ", w.s.mergeStates(), changed, stateWidth)
	return nil
}

// insertRows inserts rows in statements of one size, which are prepared once; the rest in one
// of its own.
func insertRows(t *commit.Tx, head, tail string, args []any, width int) {
	for part := range slices.Chunk(args, width*chunkRows) {
		add := t.Add
		if len(part) < width*chunkRows {
			add = t.AddOnce
		}
		add(head+columns.RowsOf(len(part)/width, width)+tail, part...)
	}
}

const (
	consentColumns = "id, hash, key_id, ckey, addr, purpose, status, source, said_at, words, actor"
	consentWidth   = 11
	stateColumns   = "hash, purpose, status, source, said_at, version"
	statesTable    = "consent_states"
	stateWidth     = 6
	chunkRows      = 200
	maxAddress     = 255
	maxWords       = 500
	maxActor       = 100
)

// mergeStates ends an INSERT of states: a new one replaces the old one.
func (s *consentStore) mergeStates() string {
	var set []string
	for _, c := range []string{"status", "source", "said_at", "version"} {
		set = append(set, c+" = "+s.Dialect.Fresh(c))
	}
	return s.Dialect.Merge("hash", "purpose") + strings.Join(set, ", ")
}

// statesOf are states, by the hash of the address.
type statesOf map[people.Hash][]people.State

// put replaces the state of an address for a purpose.
func (s statesOf) put(h people.Hash, next people.State) {
	for i := range s[h] {
		if s[h][i].Purpose == next.Purpose {
			s[h][i] = next
			return
		}
	}
	s[h] = append(s[h], next)
}

// stateOf returns the present state of a person, who has these hashes, for a purpose: the
// latest under any key of addresses.
func stateOf(states statesOf, hashes []people.Hash, purpose string) (now people.State) {
	for _, h := range hashes {
		for _, is := range states[h] {
			if is.Purpose == purpose && is.At.After(now.At) {
				now = is
			}
		}
	}
	return now
}

// recordKey is the idempotency key of a consent, which counts for its address.
type recordKey struct {
	hash people.Hash
	key  string
}

type recordKeys map[recordKey]bool

// has reports whether a consent with this key is recorded of a person.
func (k recordKeys) has(hashes []people.Hash, key string) bool {
	return key != "" && slices.ContainsFunc(hashes, func(h people.Hash) bool { return k[recordKey{h, key}] })
}

// known returns which of the keys of the consents were recorded before. Whoever has no state
// has no record, so that a new list of addresses costs no statement.
func (w *record) known(t *commit.Tx, hashes [][]people.Hash, states statesOf) (recordKeys, error) {
	var args []any
	for i := range hashes {
		for _, h := range hashes[i] {
			if key := w.list[i].Key; key != "" && len(states[h]) > 0 {
				args = append(args, h[:], key)
			}
		}
	}
	known := recordKeys{}
	for part := range slices.Chunk(args, 2*columns.KeysPerList) {
		var rows []struct {
			Hash []byte `db:"hash"`
			Key  string `db:"ckey"`
		}
		if err := t.SelectContext(t.Ctx, &rows, knownSQL(len(part)/2), part...); err != nil {
			return nil, err
		}
		for _, r := range rows {
			known[recordKey{people.Hash(r.Hash), r.Key}] = true
		}
	}
	return known, nil
}

// knownSQL reads which of n pairs of a hash and a key are recorded.
func knownSQL(n int) string {
	return "SELECT hash, ckey FROM consents WHERE hash = ? AND ckey = ?" + strings.Repeat(" OR hash = ? AND ckey = ?", n-1)
}

type stateRow struct {
	Hash    []byte `db:"hash"`
	Purpose string `db:"purpose"`
	Status  string `db:"status"`
	Source  string `db:"source"`
	SaidAt  int64  `db:"said_at"`
	Version int64  `db:"version"`
}

func (r *stateRow) state() people.State {
	return people.State{Purpose: r.Purpose, Status: people.Status(r.Status), Source: people.Source(r.Source), At: columns.Instant(r.SaidAt), Version: r.Version}
}

// selectFew reads rows by a text that is one of few, so that the writer prepares it.
func selectFew(ctx context.Context, from dialect.Reader, dest any, text string, args []any) error {
	if t, ok := from.(*commit.Tx); ok {
		return t.Select(dest, text, args...)
	}
	return from.SelectContext(ctx, dest, text, args...)
}

// hashList returns hashes as arguments of a list: a power of two of them, or as many as a list
// may have, so that there are few texts. The last one may come several times.
func hashList(hashes []people.Hash) []any {
	n := min(1<<bits.Len(uint(len(hashes)-1)), columns.KeysPerList)
	args := make([]any, n, n+2)
	for i := range args {
		args[i] = hashes[min(i, len(hashes)-1)][:]
	}
	return args
}

// statesSQL reads the states of n hashes.
func statesSQL(n int) string {
	return "SELECT " + stateColumns + " FROM consent_states WHERE hash IN " + columns.Marks(n)
}

func readStates(ctx context.Context, from dialect.Reader, hashes []people.Hash) ([]stateRow, error) {
	var all []stateRow
	for part := range slices.Chunk(hashes, columns.KeysPerList) {
		args := hashList(part)
		var rows []stateRow
		if err := selectFew(ctx, from, &rows, statesSQL(len(args)), args); err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// states reads the states of addresses, inside a batch.
func (s *consentStore) states(t *commit.Tx, hashes []people.Hash) (statesOf, error) {
	rows, err := readStates(t.Ctx, t, s.said.of(hashes))
	out := make(statesOf, len(rows))
	for i := range rows {
		out.put(people.Hash(rows[i].Hash), rows[i].state())
	}
	return out, err
}

// consentRow is a row of consents, without its hash.
type consentRow struct {
	ID      int64   `db:"id"`
	Key     *string `db:"ckey"`
	Address string  `db:"addr"`
	Purpose string  `db:"purpose"`
	Status  string  `db:"status"`
	Source  string  `db:"source"`
	SaidAt  int64   `db:"said_at"`
	Words   string  `db:"words"`
	Actor   string  `db:"actor"`
}

const readConsents = "SELECT id, ckey, addr, purpose, status, source, said_at, words, actor FROM consents WHERE "

func consentsOf(rows []consentRow) []people.Consent {
	list := make([]people.Consent, len(rows))
	for i, r := range rows {
		list[i] = people.Consent{
			ID: r.ID, Address: r.Address, Purpose: r.Purpose, Status: people.Status(r.Status), Source: people.Source(r.Source),
			At: columns.Instant(r.SaidAt), Words: r.Words, By: r.Actor,
		}
		if r.Key != nil {
			list[i].Key = *r.Key
		}
	}
	return list
}

// Consents implements [people.Store].
func (s *consentStore) Consents(ctx context.Context, address string, limit int) ([]people.State, []people.Consent, error) {
	rows, err := readStates(ctx, s.Read, s.hashes(address))
	if err != nil {
		return nil, nil, s.Failure("read the states of a person", err)
	}
	var states []people.State
	for i := range rows {
		states = append(states, rows[i].state())
	}
	args := s.hashArguments(address)
	var found []consentRow
	err = s.Read.SelectContext(ctx, &found, readConsents+"hash IN "+columns.Marks(len(args))+" ORDER BY id DESC LIMIT ?", append(args, limit)...)
	if err != nil {
		return nil, nil, s.Failure("read the consents of a person", err)
	}
	return states, consentsOf(found), nil
}

// AllConsents implements [people.Store].
func (s *consentStore) AllConsents(ctx context.Context, after int64, limit int) ([]people.Consent, error) {
	var found []consentRow
	if err := s.Read.SelectContext(ctx, &found, readConsents+"id > ? ORDER BY id LIMIT ?", after, limit); err != nil {
		return nil, s.Failure("read consents", err)
	}
	return consentsOf(found), nil
}

// Erase implements [people.Store].
func (s *consentStore) Erase(ctx context.Context, address string) (int, error) {
	w := &erasure{s: s, address: address}
	err := s.DB.Change(ctx, w)
	return int(w.erased), err
}

// erasure is the work of [consentStore.Erase].
type erasure struct {
	s       *consentStore
	address string
	erased  int64
}

// Write implements [commit.Work].
func (w *erasure) Write(t *commit.Tx, _ *commit.Request) (err error) {
	args := w.s.hashArguments(w.address)
	who := " WHERE hash IN " + columns.Marks(len(args)) + " AND addr <> ''"
	// What a provider has sent keeps its key, a digest that Weir has made: a repetition brings nothing back.
	t.AddOnce("UPDATE undecided_messages SET addr = '', words = '', found = '', decision = 'erased'"+who, args...)
	w.erased, err = t.Exec("UPDATE consents SET addr = '', words = '', ckey = CASE WHEN source IN ('word', 'provider') THEN ckey END"+who, args...)
	return err
}
