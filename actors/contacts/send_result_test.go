package contacts_test

import (
	"testing"
	"time"

	"weir"
	"weir/channels"
)

// A provider that reports nothing more ends a contact with its answer: the slot is free
// at once for the next one.
func TestSendResult_MayBeTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.manner = func(channels.Attempt) manner { return completes } })
	r.accept(calls(3)...)
	r.pass(time.Second)
	for id := weir.ContactID(1); id <= 3; id++ {
		if row := r.store[id]; row.State != weir.Done || row.Outcome != weir.Completed || row.ProviderRef == "" || r.prov.received[row.AttemptRef()] != 1 {
			t.Errorf("contact %d: %+v", id, row.Progress)
		}
	}
}
