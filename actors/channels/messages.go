package channels

import (
	"time"

	"weir"
	core "weir/actors/contacts"
	"weir/channels"
	"weir/operators"
)

// Messages to the manager.
type (
	// deliver passes a message to a channel's broker, which is started if it is not
	// running.
	deliver struct {
		channel weir.ChannelID
		msg     any
	}
	// ifRunning passes a message to the broker only if it is running.
	ifRunning struct {
		channel weir.ChannelID
		msg     any
		missing func()
	}
	// broadcast passes a message to every running broker; count receives their
	// number.
	broadcast struct {
		msg   any
		count chan int
	}
	brokerEnded struct {
		channel weir.ChannelID
		actor   string
	}
	brokerQuiet struct {
		channel weir.ChannelID
		actor   string
	}
	quietAll struct{ done chan struct{} }
)

// Messages to a broker, from outside.
type (
	accepted struct{ contacts []weir.Contact }
	// accepting asks a broker to submit contacts, with claims for as many as find free
	// slots.
	accepting struct{ *acceptance }
	reported  struct {
		report weir.Report
		from   core.Origin
	}
	cancelRequest struct {
		ref  weir.Ref
		from core.Origin
	}
	// callOff cancels contacts in flight that people do not want any more. Every running broker
	// answers how many they are.
	callOff struct {
		unwanted func(*weir.Contact) bool
		answer   func(int)
	}
	changed   struct{ done chan<- core.Reply }
	sweepHint struct{}
	// optedOut reports a person who opted out on the channel.
	optedOut struct{ address string }
	// figuresRequest requests the live numbers. absent, if it is not nil, is called
	// instead of answer by a broker that does not run its channel (yet).
	figuresRequest struct {
		answer func(liveReport)
		absent func()
	}
	// whyRequest requests the reasons why contacts of its channel wait. absent is called
	// instead of answer by a broker that does not run its channel.
	whyRequest struct {
		contacts []weir.Contact
		answer   func([]operators.Why)
		absent   func()
	}
	// observed carries a provider health that another request has returned.
	observed struct{ status channels.Status }
	quieten  struct{}
)

// answer reports to the waiter that the change was seen, and never blocks.
func (c changed) answer(err error) {
	select {
	case c.done <- core.Reply{Err: err}: // a nil channel is never ready: no waiter
	default:
	}
}

// result carries the outcome of work that an incarnation of the broker started. A
// later incarnation drops it.
type result struct {
	gen int64
	msg any
}

// Inner returns the message in the envelope.
func (r result) Inner() any { return r.msg }

// Messages to a broker, from its own goroutines. All but sendDone come as a result:
// an attempt is identified whichever incarnation began to send it.
type (
	loaded struct {
		snapshot core.Snapshot
		by       weir.Incarnation
		results  map[weir.AttemptRef]channels.SendResult
		driver   channels.Driver
		err      error
	}
	channelRead struct {
		ch     weir.Channel
		driver channels.Driver
		err    error
		done   chan<- core.Reply
	}
	written struct {
		claimed []weir.AttemptRef
		result  weir.CommitResult
	}
	// acceptedReserved ends a reservation with the contacts that were accepted.
	acceptedReserved struct {
		reserved []weir.Spec
		contacts []weir.Contact
	}
	sendDone struct {
		attempt weir.AttemptRef
		sent    channels.SendResult
	}
	askDone struct {
		attempt weir.AttemptRef
		answer  channels.Answer
	}
	cancelDone struct {
		attempt weir.AttemptRef
		done    channels.Cancellation
	}
	pageRead struct {
		page     core.Page
		contacts []weir.Contact
		err      error
	}
	lanesRead struct {
		lanes  []weir.Lane
		queued int64
		err    error
	}
	instantRead struct {
		kind     core.ReadKind
		contacts []weir.Contact
		next     time.Time
		err      error
	}
	contactRead struct {
		load    core.Load
		contact weir.Contact
		found   bool
		err     error
	}
	prepareDone struct{ err error }
	// brakeDone carries the channel's row after its brake has acted; acted is false if
	// the store did not pause it.
	brakeDone struct {
		channelRead
		braked weir.Braked
		acted  bool
	}
	statusDone struct{ status channels.Status }
	removeDone struct{ err error }
	tick       struct{}
	// passivate says that the core has been idle for long enough.
	passivate struct{}
)

// acceptance is contacts on their way into the store.
type acceptance struct {
	weir.Acceptance
	specs     []weir.Spec
	announced bool // the broker gets the result; read it only after Wait
}

// freshOf returns the contacts that did not exist before.
func freshOf(answers []weir.Accepted) []weir.Contact {
	fresh := make([]weir.Contact, 0, len(answers))
	for i := range answers {
		if !answers[i].Duplicate {
			fresh = append(fresh, answers[i].Contact)
		}
	}
	return fresh
}
