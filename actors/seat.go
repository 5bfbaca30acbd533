package actors

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/actors/core"
	"weir/channels"
)

// seat is the channel state that outlives the incarnations of its broker.
type seat struct {
	channel weir.ChannelID
	actor   atomic.Pointer[actor.PID] // the current broker
	until   atomic.Pointer[time.Time]
	handed  atomic.Int64  // number of the last message from outside that was sent to it
	drains  atomic.Bool   // the broker has to stop, and so does its next incarnation
	seen    int64         // number of the last message from outside that was handled; only the actor uses it
	cancels chan struct{} // a token for each cancel under way at the provider
	meter   *meter        // counts for the charts
	writes  tally         // changes submitted to the writer and not answered

	mu    sync.Mutex
	hands map[weir.AttemptRef]hand
	epoch int64 // of our last lease
}

// tally counts operations under way. Unlike a sync.WaitGroup, which panics in
// that case, it may be waited for while more begin.
type tally struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n falls to zero; nil while there is no waiter
}

func (t *tally) begin() {
	t.mu.Lock()
	t.n++
	t.mu.Unlock()
}

func (t *tally) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 && t.none != nil {
		close(t.none)
		t.none = nil
	}
}

// wait returns once nothing was under way for an instant.
func (t *tally) wait() {
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

// hand is a local attempt: how far this process got with it. The result of a
// provider call is kept here until the change that the core derived from it is
// durable: a message can be lost in a crash of the actor, and a change that waits
// in the writer is refused once the next incarnation has its epoch.
type hand struct {
	core.Hand
	result *channels.Sent
	claim  *claim
}

// claim distinguishes one claim of an attempt from the next: an undone claim is
// not counted as an attempt, so its successor has the same number.
type claim struct{ ref weir.AttemptRef }

// newSeat returns a seat whose broker has at most cancels cancels under way.
func newSeat(channel weir.ChannelID, cancels int) *seat {
	return &seat{channel: channel, meter: &meter{}, cancels: make(chan struct{}, max(1, cancels)), hands: map[weir.AttemptRef]hand{}}
}

// claimed records a new local attempt.
func (s *seat) claimed(ref weir.AttemptRef) {
	s.mu.Lock()
	s.hands[ref] = hand{Hand: core.HandClaimed, claim: &claim{ref}}
	s.mu.Unlock()
}

// sending records that the provider is being called, and then the result.
func (s *seat) sending(ref weir.AttemptRef, result *channels.Sent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hands[ref]
	if h.claim == nil {
		h.claim = &claim{ref}
	}
	s.hands[ref] = hand{core.HandSending, result, h.claim}
}

// claims returns the claims of these attempts, which drop needs to forget them
// later.
func (s *seat) claims(refs []weir.AttemptRef) []*claim {
	if len(refs) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	claims := make([]*claim, 0, len(refs))
	for _, r := range refs {
		if h, ok := s.hands[r]; ok {
			claims = append(claims, h.claim)
		}
	}
	return claims
}

// drop forgets claims, but not later claims of the same attempts.
func (s *seat) drop(claims []*claim) {
	if len(claims) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range claims {
		if s.hands[c.ref].claim == c {
			delete(s.hands, c.ref)
		}
	}
}

// took records that a lease was acquired. If another process held it in between,
// our claims that were not sent are void: a refused one may be that process's
// claim by now, with the same number.
func (s *seat) took(epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch <= s.epoch {
		return // of an earlier incarnation
	}
	if epoch != s.epoch+1 {
		maps.DeleteFunc(s.hands, func(_ weir.AttemptRef, h hand) bool { return h.Hand == core.HandClaimed })
	}
	s.epoch = epoch
}

// held returns the local attempts for a new incarnation.
func (s *seat) held() (hands map[weir.AttemptRef]core.Hand, results map[weir.AttemptRef]channels.Sent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hands, results = map[weir.AttemptRef]core.Hand{}, map[weir.AttemptRef]channels.Sent{}
	for ref, h := range s.hands {
		hands[ref] = h.Hand
		if h.result != nil {
			results[ref] = *h.result
		}
	}
	return hands, results
}

// adopted forgets the claims that were refused, when a new incarnation has
// taken over what is in flight. It requeues contacts that were not sent; they are
// forgotten once that is durable.
func (s *seat) adopted(inFlight []weir.Contact) {
	sending := map[weir.AttemptRef]bool{}
	for i := range inFlight {
		sending[inFlight[i].AttemptRef()] = inFlight[i].State == weir.Sending
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.hands, func(ref weir.AttemptRef, h hand) bool { return h.Hand == core.HandClaimed && !sending[ref] })
}

// leased reports whether the lease is certainly still ours.
func (s *seat) leased(now time.Time) bool {
	until := s.until.Load()
	return until != nil && now.Before(*until)
}
