package operators

import (
	"context"
	"time"
)

// Session is a dashboard log-in, without the secret text that proves it.
type Session struct {
	ID      TokenHash // hash of that text
	Token   string    // the id of the token that began it, or a digest: of a configured one, or of the provider at which a person logged in
	Person  string    // who logged in by name, as in [PersonID]; empty: a token began it
	Groups  []string  // those of the person's groups that had scopes then
	Created time.Time
	Expires time.Time // extended by use
}

// SessionStore stores sessions.
type SessionStore interface {
	// AddSession stores a new session.
	AddSession(ctx context.Context, s Session) error
	// Session returns a session that has not expired; ok is false if there is none.
	Session(ctx context.Context, id TokenHash, now time.Time) (s Session, ok bool, err error)
	// ExtendSession moves the expiry of a session to a later instant. It does not restore a deleted one.
	ExtendSession(ctx context.Context, id TokenHash, expires time.Time) error
	// EndSession deletes a session. Repeating it changes nothing.
	EndSession(ctx context.Context, id TokenHash) error
	// PurgeSessions deletes sessions that had expired at an instant, at most limit,
	// and returns how many it deleted.
	PurgeSessions(ctx context.Context, now time.Time, limit int) (int, error)
}
