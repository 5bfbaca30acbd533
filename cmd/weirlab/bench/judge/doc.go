// Package judge decides whether a run of a benchmark counts: it records what the
// provider sees, and checks the record against the gates. A run that lost a contact,
// sent one twice, exceeded a capacity or violated the order has no figures.
package judge
