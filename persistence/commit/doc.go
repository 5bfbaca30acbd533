// Package commit writes what all stores write, in batches: one goroutine, the
// group-commit writer, takes all waiting requests and commits them on one connection, as a
// few multi-row statements in one transaction. It knows leases and channels, but no contact.
//
// # Invariants
//
//   - Every transaction of the writer records its number in the table writers, first
//     of all. If the connection breaks at COMMIT, that number shows whether the
//     transaction was committed. Nothing is written twice or given up while that
//     is unknown (persistence.TestBrokenCommit, queue.TestLateBatchesAreFencedOff).
//   - Whoever changes a channel or a lease changes the fence of the lease's owner in the
//     same transaction. An optimistic batch is rejected under another fence (queue.TestFence).
//   - A batch that fails is repeated as it was, or without the requests that can't be
//     done; these are answered with their own error (conformance: one guilty request).
//   - Requests are committed in the order in which they were submitted, in batches of bounded
//     size, and ids grow in the order of commits (TestBatchesAreBounded, member.TestIDsGrow).
//   - A request whose caller has gone is dropped, unless its COMMIT was sent. Each is answered
//     once (conformance: an acceptance that is left to its caller).
package commit
