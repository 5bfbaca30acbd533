package router

import (
	"sync/atomic"
	"time"
)

// Phase names a phase of the router of this process.
type Phase string

// The phases.
const (
	Replaying Phase = "replaying" // acquires the role and loads the state
	Standby   Phase = "standby"   // another process has the role
	Serving   Phase = "serving"
	Stopping  Phase = "stopping"
)

// Phase returns the current phase. Only a serving router answers calls.
func (r *Router) Phase() Phase { return r.phase.Load() }

// phases holds the current phase.
type phases struct{ now atomic.Value }

// Store sets the phase.
func (p *phases) Store(now Phase) { p.now.Store(now) }

// Load returns the phase.
func (p *phases) Load() Phase {
	now, ok := p.now.Load().(Phase)
	if !ok {
		return Replaying
	}
	return now
}

// refusal returns the error for calls to a router without a state.
func (p Phase) refusal() error {
	if p == Replaying {
		return errReplaying()
	}
	return errElsewhere()
}

func errReplaying() error {
	return unavailable("the router is reading its state", time.Second, nil)
}

// patience limits how long callers wait while the state is loading: after that
// they get an error and can retry.
func (d *desk) patience() {
	d.slow = false
	gen := d.gen
	time.AfterFunc(patience, func() { d.tell(impatient{gen}) })
}
