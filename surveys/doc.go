// Package surveys holds the rules by which surveys are run: when a respondent
// may be contacted, over which channel, how often it is tried, when a survey has
// enough, and how many contacts a channel is fed. It decides; others do.
//
// # Where to look
//
//	Definition, Plan    what a user hands in, and what it means once checked
//	Schedule            weekdays, windows, zone, blocked days, first and last date
//	Ladder              how long to wait before the next attempt
//	Progress            the life of a respondent; methods of Plan move it on
//	Quotas, Tally       who counts for what, and when it is enough
//	Room, Minute, Rota  how many contacts are enqueued now, and for whom
//	Arm, Content        which questionnaire over which modes, and its words
//	Reader              respondents from CSV and NDJSON, row by row
//
// # Invariants
//
//   - Nothing here does I/O, asks a clock, starts a goroutine or throws dice:
//     the instant, the random number and the reader are arguments. The one
//     exception is [ScheduleSpec.Compile], which has the zone read by
//     time.LoadLocation: a program that is to run without the system's zones
//     imports time/tzdata.
//   - No contact is asked for outside an open window, beyond the last rung of a
//     ladder, or for a respondent whose status is final.
//   - What never went out consumes nothing: neither an expired contact nor a
//     withdrawn one counts as an attempt.
//   - Every status that is not final has an instant at which it is looked at
//     again.
package surveys
