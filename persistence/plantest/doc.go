// Package plantest checks the query plans of the store's statements, on SQLite and on a database server,
// over a channel with 200,000 queued and 200,000 finished contacts, over 300,000 respondents, over a million
// dead letters. The tests beside the statements pass them to it, so that the program needs no list of them.
package plantest

// Statement is an SQL text with example arguments.
type Statement = struct {
	Name, Text string
	Args       []any
}
