package drivertest

import (
	"net/http"
	"testing"

	"weir"
	"weir/channels"
)

// Meaning returns the result of a dispatch by the HTTP status of the answer alone, when its body has nothing that the driver knows: its
// fate, and whose fault it is. What is the same for every contact, such as the account, the address or the form of the request, is the channel's: else
// a mistake in the settings would use up the tries of a whole list.
func Meaning(status int) channels.SendResult {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusTooManyRequests: // the account
		return channels.SendResult{Status: channels.NotSent, ChannelFault: true}
	case http.StatusNotFound, http.StatusGone, http.StatusMisdirectedRequest: // the address
		return channels.SendResult{Status: channels.NotSent, ChannelFault: true}
	case http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusLengthRequired, http.StatusUnsupportedMediaType, http.StatusUpgradeRequired: // the form
		return channels.SendResult{Status: channels.NotSent, ChannelFault: true}
	case http.StatusServiceUnavailable: // the provider does not take it up
		return channels.SendResult{Status: channels.NotSent, ChannelFault: true}
	case http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge: // it will never be smaller
		return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed}
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusGatewayTimeout: // of a proxy: the provider may be at work
		return channels.SendResult{Status: channels.Unclear, ChannelFault: true}
	}
	if status < 500 { // it may be this contact: tried again, but not for ever
		return channels.SendResult{Status: channels.NotSent}
	}
	return channels.SendResult{Status: channels.Unclear, ChannelFault: true}
}

// everyStatus answers with each status, and nothing that a driver could know.
func everyStatus(t *testing.T, p Provider) {
	p.run(t, Options{}, func(w *World) {
		for status := 400; status < 600; status++ {
			w.Meddle(answering(Raw{status, "<html>"}))
			want := Meaning(status)
			if status == http.StatusServiceUnavailable {
				want.Status = p.Unavailable
			}
			got := w.Send(p.attempt(weir.ContactID(status)))
			if got.Reason == "" {
				t.Errorf("%d: no reason", status)
			}
			got.Reason, got.RetryAfter, got.Answered = "", 0, false
			if got != want {
				t.Errorf("%d: got %+v, want %+v", status, got, want)
			}
		}
	})
}
