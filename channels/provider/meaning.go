package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"

	"weir"
	"weir/channels"
	"weir/internal/outbound"
)

// Sent interprets a result for a contact that was to be dispatched, as far as HTTP
// itself determines it. A driver first handles the answers that have a specific
// meaning at its provider: 2xx always, mostly 400. For 2xx, Sent reports that the
// answer was not understood.
func (r Result) Sent() channels.SendResult {
	s := channels.SendResult{Status: channels.NotSent, Reason: r.Reason(), ChannelFault: true, RetryAfter: r.RetryAfter}
	switch {
	case r.Delivery == NeverSent:
		s.ChannelFault = !errors.Is(r.Err, context.Canceled) // our own doing
		return s
	case r.Delivery == MaybeSent:
		s.Status = channels.Unclear
		s.ChannelFault = !errors.Is(r.Err, context.Canceled)
		return s
	}
	switch r.Status {
	// The account, the address and the form of the request are those of every contact, so that one mistake in the settings does
	// not use up the tries of a whole list.
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusTooManyRequests,
		http.StatusNotFound, http.StatusGone, http.StatusMisdirectedRequest,
		http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusLengthRequired, http.StatusUnsupportedMediaType, http.StatusUpgradeRequired,
		http.StatusServiceUnavailable:
		return s
	case http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: s.Reason}
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusGatewayTimeout:
		// A proxy answered. The server behind it may still be at work.
		s.Status = channels.Unclear
		return s
	}
	switch {
	case r.Status >= 500:
		s.Status, s.Answered = channels.Unclear, true
	case r.Status >= 400:
		s.ChannelFault = false // may be caused by this contact: retried, but not forever
	case r.Status >= 200 && r.Status < 300:
		s.Status, s.Answered = channels.Unclear, r.Err == nil
	case r.Status < 200: // 101, which nobody has asked for: the server read the request
		s.Status = channels.Unclear
	}
	return s // 3xx: not sent, the base_url is wrong
}

// AskFailed returns the answer of a driver that could not ask.
func (r Result) AskFailed() channels.Answer {
	return channels.Answer{Status: channels.QueryFailed, Reason: r.Reason()}
}

// Erring returns the status of a channel whose provider could not be asked.
func (r Result) Erring() channels.Status {
	return channels.Status{Health: weir.Erring, Reason: r.Reason()}
}

// Reason returns in a few stable words why a result is not a success. It holds
// nothing that came from the provider.
func (r Result) Reason() string {
	if r.Delivery != Answered {
		return reasonOf(r.Err)
	}
	switch {
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		return "credentials refused"
	case r.Status == http.StatusPaymentRequired:
		return "account or sender not usable"
	case r.Status == http.StatusNotFound || r.Status == http.StatusMethodNotAllowed || r.Status == http.StatusGone:
		return "not found at the provider"
	case r.Status == http.StatusTooManyRequests:
		return channels.RateLimited
	case r.Status == http.StatusServiceUnavailable:
		return "provider unavailable"
	case r.Status == http.StatusBadGateway || r.Status == http.StatusGatewayTimeout:
		return "gateway error"
	case r.Status >= 500:
		return "provider error"
	case r.Status >= 400:
		return "request refused"
	case r.Status >= 300:
		return "provider redirects"
	case errors.Is(r.Err, ErrBodyTooLarge):
		return "answer too large"
	case r.Err != nil:
		return "answer cut off"
	}
	return "answer not understood"
}

func reasonOf(err error) string {
	if errors.Is(err, context.Canceled) {
		return "given up by us"
	}
	if outbound.KindOf(err) == outbound.Refused {
		return "address not allowed; see WEIR_OUTBOUND_ALLOW"
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "host not found"
	}
	if e, ok := errors.AsType[net.Error](err); errors.Is(err, context.DeadlineExceeded) || ok && e.Timeout() {
		return "timeout"
	}
	if isTLS(err) {
		return "TLS failure"
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection cut"
	}
	return "connection failed"
}

func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	_, ok := errors.AsType[tls.AlertError](err)
	return ok
}
