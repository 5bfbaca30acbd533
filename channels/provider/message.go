package provider

import (
	"context"
	"encoding/binary"
	"strings"
	"unicode/utf16"

	"weir"
	"weir/channels"
)

// Refused returns the result of a contact that cannot be dispatched, now or ever.
func Refused(outcome weir.Outcome, reason string) channels.SendResult {
	return channels.SendResult{Status: channels.Refused, Outcome: outcome, Reason: reason}
}

// NoCancel is a part of drivers whose provider cannot cancel a message.
type NoCancel struct{}

// Cancel always reports failure to cancel.
func (NoCancel) Cancel(context.Context, channels.Attempt) channels.Cancellation {
	return channels.Cancellation{Reason: "the provider cannot take messages back"}
}

// Number returns a phone number without the marks that people write into it, and with its
// plus, if it has one. ok is false if it is none.
func Number(s string) (number string, ok bool) {
	number = strings.Map(func(c rune) rune {
		if strings.ContainsRune(" -.()", c) {
			return -1
		}
		return c
	}, s)
	digits := strings.TrimPrefix(number, "+")
	return number, digits != "" && strings.Trim(digits, "0123456789") == ""
}

// UTF16BE returns a text in UTF-16, big endian.
func UTF16BE(s string) []byte {
	units := utf16.Encode([]rune(s))
	out := make([]byte, 0, 2*len(units))
	for _, u := range units {
		out = binary.BigEndian.AppendUint16(out, u)
	}
	return out
}
