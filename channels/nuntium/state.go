package nuntium

import "weir"

// Nuntium's message states. It spells one of them both ways: "cancelled" by a
// user, "canceled" by a rule. An upstream answer that it does not understand
// leaves a message with no state at all; that is not an end.
const (
	stateQueued      = "queued"
	statePending     = "pending"
	stateDelayed     = "delayed"
	stateDelivered   = "delivered" // the gateway upstream has it
	stateConfirmed   = "confirmed" // the handset has it
	stateFailed      = "failed"
	stateBroadcasted = "broadcasted" // replaced by one copy for each channel
)

// finalState says which state ends a message that went well.
type finalState string

const (
	// finalDelivered: the slot is free when the gateway has the message. A
	// gateway that reports only receipts of handsets ends it as well.
	finalDelivered finalState = stateDelivered
	// finalConfirmed: the slot is held until the handset has it. Only for
	// gateways that report every receipt.
	finalConfirmed finalState = stateConfirmed
)

// meaning is what a state says of a message.
type meaning struct {
	known   bool // the state says that Nuntium has the message
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
		return meaning{known: true, outcome: weir.Failed, reason: "failed at the provider"}
	case "cancelled", "canceled":
		return meaning{known: true, outcome: weir.Failed, reason: "canceled at the provider"}
	default:
		return meaning{}
	}
}
