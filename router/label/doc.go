// Package label holds the labels of jobs, workers and queues: typed values, the
// operators that compare them, and the expressions that rules compute from them. It
// is pure and knows nothing of the router.
package label
