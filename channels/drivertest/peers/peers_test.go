package peers_test

import (
	"slices"
	"testing"

	"weir/channels/all"
	"weir/channels/drivertest"
	"weir/channels/drivertest/peers"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every channel type keeps the contract of package channels.
func TestDrivers_KeepTheContract(t *testing.T) {
	t.Parallel()
	for _, p := range append(peers.All(), peers.Gateways()...) {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			drivertest.Run(t, p)
		})
	}
}

// No type of the table is left out. Type workers is not in it without a router: its
// provider is the router in this process, which has no wire, no credentials and no
// callbacks; its own tests hold it to the same results.
func TestDrivers_EveryTypeIsThere(t *testing.T) {
	t.Parallel()
	for _, typ := range all.Types(nil) {
		if !slices.ContainsFunc(peers.All(), func(p drivertest.Provider) bool { return p.Type.Name == typ.Name }) {
			t.Errorf("type %s has no provider in package peers", typ.Name)
		}
	}
}
