// Package workers is the channel type for people, reached through Weir's own
// router: a contact becomes a job, and whoever takes the job deals with the
// contact. Interviews by people then have the same capacity, windows and
// retries as calls and messages.
//
// # Identity
//
// A job is named by its attempt: its id is the attempt's id, and its channel
// reference says that it is ours. Making the same job again changes nothing, so
// that a hand-over whose answer was lost can be repeated, and a question by id
// always finds it. A new attempt is a new job.
//
// # What the states mean
//
// The contact is active as soon as the job is durable in the router: from then
// on nothing but the router tells how it ends. Whether it waits for a worker, is
// offered or is being worked on is the job's business; the channel's capacity
// bounds jobs that are not over, whoever has them. A channel of about as many
// slots as there are workers keeps the order, the windows and the sharing
// between surveys in Weir's hands; more slots let the router choose among more.
//
// The reference at the provider is the job's id and, while a worker has it, the
// assignment's after a slash. A job that waits is cancelled by the router itself,
// durably and to the microsecond, when the contact's window closes. A job that
// is completed is wrapped up: the contact ends when it is closed, by what its
// disposition code means.
//
// # Invariants
//
//   - A contact is with one worker at most, and with none once it has ended: a
//     contact that is canceled is not taken out of a worker's hands.
//   - Events are hints. Whatever they tell, Ask tells too, so that a lost or
//     doubled one does no harm.
//   - No reason holds a number, a name or what a worker wrote.
package workers
