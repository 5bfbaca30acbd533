package member

import (
	"testing"
	"time"
)

// A process takes the database if it is free, or if its lease has expired and it has read
// the row without a gap for a whole lease.
func TestWatch_MayTake(t *testing.T) {
	t.Parallel()
	const lease = 5 * time.Second
	owned := ownerRow{Start: 1, Epoch: 1, Expires: 10, Now: 9}
	expired := ownerRow{Start: 1, Epoch: 1, Expires: 10, Now: 10}
	free := ownerRow{Epoch: 1}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	every := func(step, long time.Duration) (list []time.Duration) {
		for at := time.Duration(0); at <= long; at += step {
			list = append(list, at)
		}
		return list
	}
	for name, c := range map[string]struct {
		row  ownerRow
		at   []time.Duration // when it was read
		want bool
	}{
		"free":                                {free, every(time.Second, 0), true},
		"expired, seen once":                  {expired, every(time.Second, 0), false},
		"expired, almost a lease":             {expired, every(time.Second, 4*time.Second), false},
		"expired, a lease":                    {expired, every(time.Second, 5*time.Second), true},
		"good, a lease":                       {owned, every(time.Second, 5*time.Second), false},
		"expired, with a gap":                 {expired, []time.Duration{0, 1 * time.Second, 4 * time.Second, 5 * time.Second, 6 * time.Second}, false},
		"expired, a lease after the last gap": {expired, []time.Duration{0, 3 * time.Second, 5 * time.Second, 7 * time.Second, 8 * time.Second}, true},
	} {
		var w watch
		for _, at := range c.at {
			w.saw(begin.Add(at), c.row, lease)
		}
		if got := w.mayTake(c.row, lease, false); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A database that was released is left to the named successor for a second, and nobody who
// has seen no owner waits for it.
func TestWatch_MayTakeAReleasedDatabase(t *testing.T) {
	t.Parallel()
	const lease = 5 * time.Second
	owned, free := ownerRow{Start: 1, Epoch: 1, Expires: 10, Now: 9}, ownerRow{Epoch: 1}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type look struct {
		at  time.Duration
		row ownerRow
	}
	for name, c := range map[string]struct {
		looks     []look
		successor bool
		want      bool
	}{
		"just released":                {[]look{{0, owned}, {time.Second, free}}, false, false},
		"just released, its successor": {[]look{{0, owned}, {time.Second, free}}, true, true},
		"released for a while":         {[]look{{0, owned}, {time.Second, free}, {1900 * time.Millisecond, free}}, false, false},
		"released for a second":        {[]look{{0, owned}, {time.Second, free}, {2 * time.Second, free}}, false, true},
		"released twice":               {[]look{{0, owned}, {time.Second, free}, {1500 * time.Millisecond, owned}, {2 * time.Second, free}}, false, false},
		"owned, its successor":         {[]look{{0, owned}}, true, false},
	} {
		var w watch
		last := c.looks[len(c.looks)-1].row
		for _, l := range c.looks {
			w.saw(begin.Add(l.at), l.row, lease)
		}
		if got := w.mayTake(last, lease, c.successor); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The time of a lease counts from when it was asked for, and ends a fifth early.
func TestValidUntil(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got := validUntil(asked, 5*time.Second).Sub(asked); got != 4*time.Second {
		t.Errorf("it may act for %v", got)
	}
}
