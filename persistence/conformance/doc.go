// Package conformance is the suite of tests that a store passes on every database.
package conformance
