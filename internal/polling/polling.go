// Package polling waits in tests for a condition that no event announces.
package polling

import "time"

// Until polls done until it returns true, and reports whether it did within
// limit. It polls once more at the end, so that a stalled machine fails no
// test.
func Until(limit, interval time.Duration, done func() bool) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-late.C:
			return done()
		}
	}
	return true
}
