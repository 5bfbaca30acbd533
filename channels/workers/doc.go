// Package workers is the channel type for people, reached through Weir's own
// router: a contact becomes a job, and the worker who accepts the job handles the
// contact. Interviews by people thus have the same capacity, windows and retries
// as calls and messages.
//
// # Identity
//
// A job is identified by its attempt: its id is the attempt's id, and its channel
// reference marks it as ours. Creating the same job again changes nothing, so a
// dispatch whose answer was lost can be repeated, and a query by id always finds
// it. A new attempt is a new job.
//
// # What the states mean
//
// The contact is active as soon as the job is durable in the router: from then
// on only the router determines its outcome. Whether the job waits for a worker,
// is offered or is being worked on makes no difference to the contact; the
// channel's capacity bounds the jobs that are not done, whichever worker has them.
// A channel with about as many slots as there are workers leaves the order, the
// windows and the sharing between surveys to Weir; more slots let the router
// choose among more jobs.
//
// The provider reference is the job's id and, once a worker has it, a slash and
// the assignment's id. The router itself cancels a waiting job, durably and to the
// microsecond, when the contact's window closes. A completed job is in wrap-up:
// the contact ends when the job is closed, with the outcome that its disposition
// code maps to.
//
// # Invariants
//
//   - A contact is with one worker at most, and with none once it has ended:
//     canceling a contact does not take it from a worker who has it.
//   - Events are hints. Query reports everything that they report, so that a lost
//     or duplicate event does no harm.
//   - No reason holds a number, a name or a text that a worker wrote.
package workers
