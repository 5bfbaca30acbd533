package ownersim

import (
	"math/rand/v2"
	"slices"
	"time"

	"weir/actors/contacts"
	"weir/persistence/ownership"
	"weir/web/peers"
)

type condition int

const (
	running condition = iota
	stopped           // by SIGSTOP
	dead
)

// process is a start of the program: the shell of its decisions.
type process struct {
	w        *world
	start    int64
	state    condition
	deferred []func()      // what happened while it was stopped
	drift    time.Duration // of its clock

	noDatabase, noPeers time.Time // until when it reaches nobody there
	jammed              time.Time // until when its batches hang
	troubled            time.Time // until when it had an excuse for a renewal that failed

	// Of a process that waits.
	watch      ownership.Watch
	generation int // of the connection on which it reads the row
	looking    bool
	lookAgain  bool
	sight      sight
	changed    []func() // wait for another sight
	successor  int64

	// Of the owner.
	epoch     int64
	until     time.Time
	lost      bool
	serves    bool
	releasing bool
	leaving   bool // it got SIGTERM
	renewals  *ownership.Renewals
	standbys  []peers.Standby
	beats     []func() // standbys that wait for an answer to their heartbeat
	core      *contacts.Core
	clock     time.Duration // the drift at the start of the core, which compares instants of one clock
	wakeSeq   int
	missed    bool     // contacts were accepted before the core was there
	stash     []func() // events for it
	onDrained func()
	open      []*hop // requests that it has and has not answered
	writer    writer
}

type sight struct {
	p     *process
	epoch int64 // 0: there is no owner
}

func (p *process) valid() bool { return p.epoch != 0 && !p.lost && p.w.now.Before(p.until) }

// excused reports whether a renewal may have failed for a reason other than the database.
func (p *process) excused() bool {
	now := p.w.now
	return p.state != running || p.lost || now.Before(p.troubled.Add(2*lease)) || now.Before(p.noDatabase.Add(2*lease)) || now.Before(p.jammed.Add(2*lease))
}

func (p *process) excuse(d time.Duration) {
	if until := p.w.now.Add(d); until.After(p.troubled) {
		p.troubled = until
	}
}

func (p *process) after(d time.Duration, do func()) { p.w.after(d, p, do) }

// die ends a process, and a supervisor starts another one.
func (p *process) die(why string) {
	if p.state == dead {
		return
	}
	p.w.logf("process %d ends: %s", p.start, why)
	p.state, p.deferred = dead, nil
	p.forgotten()
	for _, h := range p.open {
		p.w.after(p.w.between(time.Millisecond, 20*time.Millisecond), h.from, func() { h.answer(broken) })
	}
	p.w.after(p.w.between(500*time.Millisecond, 5*time.Second), nil, p.w.join)
}

func (p *process) stop(d time.Duration) {
	p.w.logf("process %d stands still for %v", p.start, d)
	p.state = stopped
	p.excuse(d)
	p.w.after(d, nil, func() {
		if p.state != stopped {
			return
		}
		p.w.logf("process %d continues", p.start)
		p.state = running
		for _, do := range p.deferred {
			p.after(0, do)
		}
		p.deferred = nil
	})
}

func (p *process) cut(link *time.Time, to string, d time.Duration) {
	p.w.logf("process %d does not reach %s for %v", p.start, to, d)
	if until := p.w.now.Add(d); until.After(*link) {
		*link = until
	}
}

func (p *process) jam(d time.Duration) {
	p.w.logf("the batches of process %d hang for %v", p.start, d)
	p.jammed = p.w.now.Add(d)
}

// ask executes a statement at the database, and then do, with errDown if no answer came in
// time. Whether the statement was executed is not known then.
func (p *process) ask(limit time.Duration, statement func(), do func(error)) {
	w, s, answered := p.w, p.w.store, false
	generation := s.generation
	then := func(err error) {
		if !answered {
			answered = true
			do(err)
		}
	}
	if !s.up {
		p.after(10*time.Millisecond, func() { then(errDown) })
		return
	}
	p.after(limit, func() { then(errDown) })
	if w.now.Before(p.noDatabase) {
		return
	}
	delay := w.between(time.Millisecond, 10*time.Millisecond)
	if w.sometimes(100) { // it is on its way for long
		delay = w.between(500*time.Millisecond, 6*time.Second)
		p.excuse(delay)
	}
	w.after(delay, nil, func() {
		if !s.up || s.generation != generation {
			p.after(time.Millisecond, func() { then(errDown) })
			return
		}
		statement()
		back := w.between(time.Millisecond, 10*time.Millisecond)
		if w.sometimes(20) {
			back = w.between(500*time.Millisecond, 2400*time.Millisecond)
		}
		if w.now.Before(p.noDatabase) || w.sometimes(100) {
			return
		}
		p.after(back, func() {
			if s.generation != generation {
				then(errDown)
				return
			}
			then(nil)
		})
	})
}

