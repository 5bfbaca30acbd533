package contacts_test

import (
	"testing"
	"time"

	"weir"
)

// elsewhere lets another process change contact 1 while this one claims it.
func elsewhere(t *testing.T, change func(*weir.Contact)) *rig {
	t.Helper()
	r := newRig(t, 1, func(r *rig) { r.others = true })
	r.settle()
	r.hold["commit"] = true
	r.accept(calls(1)...)
	row := r.store[1]
	change(&row)
	r.store[1] = row
	delete(r.hold, "commit")
	r.settle()
	return r
}

// A contact that another process has ended is none of this one any more: a cancel is
// answered from its row, nothing is kept of its attempt, and the broker rests.
func TestClaimsCommitted_StaleClaimIsForgotten(t *testing.T) {
	t.Parallel()
	r := elsewhere(t, func(c *weir.Contact) { c.Progress, _ = c.Finish(start, weir.Expired, "") })
	if len(r.local) > 0 {
		t.Errorf("kept of its attempt: %v", r.local)
	}
	if got := r.cancelContact(1); got.State != weir.Done || weir.CodeOf(got.Err) != weir.CodeConflict {
		t.Errorf("a cancel is answered %+v", got)
	}
	r.pass(r.cfg.StopAfter + time.Minute)
	if !r.rested {
		t.Error("it does not rest")
	}
}

// A contact that another process has changed and that still waits is read again and
// dispatched.
func TestClaimsCommitted_StaleClaimIsReadAgain(t *testing.T) {
	t.Parallel()
	r := elsewhere(t, func(c *weir.Contact) { c.Rev++ })
	r.pass(time.Second)
	wantSent(t, r, 1)
}

// The claim that was not written may have been the breaker's probe: another contact is.
func TestClaimsCommitted_StaleProbeIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.others = true; r.prov.retry = time.Minute }, takes(isDown))
	r.accept(calls(1)...)
	r.hold["commit"] = true
	r.pass(time.Minute)
	row := r.store[1]
	row.Progress, _ = row.Finish(r.now, weir.Canceled, "")
	r.store[1] = row
	takes(accepts)(r)
	delete(r.hold, "commit")
	r.settle()
	wantDone(t, r, 1, weir.Canceled)
	r.accept(calls(1)...)
	wantState(t, r, 2, weir.Active)
}
