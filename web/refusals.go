package web

import (
	"log/slog"
	"sync"
	"time"
)

// refusalEvery is the min interval between two log lines of one kind of
// refusal.
const refusalEvery = time.Second

// RefusalLog logs one line per second for each kind of refusal, so that an
// attack shows in the log without filling it.
type RefusalLog struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[string]*refusalCount
}

type refusalCount struct {
	at      time.Time // of the latest line
	skipped int       // refusals since then
}

// NewRefusalLog returns a log that writes to a logger.
func NewRefusalLog(log *slog.Logger) *RefusalLog {
	return &RefusalLog{log: log, kinds: map[string]*refusalCount{}}
}

// note counts a refusal. There are few kinds, and all are Weir's own words.
func (l *RefusalLog) note(kind string, args ...any) {
	if n, ok := l.due(kind, time.Now()); ok {
		l.log.Warn("refused", append([]any{"kind", kind, "count", n}, args...)...)
	}
}

// due reports whether to write a line now, and how many refusals it stands for.
func (l *RefusalLog) due(kind string, now time.Time) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[kind]
	if k == nil {
		k = &refusalCount{}
		l.kinds[kind] = k
	}
	k.skipped++
	if now.Sub(k.at) < refusalEvery {
		return 0, false
	}
	n := k.skipped
	k.at, k.skipped = now, 0
	return n, true
}
