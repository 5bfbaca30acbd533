package dialect

import "context"

// laterKey marks contexts made by [Later].
type laterKey struct{}

// Later marks statements of a transaction whose result nobody looks at: each
// may wait until the next one without the mark, or COMMIT, takes it along in
// the same message to the server. Its error comes back from that one, and then
// only the end of the transaction can follow. It must be one that changes rows
// and gives none. A database that gains nothing by it does it at once.
func Later(ctx context.Context) context.Context {
	return context.WithValue(ctx, laterKey{}, true)
}

// IsLater tells whether a context was made by [Later].
func IsLater(ctx context.Context) bool {
	later, _ := ctx.Value(laterKey{}).(bool)
	return later
}
