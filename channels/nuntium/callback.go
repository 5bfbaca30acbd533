package nuntium

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"weir"
	"weir/channels"
)

// Paths below the channel's callback URL.
const (
	ackPath      = "ack"
	incomingPath = "incoming"
)

// ParseCallback interprets an ack or a person's message. Any other path is ignored and
// answered with success, so that Nuntium does not repeat it forever.
func (d *driver) ParseCallback(c channels.Callback) (channels.CallbackResult, error) {
	if c.Method != http.MethodGet && c.Method != http.MethodPost {
		return channels.CallbackResult{}, errors.New("want GET or POST")
	}
	f := fields{c.Form, c.Query}
	switch strings.Trim(c.Path, "/") {
	case ackPath:
		return d.readAck(c, f)
	case incomingPath:
		return readIncoming(c, f)
	default:
		return channels.CallbackResult{}, nil
	}
}

// readAck reads the state of a message. Acks come twice, late and out of order;
// the broker handles that.
func (d *driver) readAck(c channels.Callback, f fields) (channels.CallbackResult, error) {
	guid := f.get("guid")
	if guid == "" {
		return channels.CallbackResult{}, errors.New("guid is missing")
	}
	m := d.final.meaning(f.get("state"))
	ref, part, ours := parseGUID(guid)
	if !ours {
		// One copy of a broadcast message. Its success is the message's success; its
		// failure is not the message's failure, because another copy may still arrive.
		if ref, part, ours = parseGUID(f.get(guidAttribute)); ours && m.outcome == weir.Failed {
			m = meaning{known: true}
		}
	}
	if !ours || !m.known {
		return channels.CallbackResult{}, nil
	}
	return channels.CallbackResult{Reports: []weir.Report{{
		Attempt: weir.AttemptRef{Ref: ref}, Part: part, Outcome: m.outcome,
		ProviderRef: tokenOf(ref), Reason: m.reason, At: c.At,
	}}}, nil
}

// readIncoming reads a message that a person sent. Addresses lose their protocol
// and otherwise stay as Nuntium gives them: digits without a plus.
func readIncoming(c channels.Callback, f fields) (channels.CallbackResult, error) {
	from := strings.TrimPrefix(f.get("from"), protocol)
	if from == "" {
		return channels.CallbackResult{}, errors.New("from is missing")
	}
	m := weir.Incoming{
		From: from, To: strings.TrimPrefix(f.get("to"), protocol), Body: f.get("body"),
		GUID: f.get("guid"), ReceivedAt: c.At, Fields: map[string]string{}, Line: f.get("channel"),
	}
	for _, key := range f.keys() {
		switch key {
		case "from", "to", "body", "guid":
		default:
			m.Fields[key] = f.get(key)
		}
	}
	if m.GUID == "" {
		// An application with a format of its own may leave the guid out. Repeats
		// then cannot be detected; better twice than lost.
		m.GUID = inventedGUID(c, m)
	}
	return channels.CallbackResult{
		Incoming: []weir.Incoming{m}, ContentType: "application/json", Body: []byte("[]"),
	}, nil
}

func inventedGUID(c channels.Callback, m weir.Incoming) string {
	sum := sha256.Sum256([]byte(m.From + "\x00" + m.Body + "\x00" + c.At.UTC().String()))
	return "weir-" + hex.EncodeToString(sum[:16])
}

// fields holds the parameters of a callback: those of its form and, with lower
// precedence, of its URL, because Nuntium merges its own into those of the URL.
type fields [2]url.Values

func (f fields) get(key string) string {
	for _, v := range f {
		if v.Has(key) {
			return strings.ToValidUTF8(v.Get(key), "\uFFFD")
		}
	}
	return ""
}

// keys returns the names in order, without names that are not valid UTF-8.
func (f fields) keys() []string {
	var out []string
	for _, v := range f {
		for key := range v {
			if key == strings.ToValidUTF8(key, "") {
				out = append(out, key)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
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
