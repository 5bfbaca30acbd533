// Package api holds the bodies of the API, each once: the server decodes requests into them and answers with
// them, and the Go client, the command line and the dashboard use the same types. It depends on the standard
// library alone, so that a program that uses the client depends on nothing else.
//
// The tags of a type are its schema (maxLength, minimum, pattern, enum, doc …), from which the description of
// the API and the checks of requests are made; the tag flag is for the command line (app.AddFields). What no
// schema says is checked by the rules of the domain, whose types begin as these do: see limits.Limit. An instant
// that may be absent is a time.Time that is left out when it is zero.
//
// Purposes are not here: their types in package people keep what they have parsed of their texts. The client
// has types for them that are generated from the description.
package api
