package auth

import (
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"weir"
	"weir/operators"
)

// Limits for unauthenticated clients. They apply regardless of the rate limit.
const (
	refusalRate, refusalBurst = 10.0, 100   // 401s of an address: per second, and burst
	guessRate, guessBurst     = 1.0 / 5, 20 // different wrong tokens of an address
	maxAddresses              = 10_000      // max addresses remembered
	maxWrong                  = 8           // max wrong tokens remembered per address
)

// newBucket returns a token bucket that refills at a rate per second, 0: without a limit.
// It is full, and holds two seconds' worth, so that a client that works in bursts is not slowed down.
func newBucket(perSecond float64) *rate.Limiter {
	if perSecond == 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(perSecond), int(max(1, 2*perSecond)))
}

// take takes one from a bucket, or returns how long to wait for it.
func take(bucket *rate.Limiter, now time.Time) time.Duration {
	if bucket.AllowN(now, 1) {
		return 0
	}
	return max(1, wait(bucket, now))
}

// wait returns the time until one can be taken from a bucket; zero: now.
func wait(bucket *rate.Limiter, now time.Time) time.Duration {
	missing := 1 - bucket.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return 1 + time.Duration(missing/float64(bucket.Limit())*float64(time.Second))
}

// address is the rate limit state of a client address.
type address struct {
	requests *rate.Limiter // without a token, while the gate is open
	refusals *rate.Limiter
	guesses  *rate.Limiter
	wrong    []operators.TokenHash // the latest distinct wrong tokens
	seen     time.Time
}

// addresses holds a bounded number of addresses. One that was evicted starts
// afresh.
type addresses struct {
	mu    sync.Mutex
	known map[netip.Addr]*address
	rate  float64 // of requests while the gate is open; 0: no limit
}

func newAddresses(rate float64) *addresses {
	return &addresses{known: map[netip.Addr]*address{}, rate: rate}
}

// of returns the state of an address. The caller holds the lock.
func (a *addresses) of(from netip.Addr, now time.Time) *address {
	found := a.known[from]
	if found == nil {
		if len(a.known) >= maxAddresses {
			a.forget()
		}
		found = &address{requests: newBucket(a.rate), refusals: rate.NewLimiter(refusalRate, refusalBurst), guesses: rate.NewLimiter(guessRate, guessBurst)}
		a.known[from] = found
	}
	found.seen = now
	return found
}

// forget evicts the quarter of the addresses that was seen least recently.
func (a *addresses) forget() {
	seen := make([]time.Time, 0, len(a.known))
	for _, x := range a.known {
		seen = append(seen, x.seen)
	}
	slices.SortFunc(seen, time.Time.Compare)
	left := len(seen) / 4
	limit := seen[left]
	for from, x := range a.known {
		if left > 0 && !x.seen.After(limit) {
			delete(a.known, from)
			left--
		}
	}
}

// request counts a request while the gate is open.
func (a *addresses) request(from netip.Addr, now time.Time) time.Duration {
	if a.rate == 0 {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return take(a.of(from, now).requests, now)
}

// refusal counts an unauthenticated request. wrong is the token that it
// carried, if any. Only a token that is not among the latest counts as another
// guess, so that a client with an outdated token never locks out its neighbors.
func (a *addresses) refusal(from netip.Addr, wrong *operators.TokenHash, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.of(from, now)
	var pause time.Duration
	if wrong != nil && !slices.Contains(x.wrong, *wrong) {
		if pause = take(x.guesses, now); pause == 0 {
			x.wrong = append(x.wrong[max(0, len(x.wrong)-maxWrong+1):], *wrong)
		}
	}
	return max(pause, take(x.refusals, now))
}

// guessing returns how long an address that guessed too often must wait.
func (a *addresses) guessing(from netip.Addr, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x := a.known[from]; x != nil {
		return wait(x.guesses, now)
	}
	return 0
}

// ClientAddress returns the address of a request's client, after web.Proxies.Clients.
func ClientAddress(r *http.Request) netip.Addr { return Network(HostAddress(r.RemoteAddr)) }

// HostAddress returns the address in HOST:PORT; the zero address if there is none.
func HostAddress(hostPort string) netip.Addr {
	from, _ := netip.ParseAddrPort(hostPort)
	return from.Addr().Unmap().WithZone("")
}

// Network returns the address that limits apply to. All addresses of an IPv6
// /64 share one: they belong to one customer.
func Network(ip netip.Addr) netip.Addr {
	if ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.Addr()
		}
	}
	return ip
}

func errLimited(wait time.Duration) error {
	return &weir.Error{Code: weir.CodeLimited, Message: "too many requests; try again after the time in Retry-After", RetryAfter: wait}
}