// watchRow looks who the owner is, again and again, until this process is.
func (p *process) watchRow() {
	if p.epoch == 0 || p.releasing {
		p.look()
		p.after(ownership.LookEvery(lease), p.watchRow)
	}
}

// look reads the owner's row once.
func (p *process) look() {
	if p.looking {
		p.lookAgain = true
		return
	}
	p.looking, p.lookAgain = true, false
	asked, s := p.w.now, p.w.store
	var row ownership.Row
	p.ask(3*time.Second, func() { row = s.row() }, func(err error) {
		p.looking = false
		switch {
		case err != nil:
			p.watch.LostConnection()
		case p.generation != s.generation:
			p.watch.LostConnection()
			p.generation = s.generation
			fallthrough
		default:
			p.saw(asked, row)
		}
		if p.lookAgain && p.epoch == 0 {
			p.after(100*time.Millisecond, p.look)
		}
	})
}

func (p *process) saw(asked time.Time, row ownership.Row) {
	if p.epoch != 0 && !p.releasing {
		return
	}
	p.watch.Saw(asked, row, lease)
	next := sight{}
	if !row.Free() && !row.Expired() && row.Start != p.start {
		next = sight{p.w.processes[row.Start-1], row.Epoch}
	}
	p.see(next)
	if p.leaving || p.epoch != 0 {
		return
	}
	switch p.w.rules.Watch(&p.watch, row, lease, p.start, p.successor) {
	case ownership.Wait:
	case ownership.Take:
		p.take(row)
	}
}

func (p *process) see(next sight) {
	if next == p.sight {
		return
	}
	old := p.sight
	p.sight = next
	list := p.changed
	p.changed = nil
	for _, do := range list {
		do()
	}
	if old.epoch != 0 && next.epoch > old.epoch { // what a former owner has not answered in a while is given up
		p.after(3*time.Second, func() {
			for _, h := range slices.Clone(old.p.open) {
				if h.from == p {
					h.answer(broken)
				}
			}
		})
	}
}

func (p *process) take(seen ownership.Row) {
	asked := p.w.now
	var epoch int64
	p.looking = true
	p.ask(3*time.Second, func() { epoch = p.w.store.take(p, seen) }, func(err error) {
		p.looking = false
		switch {
		case err != nil:
			p.watch.LostConnection()
		case epoch != 0 && p.epoch == 0:
			p.own(epoch, asked)
		}
	})
}

// own makes this process serve.
func (p *process) own(epoch int64, asked time.Time) {
	p.w.logf("process %d owns the database, epoch %d", p.start, epoch)
	p.w.takes++
	p.epoch, p.until = epoch, p.w.rules.ValidUntil(asked, p.w.now, lease)
	p.writer = writer{p: p, fence: -1}
	if p.leaving {
		p.release()
		return
	}
	p.serves = true
	p.see(sight{p, epoch})
	p.renewals = ownership.NewRenewals(lease, p.w.now)
	p.after(ownership.RenewEvery(lease), p.renew)
	p.load()
}

func (p *process) renew() {
	if p.lost || p.releasing {
		return
	}
	if why, _ := p.renewals.Before(p.w.now, p.writer.stuck(), 0); why != ownership.None {
		p.lose("it cannot write")
		return
	}
	asked, ok := p.w.now, false
	p.ask(lease/2, func() { ok = p.w.store.renew(p) }, func(err error) {
		if p.lost || p.releasing {
			return
		}
		result := ownership.Renewed
		switch {
		case err != nil:
			result = ownership.Failed
		case !ok:
			result = ownership.Refused
		default:
			p.until = p.w.rules.ValidUntil(asked, p.w.now, lease)
		}
		if why, _ := p.renewals.After(p.w.now, result); why != ownership.None && p.w.rules.ExitsIfLost {
			p.lose("another process owns the database")
			return
		}
		p.after(ownership.RenewEvery(lease), p.renew)
	})
}

// lose ends an owner that can do nothing more.
func (p *process) lose(why string) {
	if p.lost || !p.w.rules.ExitsIfLost {
		return
	}
	p.lost = true
	p.after(10*time.Millisecond, func() { p.die(why) }) // requests get their answers
}

// load reads what the broker starts from.
func (p *process) load() {
	var snap contacts.Snapshot
	p.ask(3*time.Second, func() { snap = p.w.store.snapshot() }, func(err error) {
		if err != nil {
			p.after(300*time.Millisecond, p.load)
			return
		}
		p.clock = p.drift
		random := rand.New(rand.NewPCG(uint64(p.start), p.w.chance.Uint64()))
		p.core = contacts.New(contacts.Config{
			IdleAfter: 20 * time.Second, ReconcileEvery: 20 * time.Second, SettleAfter: 5 * time.Second, LostAfter: lostAfter,
			StopAfter: 24 * time.Hour, AskConcurrency: 4, Chance: random.Float64,
		}, snap, p.wall())
		if p.leaving {
			p.core.Drain(p.wall())
		}
		p.execute()
		stash := p.stash
		p.stash = nil
		for _, do := range stash {
			do()
		}
		if p.missed {
			p.tell((*contacts.Core).Woken)
		}
	})
}

