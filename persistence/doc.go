// Package persistence keeps contacts and channels in an SQL database. It is
// the only package, with its subfolders and the migrations, that knows SQL.
//
// # Invariants
//
//   - Everything that many contacts go through — acceptance, transitions,
//     forwarded reports — is written by one goroutine, the group-commit
//     writer, on one connection: it takes all that waits and commits it as a
//     few multi-row statements in one transaction. It never waits for more.
//   - Every transaction of the writer carries its number in the table writers.
//     When the connection breaks at COMMIT, that number tells whether the
//     transaction was committed; nothing is ever written twice or given up in
//     doubt.
//   - Where one process alone can write, what the writer knows of channels and
//     leases stays good until a transaction beside it counts itself, which it
//     does before its COMMIT.
//   - A transition is written only under the epoch of its channel's lease and
//     over the revision that it names.
//   - channel_counts changes in the transaction that changes the contacts.
//   - The sums of a survey change in the transaction that changes its
//     respondents; a notice is written in the one in which it happened.
//   - No statement of a broker reads more rows than its limit or the channel's
//     capacity, whatever lies in the queue or behind it.
//
// The difference between databases is in package dialect and the folders that
// implement it. A new one is such a folder, its migrations and a line in the
// table of this package.
package persistence
