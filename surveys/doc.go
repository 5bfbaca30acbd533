// Package surveys defines the rules of surveys: when a respondent may be
// contacted, over which channel, how often it is retried, when a survey has
// enough respondents, and how many contacts are enqueued on a channel. It only
// decides; the survey broker executes.
//
// # Where to look
//
//	Definition, Plan    a user's input, and its checked form (plan.go)
//	Arm, Content        the variants of a survey, their modes and their texts
//	RetrySchedule       the delays before each further attempt
//	Quotas              which respondents count where
//	Progress            the state of a respondent; methods of Plan return the next one
//	                    (respondent.go, conversation.go)
//	Stepper             turns steps of a Plan into moves, which the broker writes
//	Decision, Verdict   what a running survey does next, and what becomes of it (decision.go)
//	Facts, Turn         what a round has read of a survey, and what it does then (turn.go)
//	Bid                 what it would enqueue on a channel, until the room is shared (bids.go)
//	Survey, Respondent  the stored records (records.go), and the store (store.go)
//	calendar            package: when the survey is open
//	pacing              package: how many contacts are enqueued now, and for which surveys
//	respondents         package: files of respondents, phone numbers, attributes
//
// # Invariants
//
//   - Nothing here does I/O, reads a clock, starts a goroutine or draws random
//     numbers: the instant, the random number and the reader are arguments. The
//     one exception is [calendar.Compile], which loads the zone with
//     time.LoadLocation; a program that must run without the system's zones
//     imports time/tzdata.
//   - No contact is requested outside an open window, after the last retry of the
//     schedule, or for a respondent whose status is final.
//   - A contact that was never dispatched consumes nothing: neither an expired
//     contact nor a canceled one counts as an attempt.
//   - Every active respondent has an instant at which its next step is due.
package surveys
