// Package simulator is a simulated Twilio for tests, demonstrations and people who
// try out their own integration: messages, calls and the account of its REST API,
// and the callbacks that it makes, signed, with their quirks and, on request, with
// faults.
//
// # What it counts
//
// The tally's line is the sender (From, or the messaging service), its unit one
// message or call, its key the status callback URL, or the SID without one: a
// client whose URLs name its attempts is counted as doubled when it requests one
// twice. A message ends when the carrier has it, a call when it is over.
//
// # Operations of fault rules
//
//	send         requests for a message or call; subject: the number
//	get          requests for one message or call; subject: its SID
//	list         requests for a list; subject: the number
//	cancel       changes of a message or call; subject: its SID
//	account      requests for the account
//	status       status callbacks; subject: the SID
//	incoming     messages from people; subject: the number
package simulator

// OperationHelp lists the operations, for authors of fault rules.
const OperationHelp = `Operations that a fault may name: send, get, list, cancel and account for
requests; status and incoming for callbacks.
`

// Operations of fault rules.
const (
	opSend     = "send"
	opGet      = "get"
	opList     = "list"
	opCancel   = "cancel"
	opAccount  = "account"
	opStatus   = "status"
	opIncoming = "incoming"
)
