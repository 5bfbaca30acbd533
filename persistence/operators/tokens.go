package operators

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/operators"
	"weir/persistence/columns"
)

var _ operators.TokenStore = (*Store)(nil)

const tokenColumns = "id, name, scopes, hash, created_at, expires_at, used_at, revoked_at" //nolint:gosec // names of columns

// liveToken is a condition with one argument, the instant.
const liveToken = "revoked_at = 0 AND (expires_at = 0 OR expires_at > ?)" //nolint:gosec // a condition

// tokenRow is a row of tokens.
type tokenRow struct {
	ID      string `db:"id"`
	Name    string `db:"name"`
	Scopes  string `db:"scopes"`
	Hash    string `db:"hash"`
	Created int64  `db:"created_at"`
	Expires int64  `db:"expires_at"`
	Used    int64  `db:"used_at"`
	Revoked int64  `db:"revoked_at"`
}

func (r *tokenRow) token() (operators.Token, error) {
	t := operators.Token{
		ID: r.ID, Name: r.Name, Created: columns.Instant(r.Created), Expires: columns.Instant(r.Expires), Used: columns.Instant(r.Used), Revoked: columns.Instant(r.Revoked),
	}
	for word := range strings.SplitSeq(r.Scopes, ",") {
		t.Scopes = append(t.Scopes, operators.Scope(word))
	}
	if n, err := hex.Decode(t.Hash[:], []byte(r.Hash)); err != nil || n != len(t.Hash) {
		return t, fmt.Errorf("token %s: its hash cannot be read", r.ID)
	}
	return t, nil
}

func tokens(rows []tokenRow) ([]operators.Token, error) {
	list := make([]operators.Token, len(rows))
	for i := range rows {
		var err error
		if list[i], err = rows[i].token(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// AddToken implements [operators.TokenStore]. It needs no [Store.Join]: tokens are
// made by a separate process, beside the running ones.
func (s *Store) AddToken(ctx context.Context, t operators.Token, now time.Time) error {
	words := make([]string, len(t.Scopes))
	for i, scope := range t.Scopes {
		words[i] = string(scope)
	}
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		var live int
		if err := tx.GetContext(ctx, &live, "SELECT COUNT(*) FROM tokens WHERE "+liveToken, columns.Micros(now)); err != nil {
			return err
		}
		if live >= operators.MaxTokens {
			return weir.Errorf(weir.CodeConflict, "there are %d tokens, which is the most; revoke some", live)
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO tokens ("+tokenColumns+") VALUES "+columns.RowsOf(1, 8),
			t.ID, t.Name, strings.Join(words, ","), hex.EncodeToString(t.Hash[:]), columns.Micros(t.Created), columns.Micros(t.Expires), columns.Micros(t.Used), columns.Micros(t.Revoked))
		return err
	})
	return s.Failure("keep a token", err)
}

// Tokens implements [operators.TokenStore].
func (s *Store) Tokens(ctx context.Context) ([]operators.Token, error) {
	var rows []tokenRow
	err := s.Read.SelectContext(ctx, &rows, "SELECT "+tokenColumns+" FROM tokens ORDER BY created_at, id")
	if err != nil {
		return nil, s.Failure("read the tokens", err)
	}
	list, err := tokens(rows)
	return list, s.Failure("read the tokens", err)
}

// LiveTokens implements [operators.TokenStore]. The first token of all comes along,
// live or not, so that one statement tells both.
func (s *Store) LiveTokens(ctx context.Context, now time.Time) (live []operators.Token, ever bool, err error) {
	var rows []tokenRow
	text := "SELECT " + tokenColumns + " FROM tokens WHERE " + liveToken + " OR id = (SELECT MIN(id) FROM tokens)"
	if err := s.Read.SelectContext(ctx, &rows, text, columns.Micros(now)); err != nil {
		return nil, false, s.Failure("read the tokens", err)
	}
	list, err := tokens(rows)
	if err != nil {
		return nil, true, s.Failure("read the tokens", err)
	}
	for _, t := range list {
		if t.Live(now) {
			live = append(live, t)
		}
	}
	return live, len(list) > 0, nil
}

// RevokeToken implements [operators.TokenStore].
func (s *Store) RevokeToken(ctx context.Context, id string, now time.Time) error {
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		var there int
		if err := tx.GetContext(ctx, &there, "SELECT COUNT(*) FROM tokens WHERE id = ?", id); err != nil {
			return err
		}
		if there == 0 {
			return weir.Errorf(weir.CodeNotFound, "there is no such token")
		}
		_, err := tx.ExecContext(ctx, "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at = 0", columns.Micros(now), id)
		return err
	})
	return s.Failure("revoke a token", err)
}

// TokensUsed implements [operators.TokenStore]. Several processes may have seen the
// same token; the latest instant stays.
func (s *Store) TokensUsed(ctx context.Context, seen map[string]time.Time) error {
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		for id, at := range seen {
			if _, err := tx.ExecContext(ctx, "UPDATE tokens SET used_at = ? WHERE id = ? AND used_at < ?", columns.Micros(at), id, columns.Micros(at)); err != nil {
				return err
			}
		}
		return nil
	})
	return s.Failure("note the use of tokens", err)
}

// TokenKey returns the secret of this database from which the tokens of respondents
// follow. The first call makes it.
func (s *Store) TokenKey(ctx context.Context) ([]byte, error) {
	names := []any{"token_key_0", "token_key_1"}
	for try := 0; ; try++ {
		var halves []int64
		err := s.Read.SelectContext(ctx, &halves, "SELECT value FROM meta WHERE name IN "+columns.Marks(len(names))+" ORDER BY name", names...)
		if err != nil || len(halves) == len(names) {
			var key []byte
			for _, half := range halves {
				key = binary.BigEndian.AppendUint64(key, uint64(half))
			}
			return key, s.Failure("read the key of tokens", err)
		}
		fresh := make([]byte, 8*len(names))
		if _, err := rand.Read(fresh); err != nil {
			return nil, err
		}
		err = s.Transaction(ctx, func(tx *sqlx.Tx) error {
			for i, name := range names {
				half := int64(binary.BigEndian.Uint64(fresh[8*i:]))
				if _, err := tx.ExecContext(ctx, "INSERT INTO meta (name, value) VALUES "+columns.Marks(2), name, half); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && try > 0 { // the first time another process may have been quicker: a command needs no ownership
			return nil, s.Failure("make the key of tokens", err)
		}
	}
}
