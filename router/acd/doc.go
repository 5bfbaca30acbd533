// Package acd provides the vocabulary of contact centers on top of the routing
// engine: agents with skills, and callers who ask for some of them. It holds the
// example pool of agents and the parser of filters such as Q#Spanish#M.
//
// It is pure: no I/O, no clock, and randomness only from a seed, so that the same
// input always gives the same result.
//
// Agents are described by labels. An attribute with one value per agent (gender,
// team) is a label with that value. For an attribute with several values
// (language, skill) each value is a separate label that is true.
package acd
