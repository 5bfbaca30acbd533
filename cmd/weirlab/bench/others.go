package bench

import (
	"context"
	"time"
)

// watchOthers begins to measure the machine. The function that it returns reports how
// many cores programs outside of the run have used since. parts is the CPU time of the
// run's processes, without this one.
func watchOthers() func(parts time.Duration) float64 {
	begin, all, self := time.Now(), busy(), ownCost().cpu
	return func(parts time.Duration) float64 {
		used := busy() - all - parts - (ownCost().cpu - self)
		return max(0, used.Seconds()/time.Since(begin).Seconds())
	}
}

// parts returns the CPU time of the run's processes without this one.
func (m measurement) parts(spent cost) time.Duration {
	if m.broker == nil { // the broker is in this process
		spent.cpu = 0
	}
	return spent.cpu + spent.server + spent.stub
}

// quiet waits until other programs use less than a fifth of a core, for at most the
// given time, and returns how long it waited.
func quiet(ctx context.Context, most time.Duration) time.Duration {
	const enough, look = 0.2, time.Second
	began := time.Now()
	for time.Since(began)+look <= most {
		others := watchOthers()
		if !sleep(ctx, look) || others(0) < enough {
			break
		}
	}
	return time.Since(began)
}
