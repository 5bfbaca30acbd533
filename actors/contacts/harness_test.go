package contacts_test

import (
	"errors"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/channels"
)

// failer is the part that a test and a random history have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// job is something under way outside the core that happens in its turn.
type job struct {
	what  string
	after int  // not before this many changes were written
	fifo  bool // not before the earlier jobs of its kind
	stays bool // outlives the broker's incarnation
	do    func()
}

// rig plays the shell of a core on a clock of its own. It writes changes in
// their order, reads the store after the changes issued before, calls the
// provider, and checks the invariants after each event.
type rig struct {
	t       failer
	now     time.Time
	cfg     contacts.Config
	ch      weir.Channel
	core    *contacts.Core
	store   rows // as written
	shadow  rows // as it will be when everything issued is written
	prov    *provider
	jobs    []*job
	slots   int // of the shadow, like counts
	counts  [weir.Done + 1]int
	issued  int // changes issued
	written int

	local    map[weir.AttemptRef]contacts.LocalProgress
	results  map[weir.AttemptRef]channels.SendResult
	hold     map[string]bool // kinds of jobs that settle leaves alone
	manner   func(channels.Attempt) manner
	readErr  func() bool // reports whether a read fails
	askErr   func() bool
	prepErr  error
	status   channels.Status
	canceled func(channels.Attempt) *channels.Cancellation // nil: the provider decides
	lossy    bool                                          // slots may be given up while the provider uses them
	refuse   map[weir.ContactID]bool                       // whose claims are not written: they end instead
	postpone map[weir.ContactID]time.Duration              // whose next claim is not written: they wait so long
	hours    time.Time                                     // when the hours of everybody who is claimed end
	full     time.Duration                                 // a shared limit has no room: claims are undone, and their channel waits so long
	others   bool                                          // other processes change contacts, too

	nextID    weir.ContactID
	sent      []weir.AttemptRef // put on the wire to the provider, in order
	sentAt    []time.Time
	sentUnits []int // of each, for the rate limit
	asked     []weir.AttemptRef
	cancels   []weir.AttemptRef
	prepares  int
	statuses  int
	pages     int
	replies   map[any]contacts.Reply
	reports   map[any]weir.Report
	waiters   int
	finished  []contacts.Finished
	braked    []weir.Braked
	window    *weir.BrakeWindow // outlives the core, unless the process ends
	collected int
	drained   bool
	rested    bool
	removed   bool
}

func config() contacts.Config {
	return contacts.Config{
		IdleAfter: 2 * time.Minute, ReconcileEvery: 2 * time.Minute, SettleAfter: time.Minute, LostAfter: time.Hour,
		StopAfter: 30 * time.Minute, SendConcurrency: 8, AskConcurrency: 4, Chance: func() float64 { return 0.5 },
	}
}

// newRig creates an empty channel of the given capacity.
func newRig(t failer, capacity int, change ...func(*rig)) *rig {
	r := &rig{
		t: t, now: start, cfg: config(), store: rows{}, shadow: rows{}, prov: newProvider(), nextID: 1,
		ch:    weir.Channel{ID: 7, Name: "c", Type: "fake", Capacity: capacity, Settings: weir.Settings{}},
		local: map[weir.AttemptRef]contacts.LocalProgress{}, results: map[weir.AttemptRef]channels.SendResult{}, hold: map[string]bool{},
		manner: func(channels.Attempt) manner { return accepts }, readErr: func() bool { return false },
		askErr: func() bool { return false }, status: channels.Status{Health: weir.Up},
		canceled: func(channels.Attempt) *channels.Cancellation { return nil },
		window:   &weir.BrakeWindow{},
		replies:  map[any]contacts.Reply{}, reports: map[any]weir.Report{},
	}
	for _, f := range change {
		f(r)
	}
	r.boot(nil)
	return r
}

// boot starts a core from the written state.
func (r *rig) boot(local map[weir.AttemptRef]contacts.LocalProgress) {
	r.shadow = maps.Clone(r.store)
	r.forgetDebts()
	r.drained, r.rested = false, false
	r.slots, r.counts = 0, [weir.Done + 1]int{}
	for _, c := range r.shadow {
		r.tally(c, 1)
	}
	r.core = contacts.New(r.cfg, contacts.Snapshot{
		Channel: r.ch, InFlight: r.store.inFlight(), Lanes: r.store.lanes(), Queued: int64(len(r.store.waiting())), LocalAttempts: local, Brake: r.window,
	}, r.now)
	r.execute(r.core.Take())
	r.check()
}

