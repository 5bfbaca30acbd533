// Package commit writes what all stores write, in batches: one goroutine, the
// group-commit writer, takes all waiting requests and commits them on one connection, as a
// few multi-row statements in one transaction. It knows leases and channels, but no contact.
//
// # Invariants
//
//   - Every transaction of the writer records its number in the table writers, first
//     of all. If the connection breaks at COMMIT, that number shows whether the
//     transaction was committed. Nothing is written twice or given up while that
//     is unknown.
//   - Whoever changes a channel or a lease changes the fence of the lease's owner in the
//     same transaction. An optimistic batch is rejected under another fence.
//   - Ids grow in the order of commits.
package commit
