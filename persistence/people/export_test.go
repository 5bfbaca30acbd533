package people

import (
	"context"

	"weir"
	"weir/people"
	"weir/persistence/columns"
)

// StatesSQL, EarlierSQL, NewPeopleSQL and OldestEntriesSQL are the statements of claims.
func StatesSQL(n int) string { return statesSQL(n) }

// KnownSQL reads which keys of consents are recorded.
func KnownSQL(n int) string { return knownSQL(n) }

// EarlierSQL reads the entries of hashes.
func EarlierSQL(n int) string { return earlierSQL(n) }

// NewestSQL reads the newest entries of a hash: of all purposes, for one, and with a text.
func NewestSQL() (all, purpose, text string) {
	return newestSQL(newest{}), newestSQL(newest{purpose: "p"}), newestSQL(newest{text: 1})
}

// NewPeopleSQL reads whom channels have contacted.
func NewPeopleSQL(n int) string { return newPeopleSQL(n) }

// Statements of messages that wait for a decision, and of answers.
const (
	UndecidedSQL       = undecidedSQL
	CountUndecidedSQL  = countUndecidedSQL
	OldestUndecidedSQL = oldestUndecidedSQL
	OldestAnswersSQL   = oldestAnswersSQL
)

// OldestEntriesSQL finds what can be purged.
const OldestEntriesSQL = oldestEntriesSQL

// Reading reads earlier contacts, one batch after the other, as a gate does.
type Reading struct{ before histories }

// Read reads what claims for a purpose need of people who are known by their hashes.
func (r *Reading) Read(ctx context.Context, from selecter, n people.Needs, purpose string, text int64, hashes ...people.Hash) (map[string][]people.Entry, error) {
	owner, want := map[people.Hash]string{}, wanted{}
	for _, h := range hashes {
		owner[h] = string(h[:])
		want.add(h, purpose, n, text, weir.Ref{})
	}
	return r.before.read(ctx, from, want, columns.Instant(1), owner)
}
