// Package people keeps what people said about being contacted, and decides about claims by
// it.
//
// # Invariants
//
//   - Consents are written by the writer that commits claims. A batch that begins after a
//     refusal was committed sees it.
//   - States are kept by a keyed hash of the address. A key that states were made with is
//     never forgotten.
package people

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/internal/failpoint"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/contacts"
)

var (
	_ people.Store  = (*Store)(nil)
	_ contacts.Gate = (*Store)(nil)
)

// Store keeps consents.
type Store struct {
	*commit.DB
	keys    []people.Key // the first is that of new states; used after [Store.OpenKeys] only
	refused bool         // there may be refusals; used on the writer's goroutine only
	looked  bool         // refused was read
}

// New returns the consents in a database.
func New(db *commit.DB) *Store { return &Store{DB: db} }

// keyRow is a row of people_keys.
type keyRow struct {
	ID     string `db:"id"`
	Secret string `db:"secret"` // hexadecimal; empty: the key is configured
}

// OpenKeys makes the keys of addresses known: the configured ones, of which the first is
// for new states, or the one that the database has, which the first call makes. It is for
// the owner of the database, before anything is claimed. An error says that a key is
// missing, without which those who refused would be contacted again.
func (s *Store) OpenKeys(ctx context.Context, configured [][]byte) error {
	var rows []keyRow
	if err := s.Read.SelectContext(ctx, &rows, "SELECT id, secret FROM people_keys ORDER BY created_at, id"); err != nil {
		return s.Failure("read the keys of people", err)
	}
	keys := make([]people.Key, 0, len(configured)+len(rows))
	for _, secret := range configured {
		digest := sha256.Sum256(secret) // a text of any length
		keys = append(keys, people.NewKey(digest[:]))
	}
	for _, r := range rows {
		if slices.ContainsFunc(keys, func(k people.Key) bool { return k.ID() == r.ID }) {
			continue
		}
		secret, err := hex.DecodeString(r.Secret)
		if err != nil || len(secret) == 0 {
			var n int64
			if err := s.Read.GetContext(ctx, &n, "SELECT COUNT(*) FROM consents WHERE key_id = ?", r.ID); err != nil {
				return s.Failure("count what a key has hashed", err)
			}
			return fmt.Errorf("the key %s of people is missing: set WEIR_PEOPLE_KEY to it, as before, or add it behind the new one; "+
				"without it %d recorded refusals and consents could not be found, and people who refused would be contacted", r.ID, n)
		}
		keys = append(keys, people.NewKey(secret))
	}
	if len(keys) == 0 {
		secret := make([]byte, 32)
		if _, err := rand.Read(secret); err != nil {
			return err
		}
		keys = append(keys, people.NewKey(secret))
		if err := s.addKey(ctx, keys[0].ID(), hex.EncodeToString(secret)); err != nil {
			return err
		}
	} else if !slices.ContainsFunc(rows, func(r keyRow) bool { return r.ID == keys[0].ID() }) { // a new configured one
		if err := s.addKey(ctx, keys[0].ID(), ""); err != nil {
			return err
		}
	}
	s.keys = keys
	return nil
}

func (s *Store) addKey(ctx context.Context, id, secret string) error {
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO people_keys (id, secret, created_at) VALUES "+columns.Marks(3), id, secret, columns.Micros(time.Now()))
		return err
	})
	return s.Failure("keep a key of people", err)
}

// hashes returns the hashes of an address under every key.
func (s *Store) hashes(address string) []people.Hash {
	out := make([]people.Hash, len(s.keys))
	for i, k := range s.keys {
		out[i] = k.Hash(address)
	}
	return out
}

// RecordConsents implements [people.Store].
func (s *Store) RecordConsents(ctx context.Context, list []people.Consent) ([]people.State, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if len(s.keys) == 0 {
		return nil, weir.Errorf(weir.CodeInternal, "the keys of people were not opened")
	}
	w := &record{s: s, list: list}
	r := &commit.Request{Work: w, Rows: 2 * len(list), Bytes: 400 * len(list)}
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
	return w.states, nil
}

