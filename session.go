package weir

import (
	"context"
	"time"
)

// Session is a log-in to the dashboard, without the text that proves it.
type Session struct {
	ID      TokenHash // of that text
	Token   string    // the id of the token that began it, or a digest of a configured one
	Created time.Time
	Expires time.Time // moves on with use
}

// SessionStore keeps sessions.
type SessionStore interface {
	// AddSession keeps a new session.
	AddSession(ctx context.Context, s Session) error
	// Session reads one that has not expired; ok is false if there is none.
	Session(ctx context.Context, id TokenHash, now time.Time) (s Session, ok bool, err error)
	// ExtendSession moves the end of a session on. It brings none back.
	ExtendSession(ctx context.Context, id TokenHash, expires time.Time) error
	// EndSession deletes a session. Doing so again changes nothing.
	EndSession(ctx context.Context, id TokenHash) error
	// PurgeSessions deletes sessions that had expired at an instant, at most limit,
	// and returns how many.
	PurgeSessions(ctx context.Context, now time.Time, limit int) (int, error)
}
