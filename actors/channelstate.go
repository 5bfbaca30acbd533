package actors

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"

	"weir"
	"weir/actors/core"
	"weir/channels"
)

// channelState is the state of a channel that outlives the incarnations of its
// broker.
type channelState struct {
	channel weir.ChannelID
	actor   atomic.Pointer[actor.PID] // the current broker
	mailbox actor.Mailbox             // its mailbox
	until   atomic.Pointer[time.Time]
	awake   atomic.Bool // the broker counts as running
	// claimsAtOnce is set while a contact that is accepted would be claimed at once.
	claimsAtOnce atomic.Bool
	cancels      chan struct{} // a token for each cancel under way at the provider
	meter        *meter        // counts for the charts
	writes       pendingOps    // changes submitted to the writer and not answered

	mu       sync.Mutex
	attempts map[weir.AttemptRef]localAttempt
	epoch    int64 // of our last lease
}

// pendingOps counts operations under way. Unlike a sync.WaitGroup, which panics in
// that case, it may be waited for while more begin.
type pendingOps struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n falls to zero; nil while there is no waiter
}

func (t *pendingOps) begin() {
	t.mu.Lock()
	t.n++
	t.mu.Unlock()
}

func (t *pendingOps) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 && t.none != nil {
		close(t.none)
		t.none = nil
	}
}

// wait returns once nothing was under way for an instant.
func (t *pendingOps) wait() {
	t.mu.Lock()
	if t.n > 0 && t.none == nil {
		t.none = make(chan struct{})
	}
	n, none := t.n, t.none
	t.mu.Unlock()
	if n > 0 {
		<-none
	}
}

// localAttempt is a local attempt: how far this process got with it. The result of a
// provider call is kept here until the change that the core derived from it is
// durable: a message can be lost in a crash of the actor, and a change that waits
// in the writer is refused once the next incarnation has its epoch.
type localAttempt struct {
	core.LocalProgress
	result *channels.SendResult
	claim  *claim
}

// claim distinguishes one claim of an attempt from the next: an undone claim is
// not counted as an attempt, so its successor has the same number.
type claim struct{ ref weir.AttemptRef }

// newChannelState returns the state of a channel whose broker may have that many
// cancels under way, at least one.
func newChannelState(channel weir.ChannelID, cancels int) *channelState {
	return &channelState{channel: channel, meter: &meter{}, cancels: make(chan struct{}, max(1, cancels)), attempts: map[weir.AttemptRef]localAttempt{}}
}

// recordClaim records a new local attempt.
func (s *channelState) recordClaim(ref weir.AttemptRef) {
	s.mu.Lock()
	s.attempts[ref] = localAttempt{LocalProgress: core.LocalClaimed, claim: &claim{ref}}
	s.mu.Unlock()
}

// recordSend records that the provider is being called, and then the result.
func (s *channelState) recordSend(ref weir.AttemptRef, result *channels.SendResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.attempts[ref]
	if h.claim == nil {
		h.claim = &claim{ref}
	}
	s.attempts[ref] = localAttempt{core.LocalSending, result, h.claim}
}

// claims returns the claims of these attempts, which drop needs to forget them
// later.
func (s *channelState) claims(refs []weir.AttemptRef) []*claim {
	if len(refs) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	claims := make([]*claim, 0, len(refs))
	for _, r := range refs {
		if h, ok := s.attempts[r]; ok {
			claims = append(claims, h.claim)
		}
	}
	return claims
}

// drop forgets claims, but not later claims of the same attempts.
func (s *channelState) drop(claims []*claim) {
	if len(claims) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range claims {
		if s.attempts[c.ref].claim == c {
			delete(s.attempts, c.ref)
		}
	}
}

// leaseAcquired records that a lease was acquired. If another process held it in between,
// our claims that were not sent are void: a refused one may be that process's
// claim by now, with the same number.
func (s *channelState) leaseAcquired(epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch <= s.epoch {
		return // of an earlier incarnation
	}
	if epoch != s.epoch+1 {
		maps.DeleteFunc(s.attempts, func(_ weir.AttemptRef, h localAttempt) bool { return h.LocalProgress == core.LocalClaimed })
	}
	s.epoch = epoch
}

// localAttempts returns the local attempts for a new incarnation.
func (s *channelState) localAttempts() (progress map[weir.AttemptRef]core.LocalProgress, results map[weir.AttemptRef]channels.SendResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	progress, results = map[weir.AttemptRef]core.LocalProgress{}, map[weir.AttemptRef]channels.SendResult{}
	for ref, h := range s.attempts {
		progress[ref] = h.LocalProgress
		if h.result != nil {
			results[ref] = *h.result
		}
	}
	return progress, results
}

// dropRefused forgets the claims that were refused, when a new incarnation has
// taken over what is in flight. It requeues contacts that were not sent; they are
// forgotten once that is durable.
func (s *channelState) dropRefused(inFlight []weir.Contact) {
	sending := map[weir.AttemptRef]bool{}
	for i := range inFlight {
		sending[inFlight[i].AttemptRef()] = inFlight[i].State == weir.Sending
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.attempts, func(ref weir.AttemptRef, h localAttempt) bool {
		return h.LocalProgress == core.LocalClaimed && !sending[ref]
	})
}

// leased reports whether the lease is certainly still ours.
func (s *channelState) leased(now time.Time) bool {
	until := s.until.Load()
	return until != nil && now.Before(*until)
}

// setAwake counts the broker among those that run, or no longer.
func (s *channelState) setAwake(awake bool, running prometheus.Gauge) {
	switch was := s.awake.Swap(awake); {
	case awake && !was:
		running.Inc()
	case !awake && was:
		running.Dec()
	}
}
