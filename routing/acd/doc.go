// Package acd speaks the language of contact centres on top of the router's
// engine: agents with skills and callers who ask for some. It holds the
// example pool of agents, the simulation of a small contact centre, and the
// reading of filters such as Q#Spanish#M.
//
// It is pure: no I/O, no clock, and chance only from a seed, so that the same
// question has the same answer everywhere.
//
// How an agent is described: an attribute of which it has one (gender, team) is
// a label with a value; of an attribute of which it may have several (language,
// skill) each value is a label of its own that is true.
package acd
