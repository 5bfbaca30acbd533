// Package supervise holds what every actor system here shares: panic logging without
// the data that a panic may hold, restarts with back-off, and a quiet logger for
// the actor library.
package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"
)

// Parameters of restarts.
const (
	MinRestartDelay = 50 * time.Millisecond
	MaxRestartDelay = time.Minute
	restartQuiet    = 2 * time.Minute // time without a crash that resets the count
)

// Restarter supervises a tree of one actor: it restarts the actor after a crash, with
// back-off, and never gives up.
type Restarter struct {
	Restarts prometheus.Counter

	mu     sync.Mutex
	streak int
	last   time.Time
}

// HandleFailure implements actor.SupervisorStrategy. The mailbox stays suspended
// until the restart; messages wait in it.
func (a *Restarter) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, _ any) {
	a.Restarts.Inc()
	time.AfterFunc(a.crashed(time.Now()), func() { sup.RestartChildren(child) })
}

// crashed counts a crash and returns the pause before the restart.
func (a *Restarter) crashed(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.last) > restartQuiet {
		a.streak = 0
	}
	a.streak++
	a.last = now
	return BackOff(a.streak, MinRestartDelay, MaxRestartDelay)
}

// BackOff returns the pause after the nth consecutive failure: it doubles from
// base up to most, jittered between half of it and the whole.
func BackOff(n int, base, most time.Duration) time.Duration {
	wait := base
	for i := 1; i < n && wait < most; i++ {
		wait *= 2
	}
	wait = min(wait, most)
	return wait/2 + rand.N(wait/2)
}

// Guard logs panics with their stack before the supervision sees them. Panics of
// an actor that is stopping or restarting are swallowed: they would bring it back,
// or keep its parent from ending.
func Guard(logger *slog.Logger, panics prometheus.Counter) actor.ReceiverMiddleware {
	return func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(ctx actor.ReceiverContext, env *actor.MessageEnvelope) {
			defer func() {
				r := recover()
				if r == nil {
					return
				}
				panics.Inc()
				logger.Error("panic in an actor", "actor", ctx.Self().Id,
					"message", fmt.Sprintf("%T", env.Message), "panic", PanicText(r), "stack", string(debug.Stack()))
				switch env.Message.(type) {
				case *actor.Stopping, *actor.Stopped, *actor.Restarting:
				default:
					panic(r)
				}
			}()
			next(ctx, env)
		}
	}
}

// PanicText returns the loggable text of a panic. Messages of the Go runtime hold
// no data; those of a library may hold a number, a text or a secret.
func PanicText(r any) string {
	if err, ok := r.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a value of type %T", r)
}

// Quiet returns the logger for the actor library: warnings and above.
func Quiet(logger *slog.Logger) *slog.Logger {
	return slog.New(floor{logger.Handler(), slog.LevelWarn})
}

type floor struct {
	slog.Handler
	least slog.Level
}

// Enabled implements slog.Handler.
func (f floor) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= f.least && f.Handler.Enabled(ctx, level)
}
