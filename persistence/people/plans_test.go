package people_test

import (
	"testing"

	"go.uber.org/goleak"

	"weir/persistence/people"
	"weir/persistence/plantest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// statements lists the statements of claims and messages.
func statements() []plantest.Statement {
	some := []any{[]byte("0000000000000007"), []byte("0000000000020000"), []byte("none of them has")}
	all, purpose, text := people.NewestSQL()
	contacted, answered := people.NewPeopleSQL(2)
	oldest, oldestReplies := people.OldestEntriesSQL()
	removeContact, removeReply := people.RemoveSQL()
	states, contacts := people.HashesSQL()
	long := []any{[]byte("0000000000000007"), int64(1)}
	return []plantest.Statement{
		{Name: "newest contacts of a long history", Text: all, Args: append(long[:2:2], 3)},
		{Name: "the same for a purpose", Text: purpose, Args: append(long[:2:2], "rare", 3)},
		{Name: "the same for another purpose", Text: purpose, Args: append(long[:2:2], "often", 3)},
		{Name: "the same with a text", Text: text, Args: append(long[:2:2], int64(5), int64(1), int64(7), 1)},
		{Name: "the same with a text that was never sent", Text: text, Args: append(long[:2:2], int64(6), int64(1), int64(7), 1)},
		{Name: "states", Text: people.StatesSQL(3), Args: some},
		{Name: "whose states there are", Text: states, Args: []any{some[0], 10}},
		{Name: "whose contacts there are", Text: contacts, Args: []any{some[0], 10}},
		{Name: "keys of consents", Text: people.KnownSQL(2), Args: []any{some[0], "7", some[1], "20000"}},
		{Name: "earlier contacts", Text: people.EarlierSQL(3), Args: append(some[:3:3], int64(100), 100)},
		{Name: "new people", Text: contacted, Args: []any{int64(plantest.People - 50), int64(1), int64(2)}},
		{Name: "people who were answered", Text: answered, Args: []any{int64(plantest.People - 50), int64(1), int64(2)}},
		{Name: "undecided messages", Text: people.UndecidedSQL, Args: []any{int64(plantest.People - 100), 10}},
		{Name: "count of undecided messages", Text: people.CountUndecidedSQL, Args: []any{10}},
		{Name: "oldest messages", Text: people.OldestUndecidedSQL, Args: []any{int64(10_000), 10}},
		{Name: "whether a person was contacted", Text: people.ContactedSQL, Args: []any{[]byte("0000000000000007"), int64(100)}},
		{Name: "whether a person was contacted lately", Text: people.ContactedSQL, Args: []any{[]byte("0000000000000009"), int64(plantest.People)}},
		{Name: "oldest answers", Text: people.OldestAnswersSQL, Args: []any{int64(10_000), 10}},
		{Name: "oldest entries", Text: oldest, Args: []any{int64(10_000), 10}},
		{Name: "removal of an entry of many", Text: removeContact, Args: []any{[]byte("0000000000000007"), int64(plantest.People + 9), int64(1), int64(plantest.People + 9), 1}},
		{Name: "removal of a reply", Text: removeReply, Args: []any{int64(9), int64(1), int64(9), 1}},
		{Name: "oldest replies", Text: oldestReplies, Args: []any{int64(10_000), 10}},
	}
}

func TestPlans_UseIndexesOnSQLite(t *testing.T) { plantest.PeopleSQLite(t, statements()) }
func TestPlans_UseIndexesOnMySQL(t *testing.T)  { plantest.PeopleMySQL(t, statements()) }
