// Package supervise holds what every actor here shares: the actor system, panic
// logging without payloads, and restart with back-off.
package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	cmap "github.com/orcaman/concurrent-map"
	"github.com/prometheus/client_golang/prometheus"

	"weir/internal/backoff"
)

// throttleInterval is how long a goroutine of the library lives after a message to
// an actor that has stopped. Such messages are harmless.
const throttleInterval = time.Millisecond

// oneShard guards the one write to the library's SHARD_COUNT, which only NewSystem's systems read.
var oneShard sync.Once //nolint:gochecknoglobals // the library has one variable for all systems of a process

// NewSystem returns an actor system. It logs warnings and above. Shutdown ends it.
//
// The library keeps the addresses of a system's actors in 1,024 maps, and each of them in 32 shards with a lock of their
// own: 32,768 empty maps, which take 3 MB and most of the time that a system needs to start. The 1,024 are enough.
func NewSystem(logger *slog.Logger) *actor.ActorSystem {
	oneShard.Do(func() { cmap.SHARD_COUNT = 1 })
	quiet := slog.New(levelFilter{logger.Handler(), slog.LevelWarn})
	return actor.NewActorSystem(actor.WithDeadLetterThrottleInterval(throttleInterval),
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))
}

// Shutdown ends the actors of a system and waits until the last of its goroutines
// has had the time to end: the library's own method does not wait for the one that
// throttles the log of messages to stopped actors.
func Shutdown(system *actor.ActorSystem) {
	system.Shutdown()
	backoff.Wait(context.Background(), 2*throttleInterval)
}

type levelFilter struct {
	slog.Handler
	minLevel slog.Level
}

// Enabled implements slog.Handler.
func (f levelFilter) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= f.minLevel && f.Handler.Enabled(ctx, level)
}

// Parameters of restarts.
const (
	minRestartDelay = 50 * time.Millisecond
	maxRestartDelay = time.Minute
	restartReset    = 2 * time.Minute // time without a crash that resets the count
	faultedAfter    = 10              // consecutive crashes after which an actor counts as faulted
)

// Restarter restarts crashed actors individually, each with its own back-off, and
// never gives up. An actor that keeps crashing is restarted once a minute; others
// are not affected.
type Restarter struct {
	onRestart func(id string)

	mu      sync.Mutex
	crashes map[string]crashes
}

type crashes struct {
	streak int
	last   time.Time
}

var _ actor.SupervisorStrategy = (*Restarter)(nil)

// NewRestarter returns a strategy that calls onRestart, with the id of the actor,
// for each crash.
func NewRestarter(onRestart func(id string)) *Restarter {
	return &Restarter{onRestart: onRestart, crashes: map[string]crashes{}}
}

// HandleFailure implements actor.SupervisorStrategy. The mailbox stays suspended
// until the restart; messages wait in it.
func (r *Restarter) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, _ any) {
	r.onRestart(child.Id)
	time.AfterFunc(r.crashed(child.Id, time.Now()), func() { sup.RestartChildren(child) })
}

// crashed counts a crash and returns the delay before the restart.
func (r *Restarter) crashed(id string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.crashes[id]
	if now.Sub(c.last) > restartReset {
		c.streak = 0
	}
	c.streak++
	c.last = now
	r.crashes[id] = c
	if c.streak >= faultedAfter {
		return maxRestartDelay
	}
	return backoff.Random(c.streak, minRestartDelay, maxRestartDelay)
}

// Faulted reports whether an actor keeps crashing.
func (r *Restarter) Faulted(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.crashes[id]
	return c.streak >= faultedAfter && time.Since(c.last) < restartReset
}

// Forget drops the crash count of an actor that has stopped.
func (r *Restarter) Forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.crashes, id)
}

// RestartDelay returns the delay after the nth consecutive failure of something
// that is started again like a crashed actor.
func RestartDelay(n int) time.Duration { return backoff.Random(n, minRestartDelay, maxRestartDelay) }

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
				LogPanic(logger, panics, "actor panicked", r, "actor", ctx.Self().Id, "message", MessageType(env.Message))
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

// MessageType returns the type of a message or, of an envelope, of the message in
// it.
func MessageType(msg any) string {
	if e, ok := msg.(interface{ Inner() any }); ok {
		msg = e.Inner()
	}
	return fmt.Sprintf("%T", msg)
}

// LogPanic counts and logs a panic that the caller has recovered, with its stack.
func LogPanic(logger *slog.Logger, panics prometheus.Counter, text string, recovered any, fields ...any) {
	panics.Inc()
	logger.Error(text, append(fields, "panic", PanicText(recovered), "stack", string(debug.Stack()))...) //nolint:sloglint // a constant of the caller
}

// PanicText returns the loggable text of a panic. Messages of the Go runtime hold
// no data; those of a library may hold a number, a text or a secret.
func PanicText(r any) string {
	if err, ok := r.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a value of type %T", r)
}
