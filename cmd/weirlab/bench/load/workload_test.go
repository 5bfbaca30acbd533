package load

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// counting counts the contacts that were queued.
type counting struct{ n atomic.Int64 }

func (c *counting) Enqueue(_ context.Context, _ int, ids []int, _ time.Time) error {
	c.n.Add(int64(len(ids)))
	return nil
}

// Channels that are closed are opened once, when as many contacts are queued as the mode has
// wait; all contacts are queued in any mode.
func TestWorkload_OpensTheChannelsInTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode   string
		batch  int
		opened []int64 // how many contacts are queued by then
	}{
		{Live, 1, nil}, {Live, 10, nil}, {Backlog, 1, nil}, {Drain, 1, []int64{100}}, {Drain, 10, []int64{100}}, {Turnaround, 1, []int64{100}},
		{Standing, 1, []int64{50}}, {Standing, 10, []int64{50}}, {Latency, 1, nil}, {Loaded, 1, nil},
	} {
		w := Workload{Mode: test.mode, N: 100, Channels: 2, Capacity: 3, Batch: test.batch, Rate: 100_000}
		var s counting
		var opened []int64
		if _, err := w.Enqueue(t.Context(), &s, func() error { opened = append(opened, s.n.Load()); return nil }); err != nil {
			t.Fatal(err)
		}
		if len(opened) != len(test.opened) || len(opened) == 1 && opened[0] != test.opened[0] || (len(opened) > 0) != w.Closed() || s.n.Load() != 100 {
			t.Errorf("%s, batches of %d: opened after %v contacts, want %v; %d were queued", test.mode, test.batch, opened, test.opened, s.n.Load())
		}
	}
}
