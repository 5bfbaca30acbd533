package contacts_test

import (
	"slices"
	"testing"
	"time"

	"weir"
	core "weir/actors/contacts"
)

// late reads the store for what is asked, and holds the rows back until the function that
// it returns is called.
func (r *rig) late() (arrive func()) {
	r.t.Helper()
	r.hold["told"] = true
	r.settle()
	delete(r.hold, "told")
	var rows []*job
	r.jobs = slices.DeleteFunc(r.jobs, func(j *job) bool {
		if j.what == "told" {
			rows = append(rows, j)
		}
		return j.what == "told"
	})
	return func() {
		for _, j := range rows {
			j.do()
		}
	}
}

func (r *rig) hint() {
	r.tell(func(c *core.Core, now time.Time) { c.Woken(now) })
}

// Rows may arrive after their contacts have changed. Nothing is sent from them that is
// under way or over, and nothing is left out. That no change is made from an old
// revision, the rig checks by itself.
func TestReads_OldRowsSendNothingTwice(t *testing.T) {
	t.Parallel()
	soon := func(s *weir.Spec) { s.NotBefore = start.Add(time.Second) }
	short := func(s *weir.Spec) { s.NotAfter = start.Add(time.Second) }
	for name, c := range map[string]struct {
		specs  []weir.Spec
		after  time.Duration
		change func(*rig)       // while the rows of a page, of contacts that are due and of overdue ones are under way
		want   []weir.ContactID // dispatches
	}{
		"none":              {calls(3), 0, func(*rig) {}, []weir.ContactID{1, 2, 3}},
		"in flight":         {calls(3), 0, func(r *rig) { r.pause(false) }, []weir.ContactID{1, 2, 3}},
		"over":              {calls(3), 0, func(r *rig) { r.pause(false); r.ends(1, weir.Completed); r.ends(2, weir.Failed) }, []weir.ContactID{1, 2, 3}},
		"canceled":          {calls(3), 0, func(r *rig) { r.cancelContact(2) }, []weir.ContactID{1, 3}},
		"expired":           {calls(3, short), 0, func(r *rig) { r.pass(time.Second); r.pause(false) }, nil},
		"in flight, closes": {calls(1, short), 0, func(r *rig) { r.pause(false); r.pass(time.Second) }, []weir.ContactID{1}},
		"claim undone": {calls(3), 0, func(r *rig) {
			r.hold["commit"] = true
			r.pause(false)
			r.pause(true)
			delete(r.hold, "commit")
			r.settle()
		}, []weir.ContactID{1, 2, 3}},
		"waits for its next try": {calls(3), 0, func(r *rig) {
			takes(cannotNow)(r)
			r.pause(false)
			takes(accepts)(r)
			r.settle()
			r.pause(true)
		}, []weir.ContactID{1, 2, 3, 1, 2, 3}},
		"overdue, canceled": {calls(2, short), time.Second, func(r *rig) { r.cancelContact(1) }, nil},
		"overdue, expired":  {calls(2, short), time.Second, func(r *rig) { r.pause(false) }, nil},
		"delayed, canceled": {calls(2, soon), time.Second, func(r *rig) { r.cancelContact(1) }, []weir.ContactID{2}},
		"delayed, due":      {calls(2, soon), time.Second, func(r *rig) { r.pass(time.Second) }, []weir.ContactID{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, paused)
			r.accept(c.specs...)
			r.now = r.now.Add(c.after)
			r.hint()
			arrive := r.late()
			c.change(r)
			arrive()
			r.settle()
			r.pause(false)
			for range 10 {
				for _, tk := range r.prov.busy() {
					r.ends(tk.ref.ID, weir.Completed)
				}
				r.pass(time.Minute)
			}
			wantSent(t, r, c.want...)
			if n := len(r.store.waiting()) + len(r.store.inFlight()); n > 0 {
				t.Errorf("%d contacts are left", n)
			}
		})
	}
}

