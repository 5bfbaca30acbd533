package actors

import (
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Parameters of the supervision.
const (
	restartBase  = 50 * time.Millisecond
	restartMost  = time.Minute
	restartQuiet = time.Minute // time without a crash, after the longest pause, that resets the count
	faultedAfter = 10          // consecutive crashes after which a channel counts as faulted
)

// supervision restarts crashed actors individually, each with its own back-off,
// and never gives up. A broker that keeps crashing is restarted once a minute;
// other brokers are not affected.
type supervision struct {
	logger  *slog.Logger
	metrics *Metrics

	mu      sync.Mutex
	crashes map[string]crashes
}

type crashes struct {
	row  int
	last time.Time
}

func newSupervision(logger *slog.Logger, metrics *Metrics) *supervision {
	return &supervision{logger: logger, metrics: metrics, crashes: map[string]crashes{}}
}

// HandleFailure implements actor.SupervisorStrategy. The mailbox stays
// suspended until the restart; messages wait in it.
func (s *supervision) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, _ any) {
	wait := s.crashed(child.Id)
	kind := kindBroker
	if child.Id == managerName {
		kind = kindManager
	}
	s.metrics.restarts.WithLabelValues(kind).Inc()
	time.AfterFunc(wait, func() { sup.RestartChildren(child) })
}

// crashed counts a crash and returns the pause before the restart.
func (s *supervision) crashed(id string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.crashes[id]
	now := time.Now()
	if now.Sub(c.last) > restartQuiet+restartMost {
		c.row = 0
	}
	c.row++
	c.last = now
	s.crashes[id] = c
	wait := restartBase
	for i := 1; i < c.row && wait < restartMost; i++ {
		wait *= 2
	}
	wait = min(wait, restartMost)
	if c.row >= faultedAfter {
		return restartMost
	}
	return wait/2 + rand.N(wait/2)
}

// faulted reports whether an actor keeps crashing.
func (s *supervision) faulted(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.crashes[id]
	return c.row >= faultedAfter && time.Since(c.last) < restartQuiet+restartMost
}

// forget drops the crash count of an actor that has stopped.
func (s *supervision) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.crashes, id)
}