// record is the work of [Store.RecordConsents].
type record struct {
	s      *Store
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
	w.states = make([]people.State, len(w.list))
	known, err := w.known(t)
	if err != nil {
		return err
	}
	var hashes []people.Hash
	for i := range w.list {
		hashes = append(hashes, w.s.hashes(w.list[i].Address)...)
	}
	states, err := w.s.states(t, hashes)
	if err != nil {
		return err
	}
	var rows, changed []any
	fresh := map[stateKey]bool{}
	for i := range w.list {
		c := w.list[i]
		c.ID = r.IDs[i]
		if c.At.IsZero() {
			c.At = r.At
		}
		c.At = columns.Instant(columns.Micros(c.At)) // as it is stored
		now, found := w.stateOf(states, &c)
		if c.Key != "" && known[c.Key] {
			w.states[i] = now
			continue
		}
		known[c.Key] = true
		hash := w.s.keys[0].Hash(c.Address)
		rows = append(rows, c.ID, hash[:], w.s.keys[0].ID(), columns.TextOrNull(c.Key), columns.ClipTo(c.Address, maxAddress), c.Purpose, string(c.Status), string(c.Source),
			columns.Micros(c.At), columns.ClipTo(c.Words, maxWords), columns.ClipTo(c.By, maxActor))
		next := people.Next(now, found, &c)
		w.states[i] = next
		states[stateKey{hash, c.Purpose}] = next
		fresh[stateKey{hash, c.Purpose}] = true
		w.s.refused = w.s.refused || next.Status == people.Refused
	}
	for k := range fresh {
		n := states[k]
		changed = append(changed, k.hash[:], k.purpose, string(n.Status), string(n.Source), columns.Micros(n.At), n.Version)
	}
	for part := range slices.Chunk(rows, consentWidth*chunkRows) {
		t.AddOnce("INSERT INTO consents ("+consentColumns+") VALUES "+columns.RowsOf(len(part)/consentWidth, consentWidth), part...)
	}
	for part := range slices.Chunk(changed, stateWidth*chunkRows) {
		t.AddOnce("INSERT INTO consent_states ("+stateColumns+") VALUES "+columns.RowsOf(len(part)/stateWidth, stateWidth)+w.s.mergeStates(), part...)
	}
	return nil
}

const (
	consentColumns = "id, hash, key_id, ckey, addr, purpose, status, source, said_at, words, actor"
	consentWidth   = 11
	stateColumns   = "hash, purpose, status, source, said_at, version"
	stateWidth     = 6
	chunkRows      = 200
	maxAddress     = 255
	maxWords       = 500
	maxActor       = 100
)

// mergeStates ends an INSERT of states: a new one replaces the old one.
func (s *Store) mergeStates() string {
	var set []string
	for _, c := range []string{"status", "source", "said_at", "version"} {
		set = append(set, c+" = "+s.Dialect.Fresh(c))
	}
	return s.Dialect.Merge("hash", "purpose") + strings.Join(set, ", ")
}

// stateOf returns the present state of a consent's address and purpose: the latest under
// any key.
func (w *record) stateOf(states map[stateKey]people.State, c *people.Consent) (now people.State, found bool) {
	for _, h := range w.s.hashes(c.Address) {
		if is, ok := states[stateKey{h, c.Purpose}]; ok && (!found || is.At.After(now.At)) {
			now, found = is, true
		}
	}
	return now, found
}

