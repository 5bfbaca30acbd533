package people

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
	"weir/persistence/limits"
)

// historyStore reads when people were contacted, and deletes it. [Gate] writes it.
type historyStore struct {
	*commit.DB
	*keyring
	purposes  *purposeStore
	contacted known // whom it has
}

// few is how many entries of a person are read with those of others. Of more, only those are
// read that decide.
const few = 32

// maxLong bounds the memory of whose histories are long.
const maxLong = 10_000

// maxRows bounds what one batch reads of long histories, so that no batch takes too long, whatever the caps are.
const maxRows = 50_000

// newest names the newest entries of a hash: those for a purpose, or with a text but not of a
// contact itself; otherwise all.
type newest struct {
	hash    people.Hash
	purpose string
	text    int64
	not     weir.Ref
}

// wanted is how many of the newest entries decide about claims. What is read for a claim is
// bounded by it, and by few, whatever the history is.
type wanted map[newest]int

// add adds what a claim needs of one of its hashes.
func (w wanted) add(h people.Hash, purpose string, n people.Needs, text int64, contact weir.Ref) {
	all, mine := newest{hash: h}, newest{hash: h, purpose: purpose}
	w[all], w[mine] = max(w[all], n.All), max(w[mine], n.Purpose)
	if n.Text && text != 0 {
		w[newest{hash: h, text: text, not: contact}] = 1
	}
}

// entryRow is a row of person_contacts.
type entryRow struct {
	Hash    []byte `db:"hash"`
	At      int64  `db:"claimed_at"`
	Channel int64  `db:"channel_id"`
	Contact int64  `db:"contact_id"`
	Number  int    `db:"number"`
	Purpose string `db:"purpose"`
	Text    int64  `db:"text"`
}

// compareRows is the order of the table. What was read by an index without texts has none, and
// comes behind the same row with its text.
func compareRows(a, b entryRow) int { return cmp.Or(compareKeys(a, b), cmp.Compare(b.Text, a.Text)) }

func compareKeys(a, b entryRow) int {
	return cmp.Or(bytes.Compare(a.Hash, b.Hash), cmp.Compare(a.At, b.At), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Contact, b.Contact), cmp.Compare(a.Number, b.Number))
}

// histories reads entries. It remembers whose histories are long, so that they delay others
// once.
type histories struct {
	long map[people.Hash]bool
	most int // rows of long histories that are read at once; 0: any number
}

// read returns the wanted entries since an instant, and maybe more, by the address of each hash,
// and of which addresses they were too many to be read with those of others.
func (h *histories) read(ctx context.Context, from dialect.Reader, want wanted, since time.Time, owner map[people.Hash]string) (entries map[string][]people.Entry, unread map[string]bool, err error) {
	var short []people.Hash
	apart := map[people.Hash]bool{}
	for hash := range owner {
		if apart[hash] = h.long[hash]; !apart[hash] {
			short = append(short, hash)
		}
	}
	slices.SortFunc(short, func(a, b people.Hash) int { return bytes.Compare(a[:], b[:]) })
	var rows []entryRow
	for part := range slices.Chunk(short, columns.KeysPerList) {
		found, complete, err := h.readFew(ctx, from, part, since)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, found...)
		for _, hash := range part[complete:] {
			apart[hash] = true
		}
	}
	unread = map[string]bool{}
	for _, hash := range want.leave(apart, h.most) {
		unread[owner[hash]] = true
	}
	for part := range slices.Chunk(want.of(apart), partsPerList) {
		found, err := want.read(ctx, from, part, since)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, found...)
	}
	slices.SortFunc(rows, compareRows)
	rows = slices.CompactFunc(rows, func(a, b entryRow) bool { return compareKeys(a, b) == 0 })
	out := map[string][]people.Entry{}
	for i := range rows {
		r := &rows[i]
		if r.Purpose == "" { // a reply that an older program has written here
			continue
		}
		address := owner[people.Hash(r.Hash)]
		out[address] = append(out[address], people.Entry{
			At: columns.Instant(r.At), Purpose: r.Purpose, Text: r.Text,
			Contact: weir.Ref{Channel: weir.ChannelID(r.Channel), ID: weir.ContactID(r.Contact)},
		})
	}
	return out, unread, nil
}

