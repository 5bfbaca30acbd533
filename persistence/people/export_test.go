package people

import (
	"context"
	"slices"

	"weir"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/dialect"
)

// StatesSQL, EarlierSQL, NewPeopleSQL and OldestEntriesSQL are the statements of claims.
func StatesSQL(n int) string { return statesSQL(n) }

// KnownSQL reads which keys of consents are recorded.
func KnownSQL(n int) string { return knownSQL(n) }

// EarlierSQL reads the entries of hashes.
func EarlierSQL(n int) string { return earlierSQL(n) }

// HashesSQL reads the hashes of states, and of earlier contacts.
func HashesSQL() (states, contacts string) { return hashesSQL(statesTable), hashesSQL(contactsTable) }

// NewestSQL reads the newest entries of a hash: of all purposes, for one, and with a text.
func NewestSQL() (all, purpose, text string) {
	return newestSQL(newest{}), newestSQL(newest{purpose: "p"}), newestSQL(newest{text: 1})
}

// RemoveSQL removes the entry of a claim: of a contact, and of a reply.
func RemoveSQL() (contact, reply string) { return removeContactSQL, removeReplySQL }

// NewPeopleSQL reads whom channels have contacted, and answered.
func NewPeopleSQL(n int) (contacts, replies string) {
	return newPeopleSQL(contactsTable, n), newPeopleSQL(repliesTable, n)
}

// Statements of messages that wait for a decision, and of answers.
const (
	UndecidedSQL       = undecidedSQL
	CountUndecidedSQL  = countUndecidedSQL
	OldestUndecidedSQL = oldestUndecidedSQL
	OldestAnswersSQL   = oldestAnswersSQL
	ContactedSQL       = contactedSQL
)

// OldestEntriesSQL finds what can be purged.
func OldestEntriesSQL() (contacts, replies string) {
	return oldestEntriesSQL(contactsTable), oldestEntriesSQL(repliesTable)
}

// Reading reads earlier contacts, one batch after the other, as a gate does.
type Reading struct{ before histories }

// BoundRows bounds the rows of long histories that a gate reads for one batch.
func BoundRows(g *Gate, most int) { g.before.most = most }

// Read reads what claims for a purpose need of people who are known by their hashes.
func (r *Reading) Read(ctx context.Context, from dialect.Reader, n people.Needs, purpose string, text int64, hashes ...people.Hash) (map[string][]people.Entry, error) {
	owner, want := map[people.Hash]string{}, wanted{}
	for _, h := range hashes {
		owner[h] = string(h[:])
		want.add(h, purpose, n, text, weir.Ref{})
	}
	found, _, err := r.before.read(ctx, from, want, columns.Instant(1), owner)
	return found, err
}

// Filter is a filter of hashes.
type Filter struct{ f filter }

// Add adds a hash.
func (f *Filter) Add(h people.Hash) { f.f.add(h) }

// May reports whether the filter may have a hash.
func (f *Filter) May(h people.Hash) bool { return f.f.may(h) }

// Known reports whether a gate knows who has said something, and whether an address may have.
func Known(g *Gate, address string) (whole, may bool) {
	said := &g.consents.said
	said.mu.Lock()
	whole = said.whole != nil
	said.mu.Unlock()
	return whole, slices.ContainsFunc(g.hashes(address), said.may)
}

// ReadAgain has a gate read again who has said something.
func ReadAgain(g *Gate) { g.consents.said.least = -anew }