// known returns which of the keys of the consents were recorded before.
func (w *record) known(t *commit.Tx) (map[string]bool, error) {
	var keys []any
	for i := range w.list {
		if k := w.list[i].Key; k != "" {
			keys = append(keys, k)
		}
	}
	known := map[string]bool{}
	for part := range slices.Chunk(keys, columns.KeysPerList) {
		var list []string
		if err := t.SelectContext(t.Ctx, &list, "SELECT ckey FROM consents WHERE ckey IN "+columns.Marks(len(part)), part...); err != nil {
			return nil, err
		}
		for _, k := range list {
			known[k] = true
		}
	}
	return known, nil
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

// selecter is what reads rows.
type selecter interface {
	SelectContext(ctx context.Context, dest any, text string, args ...any) error
}

func readStates(ctx context.Context, from selecter, hashes []people.Hash) ([]stateRow, error) {
	var all []stateRow
	for part := range slices.Chunk(hashes, columns.KeysPerList) {
		args := make([]any, len(part))
		for i := range part {
			args[i] = part[i][:]
		}
		var rows []stateRow
		if err := from.SelectContext(ctx, &rows, "SELECT "+stateColumns+" FROM consent_states WHERE hash IN "+columns.Marks(len(part)), args...); err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// states reads the states of addresses, inside a batch.
func (s *Store) states(t *commit.Tx, hashes []people.Hash) (map[stateKey]people.State, error) {
	rows, err := readStates(t.Ctx, t, hashes)
	out := make(map[stateKey]people.State, len(rows))
	for i := range rows {
		out[stateKey{people.Hash(rows[i].Hash), rows[i].Purpose}] = rows[i].state()
	}
	return out, err
}

// Refused implements [contacts.Gate]. While nobody has refused it costs nothing, otherwise
// one statement a batch.
func (s *Store) Refused(t *commit.Tx, claims []*weir.Contact) ([]string, error) {
	if !s.looked { // from then on this owner itself writes every refusal
		var there int64
		if err := t.Get(&there, "SELECT COUNT(*) FROM (SELECT 1 FROM consent_states LIMIT 1) AS some"); err != nil {
			return nil, err
		}
		s.looked, s.refused = true, s.refused || there > 0
	}
	if !s.refused {
		return nil, nil
	}
	if len(s.keys) == 0 {
		return nil, weir.Errorf(weir.CodeInternal, "the keys of people were not opened")
	}
	of := make([]people.Hash, 0, len(claims)*len(s.keys))
	for _, c := range claims {
		of = append(of, s.hashes(people.Canonical(c.To))...)
	}
	rows, err := readStates(t.Ctx, t, of)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	byHash := make(map[people.Hash][]people.State, len(rows))
	for i := range rows {
		h := people.Hash(rows[i].Hash)
		byHash[h] = append(byHash[h], rows[i].state())
	}
	reasons := make([]string, len(claims))
	for i := range claims {
		var states []people.State
		for _, h := range of[i*len(s.keys) : (i+1)*len(s.keys)] {
			states = append(states, byHash[h]...)
		}
		if refused, by := people.Decide(states, people.AllPurposes); refused {
			reasons[i] = people.Reason(by)
		}
	}
	return reasons, nil
}

// Consents implements [people.Store].
func (s *Store) Consents(ctx context.Context, address string, limit int) ([]people.State, []people.Consent, error) {
	hashes := s.hashes(address)
	rows, err := readStates(ctx, s.Read, hashes)
	if err != nil {
		return nil, nil, s.Failure("read the states of a person", err)
	}
	var states []people.State
	for i := range rows {
		states = append(states, rows[i].state())
	}
	args := make([]any, 0, len(hashes)+1)
	for i := range hashes {
		args = append(args, hashes[i][:])
	}
	var found []struct {
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
	err = s.Read.SelectContext(ctx, &found, "SELECT id, ckey, addr, purpose, status, source, said_at, words, actor FROM consents WHERE hash IN "+columns.Marks(len(hashes))+
		" ORDER BY id DESC LIMIT ?", append(args, limit)...)
	if err != nil {
		return nil, nil, s.Failure("read the consents of a person", err)
	}
	list := make([]people.Consent, len(found))
	for i, r := range found {
		list[i] = people.Consent{
			ID: r.ID, Address: r.Address, Purpose: r.Purpose, Status: people.Status(r.Status), Source: people.Source(r.Source),
			At: columns.Instant(r.SaidAt), Words: r.Words, By: r.Actor,
		}
		if r.Key != nil {
			list[i].Key = *r.Key
		}
	}
	return states, list, nil
}
