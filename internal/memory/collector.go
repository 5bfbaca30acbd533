package memory

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// headroom is the size, in bytes, of memory that the process allocates and never touches. Without a limit, the peak of
// resident memory rises by at most this size.
const headroom = 22 << 20

// Variables are those of Go that users set; empty: they are not set.
type Variables struct{ GOGC, GOMEMLIMIT string }

// Settings are what is set for a process.
type Settings struct {
	SoftLimit int64 // in bytes; 0: it stays as it is
	Limit     int64 // that GOGC follows, in bytes; 0: it stays as it is
}

// noLimit is Go's soft limit if there is none.
const noLimit = math.MaxInt64

// Decide returns what is set for a process whose container has a limit (0: none), and whose soft limit is what Go
// has read from GOMEMLIMIT. A tenth of the container's limit is left for what Go does not count.
func Decide(container int64, v Variables, soft int64) (s Settings) {
	switch {
	case v.GOMEMLIMIT == "":
		s.SoftLimit = container / 10 * 9
		s.Limit = s.SoftLimit
	case soft != noLimit && container > 0:
		s.Limit = min(soft, container)
	case soft != noLimit:
		s.Limit = soft
	}
	if v.GOGC != "" {
		s.Limit = 0
	}
	return s
}

// Bounds of GOGC.
const (
	minPercent = 100
	maxPercent = 400
	step       = 20 // small changes are not worth stopping the program
)

// percent returns GOGC for a heap of which so much is alive: 400 if the heap stays below half of the limit with it,
// otherwise as much less as that needs, but at least Go's default of 100.
func percent(live, limit int64) int {
	room := (limit/2 - live) / (max(live, 100) / 100)
	return int(min(max(room, minPercent), maxPercent)) / step * step
}

// Start sets the collector of this process, until stop is called.
func Start(container int64, v Variables) (s Settings, stop func()) {
	c := &collector{room: make([]byte, headroom)}
	c.softBefore = debug.SetMemoryLimit(-1)
	s = Decide(container, v, c.softBefore)
	if s.SoftLimit > 0 {
		debug.SetMemoryLimit(s.SoftLimit)
	}
	if c.limit = s.Limit; c.limit > 0 {
		c.percentBefore, c.percent = debug.SetGCPercent(minPercent), minPercent
		c.follow()
	}
	return s, c.stop
}

// collector follows what is alive.
type collector struct {
	limit         int64  // 0: GOGC stays as it is
	room          []byte // alive until the process has stopped the collector
	softBefore    int64
	percentBefore int

	mu      sync.Mutex
	percent int
	stopped bool
}

// follow sets GOGC now and after each collection, until the collector is stopped.
func (c *collector) follow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	if p := percent(alive(), c.limit); p != c.percent {
		c.percent = p
		debug.SetGCPercent(p)
	}
	sentinel := new(*collector) // the next collection finds that nothing refers to it
	runtime.AddCleanup(sentinel, (*collector).follow, c)
}

func (c *collector) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	c.stopped = true
	debug.SetMemoryLimit(c.softBefore)
	if c.limit > 0 {
		debug.SetGCPercent(c.percentBefore)
	}
}

// alive returns what the latest collection has found alive, in bytes.
func alive() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
