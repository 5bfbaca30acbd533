package ownersim

import (
	"errors"
	"slices"
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/web/forward"
)

// status is the answer to a request, as far as it matters here.
type status int

const (
	success     status = iota
	nothingDone        // 503, nothing was done
	notKnown           // 503, it may have been done
	misdirected        // 421
	lastWord           // 503 of a process that has just lost the database
	notSent            // no connection
	broken             // the connection ended before the answer
)

type kind int

const (
	post   kind = iota // contacts
	beside             // a change that is committed beside the writer
	report             // of the provider
)

type request struct {
	id    int
	kind  kind
	specs []weir.Spec
	ref   weir.AttemptRef
	then  func(status)
	over  bool
	is    status
}

// post lets a client send a request, again and again.
func (w *world) post() {
	if !w.faults {
		return
	}
	w.after(w.between(100*time.Millisecond, 1500*time.Millisecond), nil, w.post)
	r := &request{id: len(w.requests) + 1, kind: post, specs: make([]weir.Spec, 1+w.chance.IntN(2))}
	for i := range r.specs {
		r.specs[i] = weir.Spec{To: "100", Priority: weir.Normal, Call: &weir.Call{CallFlowID: 1}}
	}
	if w.chance.IntN(4) == 0 {
		r.kind = beside
	}
	r.then = func(s status) {
		if s == success && w.store.handled[r.id] == 0 {
			w.fail("request %d was answered with success, and nothing is stored", r.id)
		}
	}
	w.requests = append(w.requests, r)
	w.balance(r, w.now.Add(10*time.Second))
}

// balance sends a request to any process that is ready.
func (w *world) balance(r *request, limit time.Time) {
	p := w.pick(func(p *process) bool { return !p.leaving })
	switch {
	case p != nil:
		w.send(r, nil, p, func(s status) {
			r.over, r.is = true, s
			if w.planned && s != success {
				w.fail("request %d got answer %d, and no process has crashed", r.id, s)
			}
			r.then(s)
		})
	case w.now.Before(limit):
		w.after(200*time.Millisecond, nil, func() { w.balance(r, limit) })
	default:
		r.over, r.is = true, nothingDone
		r.then(nothingDone)
	}
}

// hop is a request at one process.
type hop struct {
	r      *request
	at     *process
	from   *process // nil: the balancer
	served bool
	done   bool
	then   func(status)
}

// send sends a request from a process, or from the balancer.
func (w *world) send(r *request, from, to *process, then func(status)) {
	h := &hop{r: r, at: to, from: from, then: then}
	if from != nil && w.apart(from, to) {
		if w.chance.IntN(2) == 0 {
			w.after(w.between(time.Millisecond, 2*time.Second), from, func() { then(notSent) })
		} else { // on a connection that was there
			w.after(w.between(time.Millisecond, 5*time.Second), from, func() { then(broken) })
		}
		return
	}
	to.open = append(to.open, h)
	w.after(w.between(time.Millisecond, 5*time.Millisecond), to, func() { to.receive(h) })
	w.after(30*time.Second, nil, func() {
		if from == nil {
			h.answer(broken)
		}
	})
}

// answer ends a request at a process; the answer may be lost on its way.
func (h *hop) answer(s status) {
	if h.done {
		return
	}
	h.done = true
	h.at.open = slices.DeleteFunc(h.at.open, func(other *hop) bool { return other == h })
	w := h.at.w
	if w.sometimes(40) || h.from != nil && w.apart(h.from, h.at) {
		s = broken
	}
	w.after(w.between(time.Millisecond, 5*time.Millisecond), h.from, func() { h.then(s) })
}

// refuse answers a request whose write has failed.
func (h *hop) refuse() {
	if h.at.valid() {
		h.answer(notKnown)
	} else {
		h.answer(lastWord)
	}
}

func (p *process) receive(h *hop) {
	switch serves := p.w.rules.Serves(p.serves); {
	case serves && p.epoch == 0:
		p.w.fail("process %d serves request %d, and is a standby", p.start, h.r.id)
	case serves:
		h.served = true
		p.serve(h)
	case h.from != nil:
		h.answer(misdirected)
	default:
		p.pass(&exchange{hop: h})
	}
}

// serve handles a request at the owner.
func (p *process) serve(h *hop) {
	switch r := h.r; r.kind {
	case report:
		p.tell(func(c *contacts.Core, now time.Time) {
			c.Report(weir.Report{Attempt: r.ref, Part: weir.WholeContact, Outcome: weir.Completed, At: now}, contacts.Origin{Waiter: h}, now)
		})
	case beside:
		var refused error
		p.ask(sendLimit, func() { refused = p.w.store.beside(p, r) }, func(err error) {
			switch {
			case refused != nil:
				p.lose("a transaction is refused")
				h.refuse()
			case err != nil:
				h.refuse()
			default:
				h.answer(success)
			}
		})
	case post:
		n := 0
		if p.core != nil {
			p.tell(func(c *contacts.Core, now time.Time) { n = c.Reserve(r.specs, now) })
		}
		var list []weir.Contact
		p.writer.submit(&write{apply: func() { list = p.w.store.accept(r, n, p.wall()) }, done: func(err error) {
			switch {
			case n > 0:
				p.tell(func(c *contacts.Core, now time.Time) { c.AcceptedReserved(r.specs[:n], list, now) })
			case err == nil && p.core != nil:
				p.tell(func(c *contacts.Core, now time.Time) { c.Accepted(list, now) })
			default:
				p.missed = true
			}
			if err != nil {
				h.refuse()
				return
			}
			h.answer(success)
		}})
	}
}

// exchange is a request that a standby passes on.
type exchange struct {
	*hop
	held    time.Duration
	waiting time.Time // for an owner, since; zero: it does not wait
}

const holdFor = 10 * time.Second

var errBroken = errors.New("the connection broke")

// pass sends a request to the owner, if there is one.
func (p *process) pass(x *exchange) {
	o, s := p.sight, forward.State{Owner: p.sight.epoch != 0, Repeatable: x.r.kind == report}
	if !s.Owner {
		p.hold(x, s)
		return
	}
	if !x.waiting.IsZero() {
		x.held += p.w.now.Sub(x.waiting)
		x.waiting = time.Time{}
	}
	p.w.send(x.r, p, o.p, func(got status) {
		switch {
		case got == misdirected || got == notSent:
			s.Sent = forward.ErrNotSent
		case got == broken || got == lastWord && s.Repeatable:
			s.Sent = errBroken
		default:
			x.answer(got)
			return
		}
		p.hold(x, s)
	})
}

// hold decides about a request that has no answer.
func (p *process) hold(x *exchange, s forward.State) {
	if !x.waiting.IsZero() {
		s.Waited = p.w.now.Sub(x.waiting)
	}
	switch p.w.rules.Forward(s, holdFor-x.held) {
	case forward.GiveUp, forward.Refuse:
		x.answer(nothingDone)
	case forward.Unknown:
		x.answer(notKnown)
	case forward.Hold:
		if x.waiting.IsZero() {
			x.waiting = p.w.now
		}
		limit := holdFor - x.held - s.Waited
		if s.Owner {
			p.look()
			limit = min(limit, 100*time.Millisecond)
		}
		woken := false
		wake := func() {
			if !woken && !x.done {
				woken = true
				p.pass(x)
			}
		}
		p.changed = append(p.changed, wake)
		p.after(limit, wake)
	}
}
