package commit

// Bounds of a page of contacts.
const (
	DefaultPage = 100
	MaxPage     = 1000
	MaxExamined = 10_000 // rows that one call reads
	SeekCost    = 10     // what an index seek counts as

	// MaxSearched bounds the contacts that one call examines for an address. No index
	// has addresses: they come in no order, so that each insert would dirty one more
	// page, for a question that is asked a few times a day.
	MaxSearched = 100_000
)

// Statement is an SQL text with its arguments.
type Statement struct {
	Name string
	Text string
	Args []any
}

// Named returns a statement.
func Named(name, text string, args ...any) Statement { return Statement{name, text, args} }
