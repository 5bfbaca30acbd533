package routing

import (
	"context"
	"time"
	"weir/routing/eventlog"
	"weir/routing/resource"
)

// Engine is a running router: one state, many callers, every answer durable.
type Engine interface {
	// Do calls build on the present state and applies the resulting command at
	// once, with nothing in between. It then calls see on the state that results,
	// and returns when the events are durable. see may be nil. Neither function
	// may keep the state or block, and neither runs after Do has returned. After
	// an error nothing has changed, except that [weir.CodeUnavailable] leaves the
	// outcome open if build was called.
	Do(ctx context.Context, build func(*State, time.Time) (Command, error), see func(*State, []eventlog.Event)) error
	// View calls see on the state and returns when everything that see may have
	// read is durable.
	View(ctx context.Context, see func(*State, time.Time)) error
}

// FailingFunction is a function or webhook that a policy calls and whose last call
// failed. It omits the address, which may contain a key.
type FailingFunction struct {
	PolicyKind resource.Kind
	Policy     string
	Host       string
	Since      time.Time
	LastAt     time.Time // time of the last call
	Reason     string    // of the last failure
}
