package channels

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"

	"weir"
	core "weir/actors/contacts"
	"weir/channels"
)

// channelState is the state of a channel that outlives the incarnations of its
// broker.
type channelState struct {
	channel weir.ChannelID
	actor   atomic.Pointer[actor.PID] // the current broker
	mailbox actor.Mailbox             // its mailbox
	awake   atomic.Bool               // the broker counts as running
	// claimsAtOnce is set while a contact that is accepted would be claimed at once.
	claimsAtOnce atomic.Bool
	cancels      chan struct{}     // a token for each cancel under way at the provider
	meter        *meter            // counts for the charts
	brake        *weir.BrakeWindow // used by the broker's actor alone
	writes       pendingOps        // changes submitted to the writer and not answered

	mu       sync.Mutex
	attempts map[weir.AttemptRef]localAttempt
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

// localAttempt is a local attempt: how far this process got with it, from its durable
// claim until its outcome is durable. The result of a provider call is kept here for the
// next incarnation: a message can be lost in a crash of the actor, and a change that
// waits in the writer is refused once the next incarnation has begun.
type localAttempt struct {
	core.LocalProgress
	result *channels.SendResult
}

// newChannelState returns the state of a channel whose broker may have that many
// cancels under way, at least one.
func newChannelState(channel weir.ChannelID, cancels int) *channelState {
	return &channelState{channel: channel, meter: &meter{}, brake: &weir.BrakeWindow{}, cancels: make(chan struct{}, max(1, cancels)), attempts: map[weir.AttemptRef]localAttempt{}}
}

// recordClaims records claims that are durable.
func (s *channelState) recordClaims(refs []weir.AttemptRef, stale []weir.ContactID) {
	if len(refs) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range refs {
		if !slices.Contains(stale, ref.ID) {
			s.attempts[ref] = localAttempt{LocalProgress: core.LocalClaimed}
		}
	}
}

// recordSend records that the provider is being called, and then the result.
func (s *channelState) recordSend(ref weir.AttemptRef, result *channels.SendResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts[ref] = localAttempt{core.LocalSending, result}
}

// drop forgets attempts whose outcome is durable. An undone claim is not counted as an
// attempt, so that its successor has the same number; the successor is recorded when it
// is durable, which is later.
func (s *channelState) drop(refs []weir.AttemptRef) {
	if len(refs) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range refs {
		delete(s.attempts, ref)
	}
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

// setAwake records whether the broker is running, and keeps the gauge of running brokers.
func (s *channelState) setAwake(awake bool, running prometheus.Gauge) {
	switch was := s.awake.Swap(awake); {
	case awake && !was:
		running.Inc()
	case !awake && was:
		running.Dec()
	}
}
