// Package people keeps what people said about being contacted, and decides about claims by
// it.
//
// # Invariants
//
//   - Consents are written by the writer that commits claims. A batch that begins after a
//     refusal was committed sees it.
//   - States are kept by a keyed hash of the address. A key that states were made with is
//     never forgotten.
//   - Rules of purposes are changed by the writer, too: a batch that begins after a change
//     was committed judges by it.
//   - The answer to a message is queued in the transaction that records what the message
//     says, together with that the person has had one.
//   - An earlier contact counts once for each claim that was committed, in that transaction,
//     and no longer in the transaction that learns that nothing went out.
//   - What was spent is the sum of what the receipts of all attempts say: a claim adds what it
//     reserves, its end the difference, each in the transaction that writes the receipt.
package people

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/contacts"
)

var (
	_ people.Store  = (*Store)(nil)
	_ contacts.Gate = (*Gate)(nil)
	_ commit.Part   = (*Gate)(nil)
)

// Store keeps consents, purposes and when people were contacted.
type Store struct {
	*commit.DB
	keys     []people.Key // the first is that of new states; used after [Store.OpenPeople] only
	zones    people.Zones
	purposes atomic.Pointer[purposes]
	limits   atomic.Pointer[map[string]*people.Limit]
	used     atomic.Pointer[map[string]people.LimitUse]
	prices   atomic.Pointer[map[string]*people.Tariff]
	budgets  sync.Map // people.BudgetUse, by survey
	gate     *Gate
	// Budgets reads the budgets of surveys; nil: there are none.
	Budgets Budgets
	// Queue takes the answers to messages.
	Queue Queue
}

// New returns the consents and purposes in a database.
func New(db *commit.DB) *Store {
	s := &Store{DB: db}
	s.gate = &Gate{store: s, names: dayNames{}, limits: limits{channels: map[string][]weir.ChannelID{}, budgets: map[string]*budget{}}, InFlight: func(weir.ChannelID) int { return 0 }}
	s.limits.Store(&map[string]*people.Limit{})
	s.used.Store(&map[string]people.LimitUse{})
	s.prices.Store(&map[string]*people.Tariff{})
	s.purposes.Store(newPurposes(nil))
	return s
}

// Gate returns what judges the claims of all batches, and has a part in each.
func (s *Store) Gate() *Gate { return s.gate }

// keyRow is a row of people_keys.
type keyRow struct {
	ID     string `db:"id"`
	Secret string `db:"secret"` // hexadecimal; empty: the key is configured
}

// OpenPeople reads the purposes, prices and limits, and makes the keys of addresses known: the configured ones, of which the first is
// for new states, or the one that the database has, which the first call makes. It is for
// the owner of the database, before anything is claimed. An error says that a key is
// missing, without which those who refused would be contacted again.
func (s *Store) OpenPeople(ctx context.Context, configured [][]byte) error {
	if err := s.openKeys(ctx, configured); err != nil {
		return err
	}
	if err := s.readPurposes(ctx); err != nil {
		return err
	}
	if err := s.readPrices(ctx); err != nil {
		return err
	}
	if err := s.readBudgets(ctx); err != nil {
		return err
	}
	if err := s.readNames(ctx, time.Now()); err != nil {
		return err
	}
	return s.readLimits(ctx)
}

func (s *Store) openKeys(ctx context.Context, configured [][]byte) error {
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

// change has the writer do a small work, and waits for it.
func (s *Store) change(ctx context.Context, w commit.Work) error {
	call, err := s.NewCall(ctx, &commit.Request{Work: w, Rows: 1, Bytes: 1000})
	if err != nil {
		return err
	}
	call.Submit(nil)
	return call.Wait()
}

// hashes returns the hashes of an address under every key.
func (s *Store) hashes(address string) []people.Hash {
	out := make([]people.Hash, len(s.keys))
	for i, k := range s.keys {
		out[i] = k.Hash(address)
	}
	return out
}
