package kannel

import (
	"strconv"
	"strings"

	"weir"
	"weir/channels"
)

// The bits of a delivery report's state.
const (
	bitDelivered = 1  // the handset has it
	bitFailed    = 2  // the SMSC gave up
	bitBuffered  = 4  // the SMSC keeps trying
	bitSent      = 8  // the SMSC has it
	bitRefused   = 16 // the SMSC refused it, or Kannel did
	bitBetween   = 32 // an intermediate state; with bitFailed: expired
)

// finalState is the state that ends a message successfully.
type finalState string

const (
	// finalSent: the slot is freed when the SMSC has the message. Many operators
	// send no receipts.
	finalSent finalState = "sent"
	// finalDelivered: the slot is held until the handset has it. Only for operators
	// that send every receipt.
	finalDelivered finalState = "delivered"
)

func finalStates() []string { return []string{string(finalSent), string(finalDelivered)} }

// outcomeOf interprets a report: its state and the first words of the receipt.
// known is false if the state shows nothing.
func (f finalState) outcomeOf(state int, receipt string) (outcome weir.Outcome, reason string, known bool) {
	switch {
	case state&bitDelivered != 0:
		return weir.Completed, "", true
	case state&bitRefused != 0:
		outcome, reason = refusal(receipt)
		return outcome, reason, true
	case state&bitFailed != 0:
		outcome, reason = failure(state, receipt)
		return outcome, reason, true
	case state&bitSent != 0 && f == finalSent:
		return weir.Completed, "", true
	case state&(bitSent|bitBuffered|bitBetween) != 0:
		return "", "", true
	}
	return "", "", false
}

// failure returns the outcome of a message that the SMSC could not deliver.
// Receipts hold the SMPP state in the word stat.
func failure(state int, receipt string) (weir.Outcome, string) {
	for word := range strings.FieldsSeq(receipt) {
		switch strings.ToUpper(word) {
		case "STAT:EXPIRED":
			return weir.Expired, channels.WindowClosed
		case "STAT:REJECTD":
			return weir.Failed, "rejected by the operator"
		}
	}
	if state&bitBetween != 0 {
		return weir.Expired, channels.WindowClosed
	}
	return weir.Failed, channels.FailedAtProvider
}

// refusal returns the outcome of a message that the SMSC or Kannel refused, from
// a receipt such as NACK/0x0000000b/Invalid or NACK/validity expired. A code is
// the SMPP status of the refusal.
func refusal(receipt string) (weir.Outcome, string) {
	cause, _ := strings.CutPrefix(receipt, "NACK/")
	if strings.HasPrefix(cause, "validity") {
		return weir.Expired, channels.WindowClosed
	}
	if cause == "no SMSC" || strings.HasPrefix(cause, "receiver") {
		return weir.Failed, channels.NumberNotUsable
	}
	code, _, _ := strings.Cut(cause, "/")
	status, err := strconv.ParseUint(code, 0, 32)
	if err != nil {
		return weir.Failed, "refused by the operator"
	}
	switch status {
	case 0x0b, 0x33, 0x50, 0x51: // destination address, its count, its kind, its plan
		return weir.Failed, channels.NumberNotUsable
	case 0x0a, 0x48, 0x49: // source address, its kind, its plan
		return weir.Failed, "sender not usable"
	case 0x01: // length
		return weir.Failed, channels.MessageNotAcceptable
	}
	return weir.Failed, "refused by the operator"
}
