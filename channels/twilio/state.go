package twilio

import (
	"strings"

	"weir"
	"weir/channels"
)

// The values of final_state.
const (
	// finalSent: the slot is freed when the carrier has the message. Many carriers
	// confirm no delivery.
	finalSent = "sent"
	// finalDelivered: the slot is held until the handset has it.
	finalDelivered = "delivered"
)

// messageState interprets the status of a message. outcome is empty while it goes
// on; known is false for a status that Twilio may add one day.
func messageState(status string, code int, final string) (outcome weir.Outcome, reason string, known bool) {
	switch status {
	case "accepted", "scheduled", "queued", "sending", "partially_delivered":
		return "", "", true
	case "sent":
		if final == finalDelivered {
			return "", "", true
		}
		return weir.Completed, "", true
	case "delivered", "read":
		return weir.Completed, "", true
	case "undelivered", "failed":
		outcome, reason = failure(code)
		return outcome, reason, true
	case "canceled":
		return weir.Canceled, channels.CanceledAtProvider, true
	}
	return "", "", false
}

// callState interprets the status of a call. sip is the SIP code of its end, if
// known.
func callState(status, answeredBy, sip string) (outcome weir.Outcome, reason string, known bool) {
	switch status {
	case "queued", "initiated", "ringing", "in-progress":
		return "", "", true
	case "completed":
		if strings.HasPrefix(answeredBy, "machine") || answeredBy == "fax" {
			return weir.Completed, channels.Machine, true
		}
		return weir.Completed, "", true
	case "busy":
		return weir.Busy, "", true
	case "no-answer":
		return weir.NoAnswer, "", true
	case "failed":
		if sip == "404" || sip == "484" {
			return weir.Failed, channels.NumberNotUsable, true
		}
		return weir.Failed, channels.FailedAtProvider, true
	case "canceled":
		return weir.Canceled, channels.CanceledAtProvider, true
	}
	return "", "", false
}
