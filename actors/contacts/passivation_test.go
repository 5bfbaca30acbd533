package contacts_test

import (
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
)

// The broker neither rests nor may be stopped while it has work of any kind.
func TestRest_IsNotAllowedWithWork(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*rig){
		"in flight":  func(r *rig) { r.prov.lasts = 100 * time.Hour; r.accept(calls(1)...) },
		"waiting":    func(r *rig) { r.pause(true); r.accept(calls(1)...) },
		"delayed":    func(r *rig) { r.accept(calls(1, func(s *weir.Spec) { s.NotBefore = start.Add(100 * time.Hour) })...) },
		"being read": func(r *rig) { r.hold["read"] = true; r.cancelContact(9) },
		"due, being read": func(r *rig) {
			r.accept(calls(1, func(s *weir.Spec) { s.NotBefore = start.Add(time.Second) })...)
			r.hold["read"] = true
		},
		"lanes being read": func(r *rig) {
			r.hold["read"] = true
			r.tell(func(c *contacts.Core, now time.Time) { c.Woken(now) })
		},
		"being claimed":  func(r *rig) { r.hold["commit"] = true; r.accept(calls(1)...) },
		"being accepted": func(r *rig) { r.hold["commit"] = true; r.atOnce(1, yes) },
		"being deleted":  func(r *rig) { r.hold["remove"] = true; r.configure(func(ch *weir.Channel) { ch.Deleting = true }) },
		"dispatch under way": func(r *rig) {
			r.hold["receive"] = true
			r.accept(calls(1)...)
			r.crash(true, 0, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.settle()
			set(r)
			r.pass(r.cfg.StopAfter + 10*time.Minute)
			if r.rested || !r.core.Busy() {
				t.Errorf("rested %v, busy %v", r.rested, r.core.Busy())
			}
		})
	}
}

// The time until the broker rests begins when its work ends, and again when it is told
// of something or the channel's row changes.
func TestRest_ComesSomeTimeAfterTheLastWork(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(*rig){
		"a contact":         func(r *rig) { r.accept(calls(1)...); r.ends(1, weir.Completed) },
		"a contact at once": func(r *rig) { r.atOnce(1, yes); r.settle(); r.ends(1, weir.Completed) },
		"a cancel":          func(r *rig) { r.cancelContact(9) },
		"a report": func(r *rig) {
			r.report(whole(weir.AttemptRef{Ref: weir.Ref{Channel: r.ch.ID, ID: 9}, Number: 1}, weir.Busy))
		},
		"a hint":                  func(r *rig) { r.tell(func(c *contacts.Core, now time.Time) { c.Woken(now) }) },
		"a change of the channel": func(r *rig) { r.setCapacity(2) },
		"a call without any event": func(r *rig) {
			r.accept(calls(1)...)
			r.hold["ask"] = true
			r.pass(20 * time.Minute)
			r.ends(1, weir.Completed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, rested := range []bool{false, true} { // before
				r := newRig(t, 1)
				if r.pass(20 * time.Minute); rested {
					r.pass(20 * time.Minute)
				}
				if r.rested != rested {
					t.Fatalf("it rests %v before", r.rested)
				}
				r.rested = false
				happens(r)
				if r.pass(r.cfg.StopAfter - 1); r.rested {
					t.Error("it rests too early")
				}
				if r.pass(1); !r.rested {
					t.Error("it does not rest")
				}
			}
		})
	}
}

// A message keeps an idle broker running; the request to rest follows again later.
func TestRest_IsRequestedAgainAfterAMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	for range 3 {
		r.rested = false
		if r.pass(r.cfg.StopAfter); !r.rested {
			t.Fatal("it does not rest")
		}
	}
}

// A provider that is not up is watched until it is, also if nothing is to be done.
func TestRest_WaitsUntilTheProviderIsUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.status.Health = weir.Down
	r.pass(2 * time.Hour)
	if r.rested {
		t.Fatal("it rests and shows that the provider is down")
	}
	r.status.Health = weir.Up
	r.pass(time.Hour)
	if !r.rested {
		t.Error("it does not rest")
	}
}

// The provider's status is requested once, and then every five minutes as long as there
// is work.
func TestStatus_IsRequestedOnlyWhileThereIsWork(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.hold["status"] = true
	r.pass(20 * time.Minute)
	if r.statuses != 1 || r.core.Figures().Health != weir.Up {
		t.Fatalf("%d requests at first; the health is %v", r.statuses, r.core.Figures().Health)
	}
	clear(r.hold)
	r.settle()
	r.pass(20 * time.Minute)
	if r.statuses != 1 {
		t.Fatalf("%d requests without work", r.statuses)
	}
	r.accept(calls(1)...)
	r.pass(21 * time.Minute)
	if r.statuses != 6 {
		t.Errorf("%d requests after 21 minutes with work, want 6", r.statuses)
	}
}

// What another process accepts without a hint is found within half a minute if there is
// other work.
func TestSweep_FindsUnannouncedContacts(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.accept(calls(1)...)
	r.insert(calls(1)...)
	r.pass(31 * time.Second)
	wantSent(t, r, 1, 2)
}
