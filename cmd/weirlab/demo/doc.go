// Package demo shows the main task of Weir to a person at a terminal: two surveys run
// over two shared channels, with people who do not pick up, answer late or write STOP,
// and an application that conducts the conversations. The broker is killed half-way and
// restarted, and at the end two simulated providers report what really reached the
// people. With several processes a balancer is in front of them, and the owner of the
// database is killed, stopped and made to stand still, one after the other.
//
// # Overview
//
//	Run            sets up, runs and concludes
//	population     the respondents; the files that are imported
//	campaign       the surveys, and the weir commands that begin them
//	application    the program that conducts the conversations
//	participants   the people, as far as they write messages
//	cluster        several processes on a database server, and who owned it when
//	troubles       what is done to them
//	judge, inspect the verdict over a channel, and over a survey
//	courtesy       the rules for the sake of people; refusals: who wrote STOP, and when
//	Serve          live traffic until the context ends: traffic, what a person breaks
//	               (breaks) on a page (panel), and the record of proof (record)
//
// # Invariants
//
//   - The verdict rests on the records of the providers and of the application,
//     never on the broker's data alone: these are compared with the records.
//   - The broker is a separate process, the program weir with "serve"; the
//     providers and the application run in the demo's process, so that they
//     outlive the broker.
//   - Everything listens on loopback, and nothing is left behind: neither
//     process nor file, except the broker's log when something went wrong.
package demo
