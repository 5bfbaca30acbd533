package router

import (
	"sync/atomic"
	"time"
)

// Phase is what a router does in this process.
type Phase string

// The phases.
const (
	Replaying Phase = "replaying" // it takes its role and reads its state
	Standby   Phase = "standby"   // another process has the role
	Serving   Phase = "serving"
	Stopping  Phase = "stopping"
)

// Phase is what the router does now. Only a serving one answers.
func (r *Router) Phase() Phase { return r.phase.Load() }

// phases holds the present one.
type phases struct{ now atomic.Value }

// Store sets the phase.
func (p *phases) Store(now Phase) { p.now.Store(now) }

// Load gives the phase.
func (p *phases) Load() Phase {
	now, ok := p.now.Load().(Phase)
	if !ok {
		return Replaying
	}
	return now
}

// refusal is the error of calls that a router without a state gets.
func (p Phase) refusal() error {
	if p == Replaying {
		return errReplaying()
	}
	return errElsewhere()
}

func errReplaying() error {
	return unavailable("the router is reading its state", time.Second, nil)
}

// patience has callers refused if reading the state takes long: an answer at
// once is of more use to them than a late one.
func (d *desk) patience() {
	d.slow = false
	gen := d.gen
	time.AfterFunc(patience, func() { d.tell(impatient{gen}) })
}