// The row that a cancel asked for may be of before its contact was dispatched and ended,
// or became due.
func TestCancel_AllowsForAnOldRow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wait   time.Duration // before it is due
		change func(*rig)
		err    weir.Code
	}{
		"over": {0, func(r *rig) { r.pause(false); r.hint(); r.settle(); r.ends(1, weir.Completed) }, weir.CodeConflict},
		"due":  {time.Second, func(r *rig) { r.pass(time.Minute) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, paused)
			r.settle()
			r.insert(calls(1, func(s *weir.Spec) { s.NotBefore = start.Add(c.wait) })...)
			r.waiters++
			w := r.waiters
			r.tell(func(c *core.Core, now time.Time) {
				c.Cancel(weir.Ref{Channel: r.ch.ID, ID: 1}, core.Origin{Waiter: w}, now)
			})
			arrive := r.late()
			r.hint()
			c.change(r)
			arrive()
			r.settle()
			if reply := r.replies[w]; reply.State != weir.Done || weir.CodeOf(reply.Err) != c.err {
				t.Errorf("answered %+v, want done and the error %q", reply, c.err)
			}
		})
	}
}

// Contacts change, join and leave while every page is read, and hints arrive: each page
// brings the channel on, and no more pages are needed for that.
func TestPages_AdvanceWhileContactsChange(t *testing.T) {
	t.Parallel()
	const contacts = 300
	for name, during := range map[string]func(*rig){
		"nothing": func(*rig) {},
		"cancels": func(r *rig) {
			if list := r.store.waiting(); len(list) > 0 {
				r.cancelContact(list[0].ID)
				r.cancelContact(list[len(list)/2].ID)
			}
		},
		"joins": func(r *rig) {
			if r.nextID < contacts*5/4 {
				r.accept(calls(1)...)
			}
		},
		"hints": (*rig).hint,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 4)
			r.insert(calls(contacts)...)
			r.hint()
			for len(r.store.waiting()) > 0 {
				if r.pages > 30 {
					t.Fatalf("%d contacts are left waiting after %d pages", len(r.store.waiting()), r.pages)
				}
				arrive := r.late()
				r.hold["told"] = true
				during(r)
				for _, tk := range r.prov.busy() {
					r.prov.end(tk, weir.Completed)
					r.callback(weir.Report{Attempt: tk.ref, Part: weir.WholeContact, Outcome: weir.Completed})
				}
				arrive()
			}
		})
	}
}

// A page may have been read before another process accepted the contact that a hint is
// about.
func TestWoken_DuringAPageMissesNoContact(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, paused)
	r.nextID = 10
	r.accept(calls(2)...)
	r.hint()
	arrive := r.late()
	r.nextID = 1
	r.insert(calls(1)...)
	r.hint()
	arrive()
	r.settle()
	r.pause(false)
	wantSent(t, r, 1)
}

// A page from further on does not go before a contact that fits now.
func TestConfigure_DuringAPageKeepsTheOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(append([]weir.Spec{text(2)}, calls(60)...)...)
	before := r.pages
	for r.hold["told"] = true; r.pages == before; {
		r.ends(r.sent[len(r.sent)-1].ID, weir.Completed)
	}
	arrive := r.late()
	r.pause(true)
	r.ends(r.sent[len(r.sent)-1].ID, weir.Completed)
	r.setCapacity(2)
	r.pause(false)
	arrive()
	r.settle()
	if id := r.sent[len(r.sent)-1].ID; id != 1 {
		t.Errorf("contact %d is dispatched, want 1", id)
	}
}

// A contact that is too large for the channel is counted once, however often its lane is
// read.
func TestWoken_BlockedContactsAreCountedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5, paused)
	r.accept(text(1), text(5), text(1))
	r.setCapacity(2)
	arrive := r.late()
	r.hint()
	r.pause(false)
	arrive()
	r.settle()
	r.ends(1, weir.Completed)
	r.pass(time.Minute)
	if n := r.core.Figures().Blocked; n != 1 {
		t.Errorf("%d contacts are blocked, want 1", n)
	}
}
