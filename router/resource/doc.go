// Package resource holds what clients of the router state about each resource:
// workers, jobs, queues, policies and pools. It validates specifications, fills in
// defaults, merges JSON merge patches and parses selectors. It is pure and knows no
// state: whether another resource exists is asked of the caller.
package resource
