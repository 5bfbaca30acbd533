package people

// StatesSQL, EarlierSQL, NewPeopleSQL and OldestEntriesSQL are the statements of claims.
func StatesSQL(n int) string { return statesSQL(n) }

// KnownSQL reads which keys of consents are recorded.
func KnownSQL(n int) string { return knownSQL(n) }

// EarlierSQL reads the entries of hashes.
func EarlierSQL(n int) string { return earlierSQL(n) }

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
