// Package persistence keeps contacts and channels in an SQL database. It is
// the only package, with its subfolders and the migrations, that knows SQL.
//
// # Invariants
//
//   - Everything that many contacts pass through — acceptance, transitions,
//     forwarded reports — is written by one goroutine, the group-commit
//     writer, on one connection: it takes all waiting requests and commits them as a
//     few multi-row statements in one transaction.
//   - Every transaction of the writer records its number in the table writers.
//     If the connection breaks at COMMIT, that number shows whether the
//     transaction was committed. Nothing is written twice or given up while that
//     is unknown.
//   - A contact has one row in contacts, which never changes, and is in one state: in
//     contacts_queued, contacts_delayed, contacts_done, or in flight, where the
//     latest record of it in the log contacts_in_flight counts.
//   - The process that has the lease of a channel knows in memory all contacts of the
//     channel that are in flight, as they were committed last.
//   - A transition is written only under the epoch of its channel's lease and
//     over the revision that it names. Whoever changes a channel or a lease changes
//     the fence of the lease's owner in the same transaction.
//   - channel_counts changes in the transaction that changes the contacts.
//   - The sums of a survey change in the transaction that changes its
//     respondents; an outbox entry is written in the transaction of what it reports.
//   - No statement of a broker reads more rows than its limit or the channel's
//     capacity, whatever else is stored.
//
// The difference between databases is in package dialect and the folders that
// implement it. A new one is such a folder, its migrations and a line in the
// table of this package.
package persistence
