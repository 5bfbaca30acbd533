// Package race lets tests of many rows leave the race detector, which multiplies their time by up to 60 and finds nothing
// there that it does not find with ten rows. make test runs them without it; see scripts/test-on-server.
package race

import "testing"

// Skip skips a test while the race detector watches, because of a reason.
func Skip(t testing.TB, why string) {
	t.Helper()
	if Enabled {
		t.Skip("not with the race detector: " + why)
	}
}
