// Package simulator is a simulated Kannel for tests, demonstrations and people who
// try out their own integration: smsbox's sendsms, bearerbox's status.xml and the
// requests that smsbox makes for delivery reports and for messages from people,
// with their quirks and, on request, with faults. make test-kannel holds it against
// bearerbox and smsbox 1.4.5, answer by answer.
//
// # What it counts
//
// The tally's line is the link (smsc-id), its unit one message, its key the number
// and a hash of the text: Kannel has no identity of a message, so that the same
// text to the same person counts as doubled. A message takes its slot before its
// request is answered and releases it just before its first report other than
// buffered is sent.
//
// # Operations of fault rules
//
//	send         requests to sendsms; subject: the number
//	status       requests to status.xml
//	dlr          delivery reports; subject: the number
//	incoming     messages from people; subject: the number
package simulator

// OperationHelp lists the operations, for authors of fault rules.
const OperationHelp = `Operations that a fault may name: send and status for requests; dlr and
incoming for callbacks.
`

// Operations of fault rules.
const (
	opSend     = "send"
	opStatus   = "status"
	opReport   = "dlr"
	opIncoming = "incoming"
)
