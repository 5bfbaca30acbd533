package admin

import (
	"context"
	"crypto/rand"
	"encoding/binary"

	"github.com/jmoiron/sqlx"

	"weir/persistence/commit"
)

// TokenKey returns the secret of this database from which the tokens of respondents
// follow. The first call makes it.
func (s *Store) TokenKey(ctx context.Context) ([]byte, error) {
	names := []any{"token_key_0", "token_key_1"}
	for try := 0; ; try++ {
		var halves []int64
		err := s.Read.SelectContext(ctx, &halves, "SELECT value FROM meta WHERE name IN "+commit.Marks(len(names))+" ORDER BY name", names...)
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
				if _, err := tx.ExecContext(ctx, "INSERT INTO meta (name, value) VALUES "+commit.Marks(2), name, half); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && try > 0 { // the first time another process may have been quicker
			return nil, s.Failure("make the key of tokens", err)
		}
	}
}
