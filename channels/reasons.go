package channels

import "weir"

// Reasons that drivers of all types use where they fit, so that clients, rules and
// dead letters can compare them. Their texts are stable. For anything else a
// driver has words of its own: short, without numbers, names or secrets.
const (
	// OptedOut: the person does not want to be contacted, as far as the provider
	// knows. Contact them no more.
	OptedOut = weir.ReasonOptedOut
	// NumberNotUsable: the address does not exist, or cannot be reached by this kind
	// of channel.
	NumberNotUsable = "number not usable"
	// MessageNotAcceptable: the content is too long, empty or not allowed.
	MessageNotAcceptable = "message not acceptable"
	// RateLimited: too many at one time, for the channel or for one recipient.
	RateLimited = "rate limited"
	// WindowClosed: the provider did not carry it out in time.
	WindowClosed = "window closed"
	// Machine: an answering machine or a fax took the call.
	Machine = "machine"
	// FailedAtProvider: the provider gave up and does not report why.
	FailedAtProvider = "failed at the provider"
	// CanceledAtProvider: canceled there, and not by Weir.
	CanceledAtProvider = "canceled at the provider"
)
