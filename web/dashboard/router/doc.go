// Package router has the pages of the job router: queues, jobs, workers and policies, the
// board of all workers, and a desk for each.
//
// # Invariants
//
//   - It calls the router's own API through the client that other programs have, with the
//     rights of the session.
//   - A desk shows the offers and jobs of one worker, and acts for that worker alone.
//   - The history of workers is kept by the rights of its readers; each read adds the
//     events since the last one.
package router