// terminate is SIGTERM. An owner gets quiet, finishes what runs, and releases the database.
func (p *process) terminate() {
	if p.leaving {
		return
	}
	p.w.logf("process %d gets SIGTERM", p.start)
	p.leaving = true
	if p.epoch == 0 {
		p.forgotten()
		p.after(time.Second, func() { p.finish(2 * time.Second) })
		return
	}
	p.onDrained = func() {
		p.onDrained = nil
		p.serves = false
		p.whenAnswered(p.w.now.Add(2*time.Second), func() {
			if p.w.rules.FlushFirst {
				p.writer.flush(p.release)
			} else {
				p.release()
			}
		})
	}
	p.after(18*time.Second, p.drained)
	if p.core != nil {
		p.tell((*contacts.Core).Drain)
	}
}

// drained goes on with the end of an owner that is quiet, once.
func (p *process) drained() {
	if p.onDrained != nil {
		p.onDrained()
	}
}

// whenAnswered waits for the requests that this process serves itself.
func (p *process) whenAnswered(limit time.Time, do func()) {
	if p.w.now.Before(limit) && slices.ContainsFunc(p.open, func(h *hop) bool { return h.served }) {
		p.after(20*time.Millisecond, func() { p.whenAnswered(limit, do) })
		return
	}
	do()
}

func (p *process) release() {
	p.releasing, p.until = true, time.Time{}
	p.see(sight{})
	p.ask(lease/2, func() { p.w.store.release(p) }, func(error) {
		for _, answer := range p.beats {
			answer()
		}
		p.beats = nil
		p.watchRow()
		p.after(time.Second, func() { p.finish(2 * time.Second) })
	})
}

// finish ends a process once its requests are answered.
func (p *process) finish(limit time.Duration) {
	if limit <= 0 || len(p.open) == 0 {
		p.die("stopped")
		return
	}
	p.after(50*time.Millisecond, func() { p.finish(limit - 50*time.Millisecond) })
}

// beat sends heartbeats to the owner. The answer names the successor.
func (p *process) beat() {
	if p.epoch != 0 || p.leaving {
		return
	}
	o := p.sight
	if o.epoch == 0 || o.p == p {
		p.after(100*time.Millisecond, p.beat)
		return
	}
	p.heartbeat(o.p, func(successor int64, released, ok bool) {
		wait := 10 * time.Millisecond
		switch {
		case !ok:
			wait = 250 * time.Millisecond
			p.look()
		default:
			p.successor = successor
			if released {
				p.look()
				wait = time.Second
			}
		}
		p.after(wait, p.beat)
	})
}

func (p *process) heartbeat(q *process, do func(successor int64, released, ok bool)) {
	w, answered := p.w, false
	then := func(successor int64, released, ok bool) {
		if !answered {
			answered = true
			do(successor, released, ok)
		}
	}
	p.after(3*time.Second, func() { then(0, false, false) })
	if w.apart(p, q) {
		return
	}
	w.after(w.between(time.Millisecond, 5*time.Millisecond), q, func() {
		if q.epoch == 0 || q.releasing {
			w.after(time.Millisecond, p, func() { then(0, false, false) })
			return
		}
		q.standbys = slices.DeleteFunc(q.standbys, func(s peers.Standby) bool { return s.Start == p.start })
		q.standbys = append(q.standbys, peers.Standby{Process: peers.Process{Start: p.start, Version: "v1.0"}, Seen: w.now})
		gone := false
		answer := func() {
			if gone {
				return
			}
			gone = true
			successor, released := peers.Successor(q.standbys, w.now), q.releasing
			if !w.apart(p, q) && !w.sometimes(50) {
				w.after(w.between(time.Millisecond, 5*time.Millisecond), p, func() { then(successor, released, true) })
			}
		}
		q.beats = append(q.beats, answer)
		q.after(time.Second, answer)
	})
}

// forgotten ends the connection by which a standby sends heartbeats.
func (p *process) forgotten() {
	for _, q := range p.w.processes {
		q.standbys = slices.DeleteFunc(q.standbys, func(s peers.Standby) bool { return s.Start == p.start })
	}
}

// apart reports whether nothing passes between two processes.
func (w *world) apart(p, q *process) bool {
	return q.state == dead || p != q && (w.now.Before(p.noPeers) || w.now.Before(q.noPeers))
}
