// Package simulator is a Nuntium made for tests, demonstrations and people who
// try out their own integration: an HTTP server that accepts, routes, reports
// and forgets messages as Nuntium does, with its quirks and, when asked, with
// faults.
//
// # What it counts
//
// The tally's line is the Nuntium channel, its unit one message, its key the
// message's guid. A message takes its slot before the request that brought it
// is answered and gives it back just before the ack that reports delivered or
// failed is sent, or when it ends without an ack. A guid that was known is
// dropped, as Nuntium does, and counted as repeated: nobody gets it twice.
//
// # Operations of fault rules
//
//	send         the requests that bring messages; subject: the first address
//	query        the requests that list messages; subject: the token
//	admin        accounts, applications and channels; subject: the path
//	ack          delivery acks; subject: the guid
//	incoming     messages of people; subject: the guid
package simulator

// OperationHelp lists the operations for those who write fault rules.
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
