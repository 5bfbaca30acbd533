package contacts_test

import (
	"maps"
	"slices"
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/channels"
)

// reads turns each read into two jobs: the store is read, and later the core
// receives the result.
func (r *rig) reads(e contacts.Effects) {
	read := func(what contacts.ReadKind, p contacts.Page, do func() func(*contacts.Core, time.Time)) {
		r.add(&job{what: "read", after: r.issued, do: func() {
			tell := func(c *contacts.Core, now time.Time) { c.ReadFailed(what, p, now) }
			if !r.readErr() {
				tell = do()
			}
			r.add(&job{what: "told", do: func() { r.tell(tell) }})
		}})
	}
	for _, p := range e.Pages {
		r.pages++
		read(contacts.KindPage, p, func() func(*contacts.Core, time.Time) {
			list := r.store.head(p)
			return func(c *contacts.Core, now time.Time) { c.PageRead(p, list, now) }
		})
	}
	if e.Lanes {
		read(contacts.KindLanes, contacts.Page{}, func() func(*contacts.Core, time.Time) {
			lanes, n := r.store.lanes(), int64(len(r.store.waiting()))
			return func(c *contacts.Core, now time.Time) { c.LanesRead(lanes, n, now) }
		})
	}
	if q := e.Due; q != nil {
		read(contacts.KindDue, contacts.Page{}, func() func(*contacts.Core, time.Time) {
			list, next := r.store.due(*q)
			return func(c *contacts.Core, now time.Time) { c.DueRead(list, next, now) }
		})
	}
	if q := e.Overdue; q != nil {
		read(contacts.KindOverdue, contacts.Page{}, func() func(*contacts.Core, time.Time) {
			list, next := r.store.overdue(*q)
			return func(c *contacts.Core, now time.Time) { c.OverdueRead(list, next, now) }
		})
	}
	for _, l := range e.Loads {
		r.load(l)
	}
}

func (r *rig) load(l contacts.Load) {
	r.add(&job{what: "read", after: r.issued, do: func() {
		tell := func(c *contacts.Core, now time.Time) { c.LoadFailed(l, errRead, now) }
		if !r.readErr() {
			row, found := r.store[l.Ref.ID]
			tell = func(c *contacts.Core, now time.Time) { c.Loaded(l, row, found, now) }
		}
		r.add(&job{what: "told", do: func() { r.tell(tell) }})
	}})
}

// check asserts the invariants; it runs after every event.
func (r *rig) check() {
	r.t.Helper()
	f := r.core.Figures()
	slots, counts := r.slots, r.counts
	if f.InFlight != slots || f.Sending != counts[weir.Sending] || f.Active != counts[weir.Active] || f.Unknown != counts[weir.Unknown] {
		r.t.Fatalf("the ledger holds %+d slots more than the contacts in flight do: %d instead of %d; it counts %d sending, %d active and %d unknown contacts, and there are %d, %d and %d",
			f.InFlight-slots, f.InFlight, slots, f.Sending, f.Active, f.Unknown, counts[weir.Sending], counts[weir.Active], counts[weir.Unknown])
	}
	if use := r.prov.inUse(); use > f.InFlight && !r.lossy && !r.ch.Deleting {
		r.t.Fatalf("the provider uses %d slots, the ledger knows of %d", use, f.InFlight)
	}
	if at := r.core.NextWake(r.now); !at.IsZero() && !at.After(r.now) {
		r.core.Tick(r.now)
		r.execute(r.core.Take())
		if again := r.core.NextWake(r.now); !again.IsZero() && !again.After(r.now) {
			r.t.Fatalf("after a tick at %v the next is wanted at %v", r.now, again)
		}
	}
}

// runnable lists the jobs that may run next.
func (r *rig) runnable(held map[string]bool) []*job {
	var list []*job
	seen := map[string]bool{}
	for _, j := range r.jobs {
		if j.after <= r.written && !held[j.what] && !(j.fifo && seen[j.what]) {
			list = append(list, j)
		}
		seen[j.what] = true
	}
	return list
}