// tell passes an event to the core and carries out the effects.
func (r *rig) tell(event func(*contacts.Core, time.Time)) {
	event(r.core, r.now)
	r.execute(r.core.Take())
	r.check()
}

func (r *rig) tick() { r.tell((*contacts.Core).Tick) }

func (r *rig) add(j *job) { r.jobs = append(r.jobs, j) }

// execute turns effects into jobs.
func (r *rig) execute(e contacts.Effects) {
	for _, k := range e.Commits {
		r.commit(k)
	}
	for _, ref := range e.Forget {
		delete(r.local, ref)
		delete(r.results, ref)
	}
	for _, reply := range e.Replies {
		r.add(&job{what: "reply", after: r.issued, do: func() { r.reply(reply) }})
	}
	for _, a := range e.Sends {
		r.send(a)
	}
	for _, a := range e.Asks {
		r.asked = append(r.asked, a.ID)
		r.add(&job{what: "ask", do: func() { r.ask(a) }})
	}
	slices.SortFunc(e.Cancels, func(a, b channels.Attempt) int { return int(a.ID.ID - b.ID.ID) })
	for _, a := range e.Cancels {
		r.cancels = append(r.cancels, a.ID)
		r.add(&job{what: "cancel", do: func() { r.cancel(a) }})
	}
	r.reads(e)
	if e.Prepare {
		r.prepares++
		r.add(&job{what: "prepare", do: func() { r.tell(func(c *contacts.Core, now time.Time) { c.PrepareDone(r.prepErr, now) }) }})
	}
	if e.Status {
		r.statuses++
		r.add(&job{what: "status", do: func() { r.tell(func(c *contacts.Core, now time.Time) { c.StatusDone(r.status, now) }) }})
	}
	r.finished = append(r.finished, e.Finished...)
	if e.Brake != nil {
		r.braked = append(r.braked, *e.Brake)
	}
	if e.ReconcileBegun {
		r.collected++
	}
	r.drained = r.drained || e.Drained
	r.rested = r.rested || e.Passivate
	if e.Remove {
		r.add(&job{what: "remove", after: r.issued, do: r.remove})
	}
}

// commit submits a change to the writer.
func (r *rig) commit(k contacts.Commit) {
	for _, t := range k.Transitions {
		was := r.shadow[t.Contact.ID]
		if !r.shadow.apply(t) {
			r.t.Fatalf("a transition of %v from revision %d (%v) to %v, but it is at revision %d (%v)",
				t.Contact.ID, t.From, t.Was, t.Contact.State, was.Rev, was.State)
		}
		r.tally(was, -1)
		r.tally(t.Contact, 1)
	}
	for _, ref := range k.Claimed {
		r.local[ref] = contacts.LocalClaimed
	}
	r.issued++
	r.add(&job{what: "commit", fifo: true, do: func() { r.write(k) }})
}

func (r *rig) tally(c weir.Contact, n int) {
	r.slots += n * c.Slots(c.Size())
	r.counts[c.State] += n
}

func (r *rig) write(k contacts.Commit) {
	r.written++
	var stale []weir.ContactID
	var suppressed []weir.Contact
	for _, t := range k.Transitions {
		if r.refuse[t.Contact.ID] && t.Was == weir.Queued && t.Contact.State == weir.Sending {
			t.Contact.Progress, _ = t.Contact.Suppress(r.now, "refused", weir.Receipt{Rule: "consent"})
			suppressed = append(suppressed, t.Contact)
		}
		if r.full > 0 && t.Was == weir.Queued && t.Contact.State == weir.Sending {
			t.Contact.Progress, _ = t.Contact.Unclaim()
			t.Contact.Rev, t.Contact.Reason, t.Contact.Receipt = t.From, "full", weir.Receipt{Rule: "limit_in_flight", Until: r.now.Add(r.full)}
			suppressed = append(suppressed, t.Contact)
			continue
		}
		if !r.hours.IsZero() && t.Was == weir.Queued && t.Contact.State == weir.Sending {
			t.Contact.Receipt.Until = r.hours
			suppressed = append(suppressed, t.Contact)
		}
		if wait := r.postpone[t.Contact.ID]; wait > 0 && t.Was == weir.Queued && t.Contact.State == weir.Sending {
			delete(r.postpone, t.Contact.ID)
			t.Contact.Progress, _ = t.Contact.Defer(r.now.Add(wait), "quiet", weir.Receipt{Rule: "quiet_hours"})
			suppressed = append(suppressed, t.Contact)
		}
		if !r.store.apply(t) {
			stale = append(stale, t.Contact.ID)
		}
	}
	if len(stale) > 0 && !r.others {
		r.t.Fatalf("the store refused changes of %v", stale)
	}
	if len(k.Claimed) > 0 {
		r.add(&job{what: "written", fifo: true, do: func() {
			changed := slices.Clone(stale)
			for i := range suppressed {
				changed = append(changed, suppressed[i].ID)
			}
			for _, id := range changed { // the core learns of it now
				r.tally(r.shadow[id], -1)
				r.shadow[id] = r.store[id]
				r.tally(r.shadow[id], 1)
			}
			r.tell(func(c *contacts.Core, now time.Time) { c.ClaimsCommitted(k.Claimed, stale, suppressed, now) })
		}})
	}
	for _, reply := range k.Replies {
		r.reply(reply)
	}
}