// readFew reads the entries of hashes, which are in order, and returns of how many it has read
// all. If that is not of each, one of them at least has more than few: the next batch reads
// that one apart.
func (h *histories) readFew(ctx context.Context, from dialect.Reader, hashes []people.Hash, since time.Time) (rows []entryRow, complete int, err error) {
	args := hashList(hashes)
	most := few * (len(hashes) + 1)
	if err = selectFew(ctx, from, &rows, earlierSQL(len(args)), append(args, columns.Micros(since), most)); err != nil {
		return nil, 0, err
	}
	count := map[people.Hash]int{}
	for i := range rows {
		count[people.Hash(rows[i].Hash)]++
	}
	for hash, n := range count {
		if n <= few {
			continue
		}
		if h.long == nil || len(h.long) >= maxLong {
			h.long = map[people.Hash]bool{}
		}
		h.long[hash] = true
	}
	if len(rows) < most {
		return rows, len(hashes), nil
	}
	complete, _ = slices.BinarySearchFunc(hashes, rows[most-1].Hash, func(a people.Hash, b []byte) int { return bytes.Compare(a[:], b) })
	return rows, complete, nil
}

// leave takes hashes away until of the others not more than most rows are wanted, or of one alone,
// and returns them.
func (w wanted) leave(hashes map[people.Hash]bool, most int) (left []people.Hash) {
	rows, sum := map[people.Hash]int{}, 0
	for part, n := range w {
		if hashes[part.hash] {
			rows[part.hash] += n
		}
	}
	for hash, n := range rows {
		if most > 0 && sum > 0 && sum+n > most {
			hashes[hash], left = false, append(left, hash)
			continue
		}
		sum += n
	}
	return left
}

// of returns what is wanted of hashes.
func (w wanted) of(hashes map[people.Hash]bool) (list []newest) {
	for part, n := range w {
		if n > 0 && hashes[part.hash] {
			list = append(list, part)
		}
	}
	return list
}

// partsPerList is how many parts one statement reads.
const partsPerList = 100

// read reads parts of what is wanted.
func (w wanted) read(ctx context.Context, from dialect.Reader, parts []newest, since time.Time) (rows []entryRow, err error) {
	texts, args := make([]string, len(parts)), make([]any, 0, 6*len(parts))
	for i, p := range parts {
		texts[i] = newestSQL(p)
		args = append(args, p.hash[:], columns.Micros(since))
		switch {
		case p.text != 0:
			args = append(args, p.text, int64(p.not.Channel), int64(p.not.ID))
		case p.purpose != "":
			args = append(args, p.purpose)
		}
		args = append(args, w[p])
	}
	return rows, from.SelectContext(ctx, &rows, strings.Join(texts, " UNION ALL "), args...)
}

// Contacted implements [people.Store].
func (s *historyStore) Contacted(ctx context.Context, address string, now time.Time) ([]people.Entry, error) {
	owner, want, current := map[people.Hash]string{}, wanted{}, s.purposes.current.Load()
	for _, k := range s.keys {
		h := k.History(address)
		owner[h] = address
		for name, p := range current.live {
			want.add(h, name, p.Needs(), 0, weir.Ref{})
		}
	}
	found, _, err := new(histories).read(ctx, s.Read, want, now.Add(-current.window), owner)
	return found[address], s.Failure("read when a person was contacted", err)
}

// contactedSince reports whether an address has an entry since an instant. It reads one row of each key, whatever the
// history is.
func (s *historyStore) contactedSince(t *commit.Tx, address string, since time.Time) (bool, error) {
	for _, k := range s.keys {
		h := k.History(address)
		if !s.contacted.may(h) {
			continue
		}
		var found []int
		if err := t.SelectContext(t.Ctx, &found, contactedSQL, h[:], columns.Micros(since)); err != nil || len(found) > 0 {
			return len(found) > 0, err
		}
	}
	return false, nil
}

