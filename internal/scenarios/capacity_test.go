package scenarios_test

import (
	"fmt"
	"slices"
	"testing"
)

// Scenario 1: capacity 5, 10 contacts: exactly the first 5 are sent.
// Scenario 2: each that ends lets exactly one more go.
func TestScenario01And02_FirstFiveThenOneForOne(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 5)
		w.accept("ch", many("c", 10)...)
		w.sent(5)
		if got := fmt.Sprint(slices.Sorted(slices.Values(w.lab.sentKeys()))); got != "[c-0001 c-0002 c-0003 c-0004 c-0005]" {
			w.Fatalf("sent %s", got)
		}
		if inFlight, queued := w.figure("ch", "in_flight"), w.figure("ch", "queued"); inFlight != 5 || queued != 5 {
			w.Fatalf("in flight %d, queued %d; want 5 and 5", inFlight, queued)
		}
		w.finish("c-0002", "c-0004")
		w.sent(7)
		if now, most := w.lab.use("ch"); now != 5 || most != 5 {
			w.Fatalf("the provider has %d in flight and had %d; want 5 and 5", now, most)
		}
	})
}
