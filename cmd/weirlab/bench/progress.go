package bench

import (
	"fmt"
	"io"
	"time"

	"weir/cmd/weirlab/bench/load"
)

// progress reports to the user how far a plan has come.
type progress struct {
	out   io.Writer
	steps []step
	whole time.Duration
	began time.Time
}

func newProgress(out io.Writer, steps []step) *progress {
	p := &progress{out: out, steps: steps, began: time.Now()}
	p.whole = expectedOf(steps)
	return p
}

// expectedOf returns roughly how long steps take; a database that is kept is filled
// once.
func expectedOf(steps []step) time.Duration {
	var sum time.Duration
	filled := map[string]bool{}
	for _, st := range steps {
		sum += st.expected()
		if st.kept() && !filled[st.place()] {
			filled[st.place()] = true
			sum += time.Duration(st.Queued) * time.Second / filledPerS
		}
	}
	return sum
}

// expected returns roughly how long a run takes, to estimate how much of a plan is
// done.
func (st step) expected() time.Duration {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	n := float64(st.N)
	const around = 2 // a new store, a start, waiting for a quiet machine
	switch st.Mode {
	case load.Latency:
		return seconds(around + n/float64(st.Rate))
	case load.Loaded:
		return seconds(around) + st.Lasting
	case load.Matching:
		return seconds(around + float64(st.Workers+st.Blocked)/50_000)
	case load.Turnaround:
		return seconds(around + n*0.012)
	case load.Restart, load.Bulk:
		return seconds(around + 15 + n/50_000)
	case load.Crash:
		return seconds(around + 5 + n/3_000)
	case load.Idle:
		return seconds(around+settleTime.Seconds()+n/500) + st.Lasting
	}
	// A provider that takes its time gets 64 contacts of a channel at a time.
	return seconds(around+n/7_000+n/float64(64*st.Channels)*st.Answer.Seconds()) + st.Delay
}

// filledPerS is about how many contacts a second are queued in batches.
const filledPerS = 50_000

// begin reports which run begins, and how long the rest may take.
func (p *progress) begin(i int) {
	done := expectedOf(p.steps[:i])
	left := remaining(p.whole, done, time.Since(p.began))
	st := p.steps[i]
	_, _ = fmt.Fprintf(p.out, "[%d/%d %2.0f %%, about %s left] %s, %s, N=%d\n", i+1, len(p.steps), 100*float64(done)/float64(p.whole), left, st.Mode, st.name(), st.N)
}

// say reports what a run is doing.
func (p *progress) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, "      "+format+"\n", args...)
}

func (p *progress) end() {
	_, _ = fmt.Fprintf(p.out, "[done in %s]\n", time.Since(p.began).Round(time.Second))
}

// remaining estimates how long a plan may still take, from its progress so far.
func remaining(whole, done, elapsed time.Duration) time.Duration {
	left := whole - done
	if done > 20*time.Second { // before that, the estimate of the plan is better
		left = time.Duration(float64(left) * float64(elapsed) / float64(done))
	}
	return left.Round(time.Second)
}
