package dialect

import "context"

// laterKey marks contexts made by [Later].
type laterKey struct{}

// Later marks statements of a transaction whose result the caller does not need.
// Each may wait until the next statement without the mark, or COMMIT, and travels
// in the same message to the server. Its error is returned by that one, and then
// only the end of the transaction can follow. It must change rows and must not
// return any. A database that gains nothing from this runs it at once.
func Later(ctx context.Context) context.Context {
	return context.WithValue(ctx, laterKey{}, true)
}

// IsLater reports whether a context was made by [Later].
func IsLater(ctx context.Context) bool {
	later, _ := ctx.Value(laterKey{}).(bool)
	return later
}