func (r *rig) run(j *job) {
	i := slices.Index(r.jobs, j)
	r.jobs = slices.Delete(r.jobs, i, i+1)
	j.do()
}

// settle runs everything that is under way, at this instant.
func (r *rig) settle() {
	r.t.Helper()
	for n := 0; ; n++ {
		list := r.runnable(r.hold)
		if len(list) == 0 {
			return
		}
		if n > 1_000_000 {
			r.t.Fatalf("it never comes to rest: %s", list[0].what)
		}
		r.run(list[0])
	}
}

// pass advances the clock; whatever is due on the way happens at its instant.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	end := r.now.Add(d)
	r.settle()
	for {
		at := r.core.NextWake(r.now)
		if at.IsZero() || at.After(end) {
			break
		}
		if at.After(r.now) {
			r.now = at
		}
		r.tick()
		r.settle()
	}
	r.now = end
	r.settle()
}

// insert accepts contacts durably without an event to the core.
func (r *rig) insert(specs ...weir.Spec) []weir.Contact {
	var list []weir.Contact
	for _, s := range specs {
		c := weir.Contact{Ref: weir.Ref{Channel: r.ch.ID, ID: r.nextID}, Spec: s, QueuedAt: r.now, Progress: weir.NewProgress(r.now, s.NotBefore)}
		r.nextID++
		r.store[c.ID], r.shadow[c.ID] = c, c
		r.tally(c, 1)
		list = append(list, c)
	}
	return list
}

