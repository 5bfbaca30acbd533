package contacts_test

import (
	"testing"
	"testing/synctest"
	"time"

	"weir"
	"weir/persistence/storetest"
)

// Only a change that records nothing but acceptances by providers waits for others.
func TestCommit_OnlyAcceptancesWaitForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		id, lease := storetest.OpenChannel(t, s, "a")
		claimed := func() weir.Contact {
			got, err := s.Accept(t.Context(), id, []weir.Spec{{To: "1"}})
			if err != nil {
				t.Fatal(err)
			}
			step := storetest.Advance(got[0].Contact)
			<-storetest.Commit(s, lease, step)
			return step.Contact
		}
		taken := func(c weir.Contact) weir.Transition {
			step := weir.Transition{From: c.Rev, Was: c.State}
			c.Progress, _ = c.Progress.Accept(time.Now(), "ref")
			step.Contact = c
			return step
		}
		over := func(c weir.Contact) weir.Transition {
			step := weir.Transition{From: c.Rev, Was: c.State}
			c.Progress, _ = c.Finish(time.Now(), weir.Busy, "")
			step.Contact = c
			return step
		}
		for name, c := range map[string]struct {
			change weir.Change
			wait   time.Duration
		}{
			"accepted by the provider": {weir.Change{Transitions: []weir.Transition{taken(claimed())}}, 5 * time.Millisecond},
			"two of them":              {weir.Change{Transitions: []weir.Transition{taken(claimed()), taken(claimed())}}, 5 * time.Millisecond},
			"done":                     {weir.Change{Transitions: []weir.Transition{over(claimed())}}, 0},
			"one accepted, one done":   {weir.Change{Transitions: []weir.Transition{taken(claimed()), over(claimed())}}, 0},
			"nothing":                  {weir.Change{}, 0},
		} {
			c.change.By = lease
			begun, result := time.Now(), make(chan weir.CommitResult, 1)
			s.Commit(c.change, func(r weir.CommitResult) { result <- r })
			if r := <-result; r.Err != nil || len(r.Stale) > 0 {
				t.Errorf("%s: %+v", name, r)
			}
			if wait := time.Since(begun); wait != c.wait {
				t.Errorf("%s: it waited %v, want %v", name, wait, c.wait)
			}
		}
	})
}
