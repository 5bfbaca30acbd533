// Package ownersim simulates 2 to 5 processes of Weir on one database, in virtual time on one
// goroutine. The decisions are the real ones: who owns the database (persistence/ownership),
// what becomes of a request that a standby passes on (web/forward), who is next (web/peers),
// and what the broker of a channel does (actors/contacts). The database, the network, the
// provider and the shell of a process, which carries the decisions out, are simulated. A seed
// gives one run, and the same seed the same run.
//
// In the first part of a run processes join, get SIGTERM, are killed and stopped;
// connections are cut, replies are lost, clocks step, that of the database goes back, and the database restarts or fails over.
// The second part is quiet, so that everything has to end. In every eighth run there are only
// joins and SIGTERMs.
//
// # Invariants
//
//   - A process takes the database only when no other one may act, and not from an owner that
//     has done nothing but lose the database for a while.
//   - A provider is called by the owner only, once for each contact, and never has more calls
//     than the channel has slots.
//   - Only the owner commits, in batches and beside them.
//   - A request is handled once, and by the owner. What was answered with success is durable, and
//     what was answered with "nothing was done" is not there.
//   - Every contact ends. Without crashes none becomes unknown, and no request is refused.
//   - A database that was released as planned is taken by the successor, before others may.
//   - There is an owner again soon after the last fault.
//
// [Rules] holds the decisions and duties as values: a test replaces one by a deliberate fault,
// and the simulation has to find it.
package ownersim