// accept accepts contacts, passes them to the core and settles.
func (r *rig) accept(specs ...weir.Spec) []weir.ContactID {
	r.t.Helper()
	list := r.insert(specs...)
	r.tell(func(c *contacts.Core, now time.Time) { c.Accepted(slices.Clone(list), now) })
	r.settle()
	ids := make([]weir.ContactID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

// acceptAtOnce accepts contacts for which the core may reserve slots. claim decides
// whether the lease is still good when they are written; stored whether they are written
// at all.
func (r *rig) acceptAtOnce(specs []weir.Spec, claim, stored func() bool) {
	n := 0
	r.tell(func(c *contacts.Core, now time.Time) { n = c.Reserve(specs, now) })
	r.issued++
	r.add(&job{what: "commit", fifo: true, do: func() {
		r.written++
		var list []weir.Contact
		if stored() {
			list = r.store.accept(r, specs, n, claim())
		}
		r.add(&job{what: "written", fifo: true, do: func() {
			for _, c := range list {
				if c.State == weir.Sending { // the core learns of it now
					r.shadow[c.ID] = c
					r.tally(c, 1)
				}
			}
			r.tell(func(c *contacts.Core, now time.Time) { c.AcceptedReserved(specs[:n], list, now) })
		}})
	}})
}

// accept writes contacts, the first n of them claimed if the lease is good.
func (r rows) accept(g *rig, specs []weir.Spec, n int, leased bool) []weir.Contact {
	var list []weir.Contact
	for i := range specs {
		c := weir.Contact{Ref: weir.Ref{Channel: g.ch.ID, ID: g.nextID}, Spec: specs[i], QueuedAt: g.now, Progress: weir.NewProgress(g.now, specs[i].NotBefore)}
		g.nextID++
		if i < n && leased {
			c.Progress, _ = c.Claim(g.now)
			g.local[c.AttemptRef()] = contacts.LocalClaimed
		} else {
			g.shadow[c.ID] = c
		}
		r[c.ID] = c
		list = append(list, c)
	}
	return list
}

// calls returns specs of voice contacts.
func calls(n int, change ...func(*weir.Spec)) []weir.Spec {
	list := make([]weir.Spec, n)
	for i := range list {
		list[i] = weir.Spec{To: "100", Priority: weir.Normal, Call: &weir.Call{CallFlowID: 1}}
		for _, f := range change {
			f(&list[i])
		}
	}
	return list
}

// text returns the spec of a contact of n messages.
func text(n int) weir.Spec {
	return weir.Spec{To: "100", Priority: weir.Normal, Messages: slices.Repeat([]string{"hello"}, n)}
}

func with(s weir.Spec, change func(*weir.Spec)) weir.Spec {
	change(&s)
	return s
}

// report passes a provider's report to the core, settles, and returns the reply.
func (r *rig) report(report weir.Report) contacts.Reply {
	r.t.Helper()
	w := r.callback(report)
	r.settle()
	return r.replies[w]
}

func (r *rig) callback(report weir.Report) any {
	r.waiters++
	w := r.waiters
	r.reports[w] = report
	report.At = r.now
	r.tell(func(c *contacts.Core, now time.Time) { c.Report(report, contacts.Origin{Waiter: w}, now) })
	return w
}

// ends ends the attempt under way and reports it.
func (r *rig) ends(id weir.ContactID, o weir.Outcome) contacts.Reply {
	r.t.Helper()
	row := r.store[id]
	t := r.prov.tickets[row.AttemptRef()]
	if t == nil {
		r.t.Fatalf("the provider does not have contact %d: it is %v", id, row.State)
	}
	return r.report(r.prov.end(t, o))
}

// cancelContact cancels a contact as a client does.
func (r *rig) cancelContact(id weir.ContactID) contacts.Reply {
	r.waiters++
	w := r.waiters
	r.tell(func(c *contacts.Core, now time.Time) {
		c.Cancel(weir.Ref{Channel: r.ch.ID, ID: id}, contacts.Origin{Waiter: w}, now)
	})
	r.settle()
	return r.replies[w]
}

// configure changes the channel's row.
func (r *rig) configure(change func(*weir.Channel)) {
	r.ch.Settings = maps.Clone(r.ch.Settings)
	change(&r.ch)
	ch := r.ch
	r.tell(func(c *contacts.Core, now time.Time) { c.Configure(ch, false, now) })
}

func (r *rig) setCapacity(n int) {
	r.configure(func(ch *weir.Channel) { ch.Capacity = n })
	r.settle()
}

func (r *rig) pause(paused bool) {
	r.configure(func(ch *weir.Channel) { ch.Paused = paused })
	r.settle()
}

// crash ends the process, or only the broker's actor, which keeps the local
// attempts. Of the changes issued, the first n are still written; keep reports
// whether a dispatch on its way still arrives.
func (r *rig) crash(actor bool, n int, keep func(weir.AttemptRef) bool) {
	var stay []*job
	for _, j := range r.jobs {
		switch {
		case j.what == "commit" && n > 0:
			n--
			j.do()
		case j.stays && actor:
			stay = append(stay, j)
		case j.what == "callback":
			stay = append(stay, j)
		}
	}
	r.jobs, r.issued, r.written = stay, 0, 0
	local := map[weir.AttemptRef]contacts.LocalProgress{}
	if !actor {
		r.window = &weir.BrakeWindow{}
	}
	if actor {
		local = maps.Clone(r.local)
	} else {
		clear(r.results)
		r.abandonWire(keep)
	}
	maps.DeleteFunc(r.local, func(_ weir.AttemptRef, h contacts.LocalProgress) bool { return !actor || h == contacts.LocalClaimed })
	results := maps.Clone(r.results)
	r.boot(local)
	for _, ref := range slices.SortedFunc(maps.Keys(results), func(a, b weir.AttemptRef) int { return int(a.ID - b.ID) }) {
		r.tell(func(c *contacts.Core, now time.Time) { c.SendDone(ref, results[ref], now) })
	}
}

// abandonWire decides what happens to dispatches whose sender died.
func (r *rig) abandonWire(keep func(weir.AttemptRef) bool) {
	for ref := range r.prov.wire {
		if keep != nil && keep(ref) {
			r.prov.receive(channels.Attempt{ID: ref, Messages: r.store[ref.ID].Messages}, accepts, r.now)
			continue
		}
		delete(r.prov.wire, ref)
	}
}
