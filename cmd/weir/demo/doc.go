// Package demo shows the main job of Weir to a person who looks on: two surveys
// are run over two shared channels, with people who do not pick up, answer late
// or say STOP, and an application that holds the conversations. The broker is
// killed half-way and started again, and at the end two simulated providers tell
// what really reached the people.
//
// # Where to look
//
//	Run            set the stage, play, conclude
//	population     who is asked; the files that are imported
//	campaign       the surveys, and the commands of weir that begin them
//	application    the program that conducts the conversations
//	crowd          the people, as far as they write messages
//	judge, inspect the verdict over a channel, and over a survey
//
// # Invariants
//
//   - The verdict rests on the records of the providers and of the application,
//     never on the broker's word alone: what the broker says is held against them.
//   - The broker is a process of its own, the same program with "serve"; the
//     providers and the application live in the demo's process, so that they
//     outlive it.
//   - Everything listens on loopback, and nothing is left behind: neither
//     process nor file, except the broker's log when something went wrong.
package demo
