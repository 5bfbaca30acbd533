package nuntium

import (
	"weir"
	"weir/channels"
)

// Nuntium's message states. One of them has two spellings: "cancelled" by a user,
// "canceled" by a rule. An upstream answer that Nuntium does not understand
// leaves a message with no state at all; that is not an end.
const (
	stateQueued      = "queued"
	statePending     = "pending"
	stateDelayed     = "delayed"
	stateDelivered   = "delivered" // the upstream gateway has it
	stateConfirmed   = "confirmed" // the handset has it
	stateFailed      = "failed"
	stateBroadcasted = "broadcasted" // replaced by one copy for each channel
)

// finalState is the state that ends a message successfully.
type finalState string

const (
	// finalDelivered: the slot is freed when the gateway has the message. A
	// gateway that reports only handset receipts ends it as well.
	finalDelivered finalState = stateDelivered
	// finalConfirmed: the slot is held until the handset has it. Only for
	// gateways that report every receipt.
	finalConfirmed finalState = stateConfirmed
)

// meaning interprets a message state.
type meaning struct {
	known   bool // the state shows that Nuntium has the message
	outcome weir.Outcome
	reason  string
}

func (f finalState) meaning(state string) meaning {
	switch state {
	case statePending, stateQueued, stateDelayed:
		return meaning{known: true}
	case stateDelivered:
		if f == finalConfirmed {
			return meaning{known: true}
		}
		return meaning{known: true, outcome: weir.Completed}
	case stateConfirmed:
		return meaning{known: true, outcome: weir.Completed}
	case stateFailed:
		return meaning{known: true, outcome: weir.Failed, reason: channels.FailedAtProvider}
	case "cancelled", "canceled":
		return meaning{known: true, outcome: weir.Failed, reason: channels.CanceledAtProvider}
	default:
		return meaning{}
	}
}
