package people

import (
	"context"
	"slices"
	"time"

	"weir"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
)

// historyStore reads when people were contacted, and deletes it. [Gate] writes it.
type historyStore struct {
	*commit.DB
	*keyring
	purposes *purposeStore
}

// readEntries returns the entries of hashes since an instant, by the address of each hash.
func readEntries(ctx context.Context, from selecter, hashes []any, since time.Time, owner map[people.Hash]string) (map[string][]people.Entry, error) {
	out := map[string][]people.Entry{}
	for part := range slices.Chunk(hashes, columns.KeysPerList) {
		var rows []struct {
			Hash    []byte `db:"hash"`
			At      int64  `db:"claimed_at"`
			Channel int64  `db:"channel_id"`
			Contact int64  `db:"contact_id"`
			Purpose string `db:"purpose"`
			Text    int64  `db:"text"`
		}
		err := from.SelectContext(ctx, &rows, earlierSQL(len(part)), append(slices.Clone(part), columns.Micros(since))...)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			r := &rows[i]
			if r.Purpose == "" { // a reply, which only limits count
				continue
			}
			address := owner[people.Hash(r.Hash)]
			out[address] = append(out[address], people.Entry{
				At: columns.Instant(r.At), Purpose: r.Purpose, Text: r.Text,
				Contact: weir.Ref{Channel: weir.ChannelID(r.Channel), ID: weir.ContactID(r.Contact)},
			})
		}
	}
	return out, nil
}

// Contacted implements [people.Store].
func (s *historyStore) Contacted(ctx context.Context, address string, now time.Time) ([]people.Entry, error) {
	owner := map[people.Hash]string{}
	var hashes []any
	for _, k := range s.keys {
		h := k.History(address)
		owner[h] = address
		hashes = append(hashes, h[:])
	}
	found, err := readEntries(ctx, s.Read, hashes, now.Add(-s.purposes.current.Load().window), owner)
	return found[address], s.Failure("read when a person was contacted", err)
}

// earlierSQL reads the entries of n hashes since an instant.
func earlierSQL(n int) string {
	return "SELECT hash, claimed_at, channel_id, contact_id, purpose, text FROM person_contacts WHERE hash IN " + columns.Marks(n) + " AND claimed_at > ?"
}

// PurgeHistory deletes what no rule looks at any more of when people were contacted, at most
// limit entries, and returns how many.
func (s *historyStore) PurgeHistory(ctx context.Context, now time.Time, limit int) (int, error) {
	before := now.Add(-max(s.purposes.current.Load().window, minHistory))
	n, err := purge(ctx, s.DB, oldestEntriesSQL, "DELETE FROM person_contacts WHERE claimed_at <= ?", before, limit)
	if err != nil || n > 0 {
		return n, s.Failure("purge when people were contacted", err)
	}
	n, err = purge(ctx, s.DB, oldestAnswersSQL, "DELETE FROM person_answers WHERE answered_at <= ?", before, limit)
	return n, s.Failure("purge when people were answered", err)
}

const oldestEntriesSQL = "SELECT COALESCE(MAX(claimed_at), 0) FROM (SELECT claimed_at FROM person_contacts WHERE claimed_at < ? ORDER BY claimed_at LIMIT ?) AS part"

const oldestAnswersSQL = "SELECT COALESCE(MAX(answered_at), 0) FROM (SELECT answered_at FROM person_answers WHERE answered_at < ? ORDER BY answered_at LIMIT ?) AS part"

// minHistory is how long it is kept at least, so that a rule that is made longer finds it.
const minHistory = 31 * 24 * time.Hour
