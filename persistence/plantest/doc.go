// Package plantest checks the query plans of the store's statements, on SQLite and on a database server,
// over a channel with 40,000 queued and 40,000 finished contacts, over 300,000 respondents, over 100,000
// dead letters. The tests beside the statements pass them to it, so that the program needs no list of them.
package plantest

// Statement is an SQL text with example arguments.
type Statement = struct {
	Name, Text string
	Args       []any
}
