// Package demo shows the main job of Weir to a person who looks on: contacts
// are fed to a broker over HTTP, the broker is killed half-way and started
// again, and at the end two simulated providers tell what really reached
// them.
//
// # Invariants
//
//   - The verdict rests on the providers' own records, never on the broker's
//     word alone: what the broker says is held against them.
//   - The broker is a process of its own, the same program with "serve"; the
//     providers live in the demo's process, so that they outlive it.
//   - Everything listens on loopback, and nothing is left behind: neither
//     process nor file, except the broker's log when something went wrong.
package demo
