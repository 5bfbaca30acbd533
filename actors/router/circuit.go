package router

import (
	"maps"
	"strings"
	"sync"
	"time"

	"weir/router/journal"
	"weir/router/resource"
)

// Limits of the circuit breaker of a function.
const (
	circuitFailures = 5 // failures in a row that open it
	circuitFirst    = time.Second
	circuitMax      = 30 * time.Second
	addressesMax    = 1000 // max addresses remembered
)

// addresses are the functions in use, each with its own slots and circuit
// breaker, so that a function that hangs delays no other.
type addresses struct {
	mu    sync.Mutex
	known map[string]*address
}

// address is one function. It is dropped once it works and has no calls.
type address struct {
	slots   chan struct{}
	users   int
	circuit circuit
}

// use returns the state of an address, which is kept until done is called.
func (a *addresses) use(url string) (at *address, done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at = a.known[url]
	if at == nil {
		// Without users, only addresses that fail are left; without their history they get a few
		// more calls.
		if len(a.known) >= addressesMax {
			maps.DeleteFunc(a.known, func(_ string, at *address) bool { return at.users == 0 })
		}
		at = &address{slots: make(chan struct{}, maxCalls)}
		a.known[url] = at
	}
	at.users++
	return at, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if at.users--; at.users == 0 && at.circuit == (circuit{}) {
			delete(a.known, url)
		}
	}
}

// allow reports whether the function may be called now.
func (a *addresses) allow(at *address, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return at.circuit.allow(now)
}

// note records the result of a call.
func (a *addresses) note(at *address, failed bool, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at.circuit.note(failed, now)
}

// circuit is a circuit breaker. While closed it allows every call. While open it
// allows none until an instant, then a single probe, whose result closes it or
// opens it for longer.
type circuit struct {
	failures int // in a row
	until    time.Time
	pause    time.Duration // length of the latest opening
	probing  bool          // the probe is in flight
}

func (c *circuit) allow(now time.Time) bool {
	if c.failures < circuitFailures {
		return true
	}
	if now.Before(c.until) {
		return false
	}
	// If the probe is given up and never noted, the next one may follow after its time limit.
	c.probing, c.until = true, now.Add(callTimeout)
	return true
}

func (c *circuit) note(failed bool, now time.Time) {
	if !failed {
		*c = circuit{}
		return
	}
	c.failures++
	if c.failures == circuitFailures || c.probing {
		c.pause = min(max(circuitFirst, 2*c.pause), circuitMax)
		c.probing, c.until = false, now.Add(c.pause)
	}
}

// addressOf returns the address of a rule's function.
func addressOf(rule *resource.Rule) string {
	if rule.Kind == resource.RuleWebhook {
		return rule.WebhookURI
	}
	return rule.FunctionURI
}

// addressesOf joins the addresses of several rules.
func addressesOf(rules []journal.RequestedRule) string {
	var list []string
	for i := range rules {
		list = append(list, addressOf(&rules[i].Rule))
	}
	return strings.Join(list, "\n")
}
