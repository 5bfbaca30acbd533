// Package simulator is a simulated gateway for messages that behaves as one of several
// vendors does: what it takes, how it answers, how it reports, and how it is asked.
// Credentials are the secret of its options, wherever the vendor wants them.
package simulator
