// Package simulator is a simulated Nuntium for tests, demonstrations and people
// who try out their own integration: an HTTP server that accepts, routes,
// reports and drops messages as Nuntium does, with its quirks and, on request,
// with faults.
//
// # What it counts
//
// The tally's line is the Nuntium channel, its unit one message, its key the
// message's guid. A message takes its slot before its request is answered and
// releases it just before its first ack (delivered, confirmed or failed) is
// sent, or when it ends without an ack. A known guid is dropped, as Nuntium
// does, and counted as repeated: no person gets it twice.
//
// # Operations of fault rules
//
//	send         the requests that bring messages; subject: the first address
//	query        the requests that list messages; subject: the token
//	admin        accounts, applications and channels; subject: the path
//	ack          delivery acks; subject: the guid
//	incoming     messages from people; subject: the guid
package simulator

// OperationHelp lists the operations, for authors of fault rules.
const OperationHelp = `Operations that a fault may name: send, query and admin for requests; ack and
incoming for callbacks.
`

// Operations of fault rules.
const (
	opSend     = "send"
	opQuery    = "query"
	opAdmin    = "admin"
	opAck      = "ack"
	opIncoming = "incoming"
)
