package routing

import (
	"context"
	"time"
)

// Engine is a running router: one state, many callers, every answer durable.
type Engine interface {
	// Do has a command built from the present state, applies it at once, so
	// that nothing comes in between, lets see look at what it left, and returns
	// when its events are durable. see may be nil; neither function may keep the
	// state or wait for anything, and neither runs once Do has returned. After an
	// error nothing has changed, except that one with [weir.CodeUnavailable]
	// leaves it open if build was called.
	Do(ctx context.Context, build func(*State, time.Time) (Command, error), see func(*State, []Event)) error
	// View lets see look at the state, and returns when all that it may have
	// seen is durable.
	View(ctx context.Context, see func(*State, time.Time)) error
}

// FailingFunction is a function or webhook that a policy calls and whose last call
// failed. It has no address, which may hold a key.
type FailingFunction struct {
	PolicyKind Resource
	Policy     string
	Host       string
	Since      time.Time
	LastAt     time.Time // the last call
	Reason     string    // of its failure
}
