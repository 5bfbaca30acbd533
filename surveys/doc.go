// Package surveys defines the rules of surveys: when a respondent may be
// contacted, over which channel, how often it is retried, when a survey has
// enough respondents, and how many contacts are enqueued on a channel. It only
// decides; the survey broker executes.
//
// # Where to look
//
//	Definition, Plan    a user's input, and its checked form
//	Schedule            weekdays, windows, zone, blocked days, first and last date
//	Ladder              retry schedule: the delays before each further attempt
//	Progress            the life of a respondent; methods of Plan return the next one
//	Quotas, Tally       which respondents count where, and when there are enough
//	Room, MinuteLimit, FairShare  how many contacts are enqueued now, and for which surveys
//	Arm, Content        the questionnaire, its modes and its texts
//	Reader              respondents from CSV and NDJSON, row by row
//
// # Invariants
//
//   - Nothing here does I/O, reads a clock, starts a goroutine or draws random
//     numbers: the instant, the random number and the reader are arguments. The
//     one exception is [ScheduleSpec.Compile], which loads the zone with
//     time.LoadLocation; a program that must run without the system's zones
//     imports time/tzdata.
//   - No contact is requested outside an open window, after the last retry of the
//     schedule, or for a respondent whose status is final.
//   - A contact that was never dispatched consumes nothing: neither an expired
//     contact nor a canceled one counts as an attempt.
//   - Every active respondent has an instant at which its next step is due.
package surveys
