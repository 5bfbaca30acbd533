package people

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
)

// keyring has the keys that addresses are hashed with.
type keyring struct {
	db   *commit.DB
	keys []people.Key // the first is that of new states; used after [Store.OpenPeople] only
}

// keyRow is a row of people_keys.
type keyRow struct {
	ID     string `db:"id"`
	Secret string `db:"secret"` // hexadecimal; empty: the key is configured
}

// open makes the keys known: the configured ones, or the one that the database has, which the
// first call makes.
func (k *keyring) open(ctx context.Context, configured [][]byte) error {
	var rows []keyRow
	if err := k.db.Read.SelectContext(ctx, &rows, "SELECT id, secret FROM people_keys ORDER BY created_at, id"); err != nil {
		return k.db.Failure("read the keys of people", err)
	}
	keys := make([]people.Key, 0, len(configured)+len(rows))
	for _, secret := range configured {
		keys = append(keys, people.ConfiguredKey(secret))
	}
	for _, r := range rows {
		if slices.ContainsFunc(keys, func(known people.Key) bool { return known.ID() == r.ID }) {
			continue
		}
		secret, err := hex.DecodeString(r.Secret)
		if err != nil || len(secret) == 0 {
			var n int64
			if err := k.db.Read.GetContext(ctx, &n, "SELECT COUNT(*) FROM consents WHERE key_id = ?", r.ID); err != nil {
				return k.db.Failure("count what a key has hashed", err)
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
		if err := k.add(ctx, keys[0].ID(), hex.EncodeToString(secret)); err != nil {
			return err
		}
	} else if !slices.ContainsFunc(rows, func(r keyRow) bool { return r.ID == keys[0].ID() }) { // a new configured one
		if err := k.add(ctx, keys[0].ID(), ""); err != nil {
			return err
		}
	}
	k.keys = keys
	return nil
}

func (k *keyring) add(ctx context.Context, id, secret string) error {
	err := k.db.Transaction(ctx, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO people_keys (id, secret, created_at) VALUES "+columns.Marks(3), id, secret, columns.Micros(time.Now()))
		return err
	})
	return k.db.Failure("keep a key of people", err)
}

// opened returns an error unless the keys are known.
func (k *keyring) opened() error {
	if len(k.keys) == 0 {
		return weir.Errorf(weir.CodeInternal, "the keys of people were not opened")
	}
	return nil
}

// hashes returns the hashes of an address under every key, and those of its aliases. The
// first one is that of new states.
func (k *keyring) hashes(address string) []people.Hash {
	aliases := people.Aliases(address)
	out := make([]people.Hash, 0, len(aliases)*len(k.keys))
	for _, alias := range aliases {
		for _, key := range k.keys {
			out = append(out, key.Hash(alias))
		}
	}
	return out
}

// hashArguments returns the hashes of an address under every key, for a statement.
func (k *keyring) hashArguments(address string) []any {
	hashes := k.hashes(address)
	args := make([]any, len(hashes), len(hashes)+1)
	for i := range hashes {
		args[i] = hashes[i][:]
	}
	return args
}