// reply answers a waiter. A report must be written before it is confirmed to the
// provider.
func (r *rig) reply(reply contacts.Reply) {
	if _, twice := r.replies[reply.Waiter]; twice && reply.Waiter != nil {
		r.t.Fatalf("waiter %v is answered twice", reply.Waiter)
	}
	r.replies[reply.Waiter] = reply
	report, ok := r.reports[reply.Waiter]
	row := r.store[report.Attempt.ID]
	if ok && reply.Err == nil && report.Part == weir.WholeContact && report.Outcome != "" &&
		(reply.Verdict == weir.Applied || reply.Verdict == weir.Duplicate) && row.Attempt == report.Attempt.Number && row.State != weir.Done {
		r.t.Fatalf("a report of %v was answered %s before it was written", report.Attempt, reply.Verdict)
	}
	delete(r.reports, reply.Waiter)
}

// send puts a dispatch on its way.
func (r *rig) send(a channels.Attempt) {
	row := r.store[a.ID.ID]
	if row.State != weir.Sending || row.Attempt != a.ID.Number {
		r.t.Fatalf("%v is sent though its claim is not written: it is %v, attempt %d", a.ID, row.State, row.Attempt)
	}
	if slices.Contains(r.sent, a.ID) {
		r.t.Fatalf("%v is sent twice", a.ID)
	}
	if !row.NotAfter.IsZero() && !r.now.Before(row.NotAfter) {
		r.t.Fatalf("%v is sent after its window closed", a.ID)
	}
	if n := r.core.Figures().InFlight; n > r.ch.Capacity {
		r.t.Fatalf("%v is sent while %d of %d slots are taken", a.ID, n, r.ch.Capacity)
	}
	r.sent, r.sentAt = append(r.sent, a.ID), append(r.sentAt, r.now)
	r.paced(len(a.Messages))
	r.local[a.ID] = contacts.LocalSending
	r.prov.wire[a.ID] = max(1, len(a.Messages))
	r.add(&job{what: "receive", stays: true, do: func() {
		m := r.manner(a)
		if m != drops && m != cannotNow && m != isDown && m != stumbles && m != chokes && m != later && m != limits && r.prov.had[a.ID.ID] > 0 && !channels.AtLeastOnce(r.ch.Settings) {
			r.t.Fatalf("the provider has %v for the second time", a.ID)
		}
		s := r.prov.receive(a, m, r.now)
		r.results[a.ID] = s
		r.add(&job{what: "answer", stays: true, do: func() {
			r.tell(func(c *contacts.Core, now time.Time) { c.SendDone(a.ID, s, now) })
		}})
	}})
}

func (r *rig) ask(a channels.Attempt) {
	answer := channels.Answer{Status: channels.QueryFailed}
	if !r.askErr() {
		answer = r.prov.ask(a)
	}
	r.add(&job{what: "asked", do: func() { r.tell(func(c *contacts.Core, now time.Time) { c.AskDone(a.ID, answer, now) }) }})
}

func (r *rig) cancel(a channels.Attempt) {
	done := r.canceled(a)
	if done == nil {
		d := r.prov.cancel(a)
		done = &d
	}
	r.add(&job{what: "canceled", do: func() { r.tell(func(c *contacts.Core, now time.Time) { c.CancelDone(a.ID, *done, now) }) }})
}

func (r *rig) remove() {
	if len(r.store.waiting())+len(r.store.inFlight()) > 0 {
		r.tell((*contacts.Core).RemoveFailed)
		return
	}
	r.removed = true
}

var errRead = errors.New("the store cannot be read")
