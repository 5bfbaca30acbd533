// Package care is what every tree of actors here needs: panics are told without
// the data that they may hold, a crashed actor comes back after a pause that
// grows, and the actor library keeps its own chatter to itself.
package care

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

// Figures of restarts.
const (
	RestartBase  = 50 * time.Millisecond
	RestartMost  = time.Minute
	restartQuiet = 2 * time.Minute // without a crash: the past is forgotten
)

// Alone supervises a tree of one actor: it starts it again after a crash, with a
// back-off, and never gives up.
type Alone struct {
	Restarts prometheus.Counter

	mu   sync.Mutex
	row  int
	last time.Time
}

// HandleFailure implements actor.SupervisorStrategy. The mailbox stays suspended
// until the restart; messages wait in it.
func (a *Alone) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, _ any) {
	a.Restarts.Inc()
	time.AfterFunc(a.crashed(time.Now()), func() { sup.RestartChildren(child) })
}

// crashed counts a crash and says how long to wait.
func (a *Alone) crashed(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.last) > restartQuiet {
		a.row = 0
	}
	a.row++
	a.last = now
	return BackOff(a.row, RestartBase, RestartMost)
}

// BackOff is the pause after the nth failure in a row, half of it by chance.
func BackOff(n int, base, most time.Duration) time.Duration {
	wait := base
	for i := 1; i < n && wait < most; i++ {
		wait *= 2
	}
	wait = min(wait, most)
	return wait/2 + rand.N(wait/2)
}

// Guard logs panics with their stack before the supervision sees them. Those of
// an actor that is ending are swallowed: they would bring it back, or keep its
// parent from ending.
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

// PanicText is what may be logged of a panic: Go's own words hold no data, those
// of a library may hold a number, a text or a secret.
func PanicText(r any) string {
	if err, ok := r.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a value of type %T", r)
}

// Quiet is the log for the actor library: warnings and what is worse.
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
