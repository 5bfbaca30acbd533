package nuntium

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// Paths below the channel's callback URL.
const (
	ackPath      = "ack"
	incomingPath = "incoming"
)

// ParseCallback interprets an ack or a person's message. Nuntium repeats a callback at another
// path until the address of its application is right.
func (d *driver) ParseCallback(c channels.Callback) (channels.CallbackResult, error) {
	if c.Method != http.MethodGet && c.Method != http.MethodPost {
		return channels.CallbackResult{}, errors.New("want GET or POST")
	}
	// Nuntium merges its parameters into those of the URL, so that the form has precedence.
	p := provider.Parameters{c.Form, c.Query}
	switch c.Path {
	case ackPath:
		return d.readAck(c, p)
	case incomingPath:
		return readIncoming(c, p)
	default:
		return channels.CallbackResult{}, channels.ErrPath
	}
}

// readAck reads the state of a message. Acks come twice, late and out of order;
// the broker handles that.
func (d *driver) readAck(c channels.Callback, p provider.Parameters) (channels.CallbackResult, error) {
	guid := p.Get("guid")
	if guid == "" {
		return channels.CallbackResult{}, errors.New("guid is missing")
	}
	m := d.final.meaning(p.Get("state"))
	ref, part, ours := parseGUID(guid)
	if !ours {
		// One copy of a broadcast message. Its success is the message's success; its
		// failure is not the message's failure, because another copy may still arrive.
		if ref, part, ours = parseGUID(p.Get(guidAttribute)); ours && m.outcome == weir.Failed {
			m = meaning{known: true}
		}
	}
	if !ours || !m.known {
		return channels.CallbackResult{}, nil
	}
	return channels.CallbackResult{Reports: []weir.Report{report(ref, part, m, c.At)}}, nil
}

func report(ref weir.Ref, index int, m meaning, now time.Time) weir.Report {
	return weir.Report{
		Attempt: weir.AttemptRef{Ref: ref}, Part: index, Outcome: m.outcome,
		ProviderRef: tokenOf(ref), Reason: m.reason, At: now,
	}
}

// readIncoming reads a message that a person sent. Addresses lose their protocol
// and otherwise stay as Nuntium gives them: digits without a plus.
func readIncoming(c channels.Callback, p provider.Parameters) (channels.CallbackResult, error) {
	m := weir.Incoming{
		From: strings.TrimPrefix(p.Get("from"), protocol), To: strings.TrimPrefix(p.Get("to"), protocol), Body: p.Get("body"),
		GUID: p.Get("guid"), ReceivedAt: c.At, Fields: p.Others("from", "to", "body", "guid"), Line: p.Get("channel"),
	}
	if m.From == "" {
		return channels.CallbackResult{}, errors.New("from is missing")
	}
	// An application with a format of its own may leave the guid out.
	if m.GUID == "" {
		m.GUID = provider.InventedGUID(m.From, m.Body, c.At.UTC().String())
	}
	return channels.CallbackResult{
		Incoming: []weir.Incoming{m}, ContentType: "application/json", Body: []byte("[]"),
	}, nil
}

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
