package persistence

import (
	"context"
	"log/slog"
	"strings"

	"weir/persistence/dialect"
)

// OpenThrough opens a store on a database that a test has put its hand on.
func OpenThrough(ctx context.Context, url string, o Options, wrap func(dialect.Database) dialect.Database) (*Store, error) {
	scheme, address, _ := strings.Cut(url, "://")
	db, err := openers()[scheme](ctx, address, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return newStore(wrap(db), scheme, withDefaults(o)), nil
}