const contactedSQL = "SELECT 1 FROM person_contacts WHERE hash = ? AND claimed_at > ? LIMIT 1"

const entryColumns = "hash, claimed_at, channel_id, contact_id, number, purpose, text"

// earlierSQL reads the entries of n hashes since an instant.
func earlierSQL(n int) string {
	return "SELECT " + entryColumns + " FROM person_contacts WHERE hash IN " + columns.Marks(n) + " AND claimed_at > ? ORDER BY hash, claimed_at LIMIT ?"
}

// newestSQL reads the newest entries of a hash since an instant. For a purpose it reads what the
// index has alone, which is all but the text: otherwise SQLite prefers to look through all rows.
func newestSQL(p newest) string {
	columns, which := entryColumns, " AND purpose <> ''"
	switch {
	case p.text != 0:
		which += " AND text = ? AND NOT (channel_id = ? AND contact_id = ?)"
	case p.purpose != "":
		columns, which = strings.Replace(entryColumns, "text", "0 AS text", 1), " AND purpose = ?"
	}
	return "SELECT * FROM (SELECT " + columns + " FROM person_contacts WHERE hash = ? AND claimed_at > ?" + which + " ORDER BY claimed_at DESC LIMIT ?) AS part"
}

// PurgeHistory deletes what no rule looks at any more of when people were contacted, at most
// limit entries, and returns how many.
func (s *historyStore) PurgeHistory(ctx context.Context, now time.Time, limit int) (int, error) {
	before := now.Add(-max(s.purposes.current.Load().window, minHistory))
	for _, table := range []string{contactsTable, repliesTable} {
		n, err := purge(ctx, s.DB, oldestEntriesSQL(table), "DELETE FROM "+table+" WHERE claimed_at <= ?", before, limit)
		if err != nil || n > 0 {
			return n, s.Failure("purge when people were contacted", err)
		}
	}
	n, err := purge(ctx, s.DB, oldestAnswersSQL, "DELETE FROM person_answers WHERE answered_at <= ?", before, limit)
	return n, s.Failure("purge when people were answered", err)
}

// contactedBy implements [limits.Contacts].
func contactedBy(ctx context.Context, from dialect.Reader, channels []any, since time.Time) ([]limits.Contacted, error) {
	var all []limits.Contacted
	for _, table := range []string{contactsTable, repliesTable} {
		var found []struct {
			Hash []byte `db:"hash"`
			At   int64  `db:"claimed_at"`
		}
		err := from.SelectContext(ctx, &found, newPeopleSQL(table, len(channels)), append([]any{columns.Micros(since)}, channels...)...)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			all = append(all, limits.Contacted{Person: people.Hash(f.Hash), At: columns.Instant(f.At)})
		}
	}
	slices.SortFunc(all, func(a, b limits.Contacted) int { return a.At.Compare(b.At) })
	return all, nil
}

// newPeopleSQL reads whom n channels have contacted since an instant, by one of the tables.
func newPeopleSQL(table string, n int) string {
	return "SELECT hash, claimed_at FROM " + table + " WHERE claimed_at > ? AND channel_id IN " + columns.Marks(n) + " ORDER BY claimed_at"
}

// Entries of contacts that rules count, and of replies, which only limits count: a claim never reads
// those, however many there are.
const (
	contactsTable = "person_contacts"
	repliesTable  = "person_replies"
)

// oldestEntriesSQL finds what can be purged from one of the tables.
func oldestEntriesSQL(table string) string {
	return "SELECT COALESCE(MAX(claimed_at), 0) FROM (SELECT claimed_at FROM " + table + " WHERE claimed_at < ? ORDER BY claimed_at LIMIT ?) AS part"
}

const oldestAnswersSQL = "SELECT COALESCE(MAX(answered_at), 0) FROM (SELECT answered_at FROM person_answers WHERE answered_at < ? ORDER BY answered_at LIMIT ?) AS part"

// minHistory is how long it is kept at least, so that a rule that is made longer finds it.
const minHistory = 31 * 24 * time.Hour
