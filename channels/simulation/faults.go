package simulation

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// The faults of requests to the simulator. With the first three the provider does
// not act on the request.
const (
	FaultStatus = "status" // status=503: answered with this status at once
	FaultHang   = "hang"   // hang or hang=5s: no answer; the connection is cut after that time, or never
	FaultReset  = "reset"  // the connection is cut at once
	FaultCut    = "cut"    // carried out, then the connection is cut without an answer
	FaultLate   = "late"   // late=2s: carried out at once, answered late
	FaultAfter  = "after"  // after=502: carried out, then answered with this status
)

// The faults of callbacks.
const (
	FaultDrop      = "drop"      // never sent
	FaultDuplicate = "duplicate" // sent twice
	FaultSwap      = "swap"      // sent after the next one of the same subject
	FaultDelay     = "delay"     // delay=1s: sent late
)

// FaultHelp is the help text on faults for command lines.
const FaultHelp = `Faults of requests:
  status=503   answered with this status, not acted upon
  hang[=5s]    not acted upon; the connection is cut after that time, or never
  reset        not acted upon, the connection is cut at once
  cut          acted upon, then the connection is cut without an answer
  late=2s      acted upon at once, answered late
  after=502    acted upon, then answered with this status
Faults of callbacks:
  drop         never sent
  duplicate    sent twice
  swap         sent after the next one about the same address
  delay=1s     sent late`

// OpCallback is the operation of outgoing callbacks without a kind of their own.
// The simulators define their own operations for requests.
const OpCallback = "callback"

// Faults is a script of faults. Rules for callbacks apply only to callbacks, the
// others only to requests, so that an operation is optional.
type Faults struct {
	requests  *Script
	callbacks *Script
}

// NewFaults returns a script of faults; for the rules see [ParseRule].
func NewFaults(seed uint64, rules ...string) (*Faults, error) {
	f := &Faults{requests: NewScript(seed), callbacks: NewScript(seed)}
	return f, f.Set(rules...)
}

// Set replaces the rules, or changes nothing if one is invalid.
func (f *Faults) Set(texts ...string) error {
	rules, err := ParseRules(texts...)
	if err != nil {
		return err
	}
	var requests, callbacks []Rule
	for _, r := range rules {
		forCallbacks, err := checkFault(r)
		if err != nil {
			return err
		}
		if forCallbacks {
			callbacks = append(callbacks, r)
		} else {
			requests = append(requests, r)
		}
	}
	f.requests.Set(requests)
	f.callbacks.Set(callbacks)
	return nil
}

// Rules returns the rules in their text form.
func (f *Faults) Rules() []string { return append(f.requests.Rules(), f.callbacks.Rules()...) }

func checkFault(r Rule) (forCallbacks bool, err error) {
	switch r.What {
	case FaultStatus, FaultAfter:
		if n, err := strconv.Atoi(r.Value); err != nil || n < 200 || n > 599 {
			return false, fmt.Errorf("rule %q: want a status from 200 to 599 after =", r)
		}
		return false, nil
	case FaultReset, FaultCut:
		return false, nil
	case FaultHang:
		if r.Value == "" {
			return false, nil
		}
		return false, checkDelay(r)
	case FaultLate:
		return false, checkDelay(r)
	case FaultDelay:
		return true, checkDelay(r)
	case FaultDrop, FaultDuplicate, FaultSwap:
		return true, nil
	}
	return false, fmt.Errorf("rule %q: no such fault; there are status, hang, reset, cut, late and after "+
		"for requests, drop, duplicate, swap and delay for callbacks", r)
}

func checkDelay(r Rule) error {
	if d, err := time.ParseDuration(r.Value); err != nil || d < 0 {
		return fmt.Errorf("rule %q: want a duration such as 250ms after =", r)
	}
	return nil
}

// Fault is the fault of one request. The zero Fault is none.
type Fault struct {
	What   string
	Status int
	Delay  time.Duration
}

// Request decides about a request. A simulator calls it once for each request,
// calls Before, acts if it may, and calls After instead of answering at once.
func (f *Faults) Request(operation, subject string) Fault {
	return pick(f.requests, operation, subject)
}

// Callback decides about a callback of a kind that the simulator defines (an
// empty one is [OpCallback]): "drop@completed:0.1" drops some of one kind.
func (f *Faults) Callback(kind, subject string) Fault {
	return pick(f.callbacks, cmp.Or(kind, OpCallback), subject)
}

func pick(s *Script, operation, subject string) Fault {
	r, ok := s.Pick(operation, subject)
	if !ok {
		return Fault{}
	}
	fault := Fault{What: r.What}
	fault.Status, _ = strconv.Atoi(r.Value)      // checked by Set
	fault.Delay, _ = time.ParseDuration(r.Value) // likewise
	return fault
}

// Before performs a fault that prevents the provider from acting. It reports
// whether the request is handled. The body of the request should have been read;
// otherwise a client that gives up is not noticed.
func (f Fault) Before(w http.ResponseWriter, r *http.Request) (handled bool) {
	switch f.What {
	case FaultStatus:
		f.answer(w)
		return true
	case FaultHang:
		f.wait(r)
		panic(http.ErrAbortHandler) // cuts the connection without an answer
	case FaultReset:
		panic(http.ErrAbortHandler)
	}
	return false
}

// After performs a fault that follows the provider's action. It reports whether
// the request is handled; if not, the simulator answers as usual.
func (f Fault) After(w http.ResponseWriter, r *http.Request) (handled bool) {
	switch f.What {
	case FaultCut:
		panic(http.ErrAbortHandler)
	case FaultLate:
		f.wait(r)
	case FaultAfter:
		f.answer(w)
		return true
	}
	return false
}

func (f Fault) answer(w http.ResponseWriter) {
	// A provider that refuses for now names a pause, which a driver has to pass on.
	if f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(f.Status)
}

// wait returns after the delay, or when the client gives up or the server stops. A
// hang without a delay returns only then.
func (f Fault) wait(r *http.Request) {
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 1<<20))
	var over <-chan time.Time
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		over = timer.C
	} else if f.What == FaultLate {
		return
	}
	select {
	case <-over:
	case <-r.Context().Done():
	}
}
