package people

// StatesSQL, EarlierSQL, NewPeopleSQL and OldestEntriesSQL are the statements of claims.
func StatesSQL(n int) string { return statesSQL(n) }

// EarlierSQL reads the entries of hashes.
func EarlierSQL(n int) string { return earlierSQL(n) }

// NewPeopleSQL reads whom channels have contacted.
func NewPeopleSQL(n int) string { return newPeopleSQL(n) }

// OldestEntriesSQL finds what can be purged.
const OldestEntriesSQL = oldestEntriesSQL
