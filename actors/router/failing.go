package router

import (
	"errors"
	"net/url"
	"sync"
	"time"

	"weir/router"
	"weir/router/resource"
)

// FunctionEvent reports that the function of a policy fails, or works again.
const FunctionEvent = "weir.router.function"

// minReportInterval is the minimum time between two events that the same function
// fails.
const minReportInterval = time.Minute

var (
	errNoCaller = errors.New("no HTTP client for functions is configured")
	errAnswer   = errors.New("the function's answer is not JSON")
	errScores   = errors.New("the function's answer has no scores")
	errLate     = errors.New("the function was not called in time")
	errOpen     = errors.New("the circuit breaker of the function is open")
	errToken    = errors.New("the authorization server gave no token")
)

// functionUse is a function in the context of the policy that uses it.
type functionUse struct {
	kind    resource.Kind
	policy  string
	address string // may contain a key
}

// hostOf returns the host of an address, the part that contains no key.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// failing holds the functions that fail when this process calls them.
type failing struct {
	mu      sync.Mutex
	known   map[functionUse]*failure
	unsent  []*functionData // events in order
	sending bool            // a goroutine emits them
}

// failure is a function that fails, or failed recently. It is kept after a
// success so that failure events stay [minReportInterval] apart.
type failure struct {
	router.FailingFunction
	recovered  bool      // it works again
	reported   bool      // an event reported that it fails
	reportedAt time.Time // the last such event
}

// functionData is the data of a [FunctionEvent].
type functionData struct {
	Policy     string        `json:"policy"`
	PolicyKind resource.Kind `json:"policyKind"`
	Host       string        `json:"host"`
	State      string        `json:"state"` // failing, working
	Since      time.Time     `json:"since"`
	Reason     string        `json:"reason,omitempty"`
	at         time.Time
}

// note records the result of a function for one job. It reports whether the caller
// must emit the unsent events.
func (f *failing) note(u functionUse, failed error, now time.Time) (send bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data := f.change(u, failed, now)
	if data == nil {
		return false
	}
	f.unsent = append(f.unsent, data)
	send, f.sending = !f.sending, true
	return send
}

// next returns the next event to emit, nil if there is none.
func (f *failing) next() *functionData {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sending = len(f.unsent) > 0; !f.sending {
		return nil
	}
	data := f.unsent[0]
	f.unsent = f.unsent[1:]
	return data
}

// change returns an event for the first failure, unless there was one within
// [minReportInterval], and for the end of a reported failure.
func (f *failing) change(u functionUse, failed error, now time.Time) *functionData {
	e := f.known[u]
	if failed == nil {
		return f.works(u, e, now)
	}
	if e == nil {
		e = &failure{recovered: true}
		f.known[u] = e
	}
	if e.recovered {
		e.recovered, e.FailingFunction = false, router.FailingFunction{PolicyKind: u.kind, Policy: u.policy, Host: hostOf(u.address), Since: now}
	}
	e.LastAt = now
	if e.Reason == "" || !errors.Is(failed, errOpen) { // the failure that opened the breaker is more informative
		e.Reason = failed.Error()
	}
	if e.reported || now.Sub(e.reportedAt) < minReportInterval {
		return nil
	}
	e.reported, e.reportedAt = true, now
	return &functionData{u.policy, u.kind, e.Host, "failing", e.Since, e.Reason, now}
}

// works records a success.
func (f *failing) works(u functionUse, e *failure, now time.Time) (tell *functionData) {
	if e == nil {
		return nil
	}
	if e.reported {
		tell = &functionData{u.policy, u.kind, e.Host, "working", now, "", now}
	}
	e.recovered, e.reported = true, false
	if now.Sub(e.reportedAt) >= minReportInterval {
		delete(f.known, u)
	}
	return tell
}

// forget drops the functions of a policy that was changed or deleted.
func (f *failing) forget(kind resource.Kind, policy string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for u := range f.known {
		if u.kind == kind && u.policy == policy {
			delete(f.known, u)
		}
	}
}
